#pragma once

#include "ui/heatmaps/heatmap_view.h"

#include <QJsonObject>
#include <QWidget>

namespace headwise::ui {

class ColorBar;

/// A heatmap and its colour bar, which keep each other's scale.
class HeatmapPanel : public QWidget {
    Q_OBJECT

public:
    /// \param bar vertical beside the cells, horizontal below them
    explicit HeatmapPanel(QWidget* parent = nullptr, Qt::Orientation bar = Qt::Vertical);

    HeatmapView* view() const { return m_view; }

    QJsonObject viewState() const; ///< Zoom, colours and which of them were chosen.
    void setViewState(const QJsonObject& state);

protected:
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void limitView(); ///< Square cells get no room that they do not fill.

    HeatmapView* m_view;
    ColorBar* m_bar;
    bool m_isBarBelow;
    QRectF m_cells; // as last painted, for the bar is as long as they are
};

} // namespace headwise::ui
