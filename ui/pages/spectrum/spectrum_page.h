#pragma once

#include "ui/pages/parts/page.h"

class QCheckBox;
class QComboBox;

namespace headwise::ui {

class EigenvaluePanel;
class SpectrumPanel;

/// Singular values and eigenvalues of the selected head, side by side.
class SpectrumPage : public Page {
    Q_OBJECT

public:
    explicit SpectrumPage(Workspace* workspace, QWidget* parent = nullptr);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

private:
    void applyChoice();

    QComboBox* m_circuits;
    QCheckBox* m_log;
    QCheckBox* m_normalized;
    QComboBox* m_plane;
    QComboBox* m_eigenKind;
    SpectrumPanel* m_spectrum;
    EigenvaluePanel* m_eigenvalues;
};

} // namespace headwise::ui
