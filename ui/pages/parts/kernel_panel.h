#pragma once

#include "ui/pages/parts/page.h"

namespace headwise::ui {

class PicturePanel;

/// Effect of distance alone on the selected head's scores: the mean score at every offset.
class KernelPanel : public Page {
    Q_OBJECT

public:
    explicit KernelPanel(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

private:
    void recompute() override;
    void clear(const QString& message);

    PicturePanel* m_picture;
    Job m_job;
};

/// Returns s(Δ), Δ = 0 … n − 1. For learned positions it is the mean over queries up to half of n, after subtracting
/// every query's mean; for rotary positions, the score of the mean token with itself; else the bias that the head adds by distance.
/// \param tokens only for rotary positions
/// Errors: Cancelled.
Result<std::vector<double>> scoresByOffset(const Circuits& circuits, const TokenSide* tokens, HeadId head,
                                           Eigen::Index n, const Task& task);

/// A line of scores by offset, with the analyses' name; and its arrays.
/// \param deviations around the scores, drawn as a band; empty: none
Picture kernelPicture();
ResultSet kernelResults(const ModelConfig& config, const std::vector<double>& scores,
                        const std::vector<double>& deviations = {});

/// Marks the selected Δ on a chart of scores by offset, for rotary positions. The user drags the mark or clicks another offset.
void markOffset(const PicturePanel* kernel, Workspace* workspace);

/// The fields of the config that scores of positions depend on.
std::vector<ConfigField> kernelFields();
/// Explains why no score of this model depends on position alone; empty if some do.
QString whyNoKernel(const ModelConfig& config);

inline constexpr int longestKernel = 256; // positions

} // namespace headwise::ui
