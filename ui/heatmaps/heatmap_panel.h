#pragma once

#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/view_fields.h"

#include <QWidget>

namespace headwise::ui {

class ColorBar;

/// A heatmap and its colour bar, which always have the same scale.
class HeatmapPanel : public QWidget {
    Q_OBJECT

public:
    /// \param bar vertical beside the cells, horizontal below them
    explicit HeatmapPanel(QWidget* parent = nullptr, Qt::Orientation bar = Qt::Vertical);

    HeatmapView* view() const { return m_view; }

    ViewFields viewFields(); ///< Zoom, colours, and which of them the user chose.

protected:
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void limitView(); ///< Limits the view to the space that square cells fill.

    HeatmapView* m_view;
    ColorBar* m_bar;
    bool m_isBarBelow;
    QRectF m_cells;            // as last painted; the bar has the same length
    bool m_isViewEmpty = true; // when it was painted last
};

} // namespace headwise::ui
