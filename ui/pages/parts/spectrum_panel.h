#pragma once

#include "core/circuits/circuits.h"
#include "core/results/picture.h"
#include "ui/pages/parts/page.h"

#include <map>
#include <vector>

class QLabel;

namespace headwise::ui {

class PicturePanel;

/// The singular values of the selected head's circuits in one chart.
///
/// They come from the results if present, else they are computed for this head (QK and OV only; the full circuits need
/// the analysis of all heads).
class SpectrumPanel : public Page {
    Q_OBJECT

public:
    explicit SpectrumPanel(Workspace* workspace, QWidget* parent = nullptr);

    void setCircuits(const std::vector<CircuitKind>& kinds);
    void setLogarithmic(bool on);
    void setNormalized(bool on); ///< Divides by σ₁, so that circuits of different strength can be compared.

    QList<FigureSource*> figures() override;

private:
    void recompute() override;
    void compute(const std::vector<CircuitKind>& missing);
    void clear(const QString& message);
    void show(const std::map<CircuitKind, std::vector<double>>& sigma);
    /// Describes norm and ranks beside those of random weights, and the metric.
    QString measuresOf(CircuitKind kind, const std::vector<double>& sigma) const;

    std::vector<CircuitKind> m_kinds{CircuitKind::Qk, CircuitKind::Ov};
    Picture m_look; // the choices of the page
    PicturePanel* m_picture;
    QLabel* m_measures;
    Job m_job;
};

} // namespace headwise::ui
