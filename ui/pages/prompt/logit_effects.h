#pragma once

#include "core/base/matrix.h"
#include "ui/pages/parts/page.h"

class QLabel;

namespace headwise::ui {

class HeadGrid;
struct PromptAnswer;

/// Direct effect of every head on the logit of the token that most likely follows a prompt.
class LogitEffects : public Page {
    Q_OBJECT

public:
    explicit LogitEffects(Workspace* workspace, QWidget* parent = nullptr);

    void attribute(const PromptAnswer& answer); ///< Computes and shows the effects.
    void clear();
    Job* job() { return &m_job; }

    QList<FigureSource*> figures() override;

private:
    void show(const Result<ResultSet>& results);

    QLabel* m_logit;
    HeadGrid* m_effects;
    Eigen::MatrixXf m_zScores; // [n_layers, n_heads], of the effects on the target among those on all tokens
    Job m_job;
};

} // namespace headwise::ui
