#pragma once

#include <QAbstractSlider>

namespace headwise::ui {

class HeatmapView;

/// A divider between two columns of a heatmap, dragged or moved with ← → PgUp PgDn Home End. Its value is the number of
/// columns to its left.
class SplitBar : public QAbstractSlider {
    Q_OBJECT

public:
    explicit SplitBar(HeatmapView* view);

    void place(); ///< Moves to its column, or to the edge of the visible part.

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void sliderChange(SliderChange change) override;

private:
    QRectF allCells() const; ///< Area of the whole matrix, in the view's coordinates; empty without cells.

    HeatmapView* m_view;
};

} // namespace headwise::ui
