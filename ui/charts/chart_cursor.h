#pragma once

#include <QWidget>

#include <optional>

namespace headwise::ui {

class LineChart;

/// A line at one x of a chart, with its name. The user drags it or clicks where it should stand.
///
/// It lies over the chart, so a step redraws no curve. The chart keeps all other uses of the mouse.
class ChartCursor : public QWidget {
    Q_OBJECT

public:
    explicit ChartCursor(LineChart* chart);

    /// \param x in data units; none: there is no line
    void setPlace(std::optional<double> x, const QString& name);
    std::optional<double> place() const { return m_place; }
    QRectF line() const; ///< The line on the chart, in widget coordinates; empty if it is not in view.

signals:
    void moved(double x); ///< The x the user asks for, in data units; the line waits for setPlace().

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    bool isNear(const QPointF& position) const;
    void moveTo(const QPointF& position);

    LineChart* m_chart;
    QWidget* m_canvas; // gets the chart's mouse events
    std::optional<double> m_place;
    QString m_name;
    std::optional<QPointF> m_pressed;
    bool m_isDragged = false;
};

} // namespace headwise::ui
