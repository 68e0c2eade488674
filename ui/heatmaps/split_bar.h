#pragma once

#include <QAbstractSlider>

namespace headwise::ui {

class HeatmapView;

/// A divider over a heatmap, between two columns: dragged, or moved with ← → PgUp PgDn Home End. Its value is how many columns
/// are left of it.
class SplitBar : public QAbstractSlider {
    Q_OBJECT

public:
    explicit SplitBar(HeatmapView* view);

    void place(); ///< Where the column is drawn now; at the edge of what is visible if it is not.

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void sliderChange(SliderChange change) override;

private:
    QRectF allCells() const; ///< Of the whole matrix, in the view's coordinates; empty: there are none.

    HeatmapView* m_view;
};

} // namespace headwise::ui
