#pragma once

#include <QPointF>

#include <optional>

class QEvent;
class QWidget;

namespace headwise::ui {

class LineChart;

/// A point of a chart's series.
struct ChartPoint {
    int series = -1; ///< −1: none.
    int index = -1;  ///< In the original series.
    QPointF point;   ///< In displayed coordinates.
};

/// Mouse and keyboard in a chart: reads out and chooses points, zooms and pans.
class ChartPointer {
public:
    ChartPointer(LineChart* chart, QWidget* canvas);

    ChartPoint nearestTo(const QPointF& position) const; ///< Within reach of the mouse.
    const ChartPoint& hovered() const { return m_hovered; }
    void forget() { m_hovered = {}; } ///< The series have changed.
    void leave();                     ///< Reads out nothing any more.
    bool handleMouse(QEvent* event);  ///< \return whether nothing else should handle the event
    bool handleKey(int key);          ///< \return whether the key does something

private:
    void hoverOn(const ChartPoint& nearest);
    bool step(int key); ///< Moves to another point; false if the key does nothing.

    LineChart* m_chart;
    QWidget* m_canvas; // shows the points
    ChartPoint m_hovered;
    std::optional<QPointF> m_pressed;
    QPointF m_lastDrag;
    bool m_dragging = false;
};

} // namespace headwise::ui
