#pragma once

#include "core/circuits/circuits.h"
#include "ui/pages/parts/page.h"

#include <complex>
#include <vector>

class QLabel;

namespace headwise::ui {

class PicturePanel;

/// The eigenvalues of one circuit of the selected head in the complex plane, with the resulting score and how much of the
/// circuit they describe.
class EigenvaluePanel : public Page {
    Q_OBJECT

public:
    explicit EigenvaluePanel(Workspace* workspace, QWidget* parent = nullptr);

    void setKind(CircuitKind kind);
    /// Shows angle against log |λ| instead of real against imaginary part.
    void setPolar(bool on);

    QList<FigureSource*> figures() override;

private:
    void recompute() override;
    QString scoreText(const std::vector<std::complex<double>>& values) const;
    QString normalityText(const std::vector<std::complex<double>>& values) const;

    CircuitKind m_kind = CircuitKind::FullOv;
    bool m_isPolar = false;
    PicturePanel* m_picture;
    QLabel* m_score;
};

} // namespace headwise::ui
