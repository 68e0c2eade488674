#pragma once

#include "ui/document/workspace.h"
#include "ui/heatmaps/heatmap_panel.h"

namespace headwise::ui {

/// Every head of the model as a cell, layers down: a click selects a head, Shift+click marks the reference, and both are marked
/// whoever chose them.
class HeadGrid : public HeatmapPanel {
    Q_OBJECT

public:
    HeadGrid(Workspace* workspace, const QString& name, QWidget* parent = nullptr);

    void setValues(HeatmapView::Matrix values); ///< [layer, head]; null: none.
    double value(HeadId head) const;            ///< NaN where there is none.
    std::optional<HeadId> largest() const;      ///< The first of the largest value.

signals:
    void headHovered(headwise::HeadId head);
    void hoverLeft();

private:
    void mark();

    Workspace* m_workspace;
};

} // namespace headwise::ui
