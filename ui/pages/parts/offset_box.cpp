#include "ui/pages/parts/offset_box.h"

#include "ui/document/workspace.h"
#include "ui/pages/parts/kernel_panel.h"

#include <QSignalBlocker>

#include <algorithm>

namespace headwise::ui {

OffsetBox::OffsetBox(Workspace* workspace, QWidget* parent)
    : QSpinBox(parent)
    , m_workspace(workspace)
{
    setPrefix(tr("Δ "));
    setAccessibleName(tr("Offset of the key"));
    setToolTip(tr("Number of positions from the key to the query: W_Q R(Δ) W_Kᵀ in place of W_Q W_Kᵀ"));
    setKeyboardTracking(false); // An unfinished number does not count.
    followModel();
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        connect(workspace->model(), signal, this, &OffsetBox::followModel);
    connect(workspace->selection(), &Selection::rotaryOffsetChanged, this, &OffsetBox::followModel);
    connect(this, &QSpinBox::valueChanged, workspace->selection(), &Selection::setRotaryOffset);
}

void OffsetBox::followModel()
{
    const bool isRotary = hasRotaryPositions(*m_workspace);
    setVisible(isRotary);
    if (!isRotary)
        return;
    const QSignalBlocker quiet(this);
    setRange(0, std::max(0, m_workspace->model()->circuits()->config().nCtx - 1));
    setValue(m_workspace->selection()->rotaryOffset());
}

OffsetSlider::OffsetSlider(Workspace* workspace, QWidget* parent)
    : QSlider(Qt::Horizontal, parent)
    , m_workspace(workspace)
{
    setAccessibleName(tr("Offset of the key"));
    setToolTip(tr("Number of positions from the key to the query"));
    followModel();
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        connect(workspace->model(), signal, this, &OffsetSlider::followModel);
    connect(workspace->selection(), &Selection::rotaryOffsetChanged, this, &OffsetSlider::followModel);
    connect(this, &QSlider::valueChanged, workspace->selection(), &Selection::setRotaryOffset);
}

void OffsetSlider::followModel()
{
    if (!hasRotaryPositions(*m_workspace))
        return;
    const QSignalBlocker quiet(this); // A Δ beyond the end stays as it is.
    setRange(0, std::clamp(m_workspace->model()->circuits()->config().nCtx, 1, longestKernel) - 1);
    setValue(m_workspace->selection()->rotaryOffset());
}

bool hasRotaryPositions(const Workspace& workspace)
{
    const auto circuits = workspace.model()->circuits();
    return circuits && circuits->config().positional == Positional::Rotary;
}

QString offsetText(int offset)
{
    return offset == 0 ? QString() : OffsetBox::tr(", Δ = %1").arg(offset);
}

} // namespace headwise::ui
