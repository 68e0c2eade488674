#pragma once

#include <QSpinBox>

namespace headwise::ui {

class Workspace;

/// Δ = query position − key position of the QK circuits on screen, of every page; there only where positions are rotary.
class OffsetBox : public QSpinBox {
    Q_OBJECT

public:
    explicit OffsetBox(Workspace* workspace, QWidget* parent = nullptr);

private:
    void followModel();

    Workspace* m_workspace;
};

/// ", Δ = 3"; empty at 0, where the circuit is as it is without positions.
QString offsetText(int offset);

} // namespace headwise::ui
