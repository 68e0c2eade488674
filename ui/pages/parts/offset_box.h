#pragma once

#include <QSlider>
#include <QSpinBox>

namespace headwise::ui {

class Workspace;

/// Δ = query position − key position of the displayed QK circuits, shared by all pages. Visible only with rotary
/// positions.
class OffsetBox : public QSpinBox {
    Q_OBJECT

public:
    explicit OffsetBox(Workspace* workspace, QWidget* parent = nullptr);

private:
    void followModel();

    Workspace* m_workspace;
};

/// The same Δ on a slider, for the offsets that a kernel shows. A larger Δ leaves it at its end.
class OffsetSlider : public QSlider {
    Q_OBJECT

public:
    explicit OffsetSlider(Workspace* workspace, QWidget* parent = nullptr);

private:
    void followModel();

    Workspace* m_workspace;
};

/// Tells whether the open model's weights are there and its positions are rotary, so that pictures depend on Δ.
bool hasRotaryPositions(const Workspace& workspace);

/// Formats ", Δ = 3"; empty at 0, where positions have no effect.
QString offsetText(int offset);

} // namespace headwise::ui
