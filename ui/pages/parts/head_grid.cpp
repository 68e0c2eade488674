#include "ui/pages/parts/head_grid.h"

#include "ui/heatmaps/heatmap_subjects.h"
#include "ui/pages/parts/linked_hover.h"

#include <cmath>
#include <limits>

namespace headwise::ui {

HeadGrid::HeadGrid(Workspace* workspace, const QString& name, QWidget* parent)
    : HeatmapPanel(parent, Qt::Horizontal)
    , m_workspace(workspace)
{
    view()->setCellShape(HeatmapView::CellShape::Square);
    view()->pointer().setLettersMove(true);
    view()->setAccessibleName(name);
    view()->content()->setRowAxis({tr("layer"), {}});
    view()->content()->setColumnAxis({tr("head"), {}});
    setHeadSubjects(view());
    connect(workspace->selection(), &Selection::headChanged, this, &HeadGrid::mark);
    connect(workspace->selection(), &Selection::referenceChanged, this, &HeadGrid::mark);
    connect(view()->zoom(), &HeatmapZoom::currentCellChanged, this, [this](int row, int column) {
        if (row >= 0)
            m_workspace->selection()->setHead({row, column});
    });
    connect(view(), &HeatmapView::cellReferenced, this, [this](int row, int column) {
        m_workspace->selection()->setReference(HeadId{row, column});
    });
    linkHover(view(), workspace->selection());
    connect(view(), &HeatmapView::hoverLeft, this, &HeadGrid::hoverLeft);
    connect(view(), &HeatmapView::cellHovered, this, [this](int row, int column, float) {
        emit headHovered({row, column});
    });
}

void HeadGrid::setValues(HeatmapView::Matrix values)
{
    view()->setMatrix(std::move(values));
    mark();
}

double HeadGrid::value(HeadId head) const
{
    const HeatmapView::Matrix& shown = view()->matrix();
    return shown && head.layer < shown->rows() && head.head < shown->cols()
        ? double{(*shown)(head.layer, head.head)}
        : std::numeric_limits<double>::quiet_NaN();
}

std::optional<HeadId> HeadGrid::largest() const
{
    std::optional<HeadId> best;
    const HeatmapView::Matrix& shown = view()->matrix();
    for (int layer = 0; shown && layer < shown->rows(); ++layer)
        for (int head = 0; head < shown->cols(); ++head)
            if (std::isfinite((*shown)(layer, head))
                && (!best || (*shown)(layer, head) > (*shown)(best->layer, best->head)))
                best = {layer, head};
    return best;
}

void HeadGrid::mark()
{
    if (!m_workspace->model()->isOpen() || !view()->matrix())
        return;
    const QSignalBlocker quiet(view());
    view()->zoom()->setCurrentCell(m_workspace->selection()->head().layer,
                                   m_workspace->selection()->head().head);
    const HeadId reference = m_workspace->selection()->reference().value_or(HeadId{-1, -1});
    view()->onScreen().setReferenceCell(reference.layer, reference.head);
}

} // namespace headwise::ui
