#pragma once

#include "ui/document/workspace.h"
#include "ui/heatmaps/heatmap_panel.h"

namespace headwise::ui {

/// A grid of all heads, layers from top to bottom. A click selects a head, Shift+click marks the reference. It always
/// shows both.
class HeadGrid : public HeatmapPanel {
    Q_OBJECT

public:
    HeadGrid(Workspace* workspace, const QString& name, QWidget* parent = nullptr);

    void setValues(HeatmapView::Matrix values); ///< [layer, head]; null: none.
    double value(HeadId head) const;            ///< NaN if there is none.
    std::optional<HeadId> largest() const;      ///< The first head with the largest value.

signals:
    void headHovered(headwise::HeadId head);
    void hoverLeft();

private:
    void mark();

    Workspace* m_workspace;
};

} // namespace headwise::ui
