#pragma once

#include "ui/pages/parts/page.h"

#include <memory>

class QLabel;

namespace headwise::ui {

class PicturePanel;

/// Components of a head's scores with rotary positions: the score by offset, and at the selected offset Δ the content
/// part and the share of every frequency. Two pairs of vectors: the mean token with itself, and the selected token's
/// query with the mean token's key.
class RotaryTerms : public Page {
    Q_OBJECT

public:
    explicit RotaryTerms(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

private:
    struct Answer;
    void createLayout();
    void recompute() override;
    void clear(const QString& message);
    void showScores();
    void showTerms(); ///< At the selected Δ; cheap enough for every step.

    PicturePanel* m_scores;
    PicturePanel* m_terms;
    QLabel* m_words;
    std::shared_ptr<const Answer> m_answer; // null until computed
    Job m_job;
};

} // namespace headwise::ui
