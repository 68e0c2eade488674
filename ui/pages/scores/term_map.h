#pragma once

#include "core/analysis/position/score_terms.h"
#include "ui/pages/parts/page.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace headwise::ui {

class PicturePanel;

/// One term of a layer-0 score over a list of tokens, rows queries and columns keys; without a list, over random tokens.
class TermMap : public Page {
    Q_OBJECT

public:
    explicit TermMap(Workspace* workspace, QWidget* parent = nullptr);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

private:
    struct Answer;
    void recompute() override;
    void createLayout();
    void showTerm();
    void clear(const QString& message);

    QLineEdit* m_words;
    QComboBox* m_term;
    QLabel* m_note;
    PicturePanel* m_picture;
    Job m_job;
    std::shared_ptr<const Answer> m_answer; // null if there is none
};

} // namespace headwise::ui
