#pragma once

#include "ui/charts/chart_painter.h"

#include <QChartView>

#include <functional>
#include <vector>

class QValueAxis;

namespace headwise::ui {

/// The canvas on which Qt Charts draws the series. Axes, names and marks are painted by the same functions as on paper.
class ChartCanvas : public QChartView {
public:
    explicit ChartCanvas(QWidget* parent);

    std::function<void(QPainter&)> paintBehind;
    std::function<void(QPainter&)> paintInFront;

    /// Replaces the series that Qt Charts draws. \return the number of points that the axes cannot show
    int showSeries(const ChartContent& content, const ThemeColors& colors);
    void setFrame(const ChartFrame& frame); ///< Sets plot area and axes.
    /// Paints the series that showSeries() leaves out because Qt Charts is too slow for them.
    static void paintLargeSeries(QPainter& painter, const ChartFrame& frame,
                                 const std::vector<ChartSeries>& series);

protected:
    void drawBackground(QPainter* painter, const QRectF& rect) override;
    void drawForeground(QPainter* painter, const QRectF& rect) override;

private:
    QValueAxis* m_x;
    QValueAxis* m_y;
};

} // namespace headwise::ui
