#pragma once

#include "ui/pages/page.h"

class QLabel;

namespace headwise::ui {

/// The line over the pages: the selected head and its scores, each with its distance from chance, and badges of what its
/// circuits leave out.
class HeadHeader : public Page {
    Q_OBJECT

public:
    explicit HeadHeader(Workspace* workspace, QWidget* parent = nullptr);

private:
    void refresh();
    QString notesText() const; ///< What the badges mean for this model, as rich text.

    QLabel* m_head;
    QLabel* m_scores;
    QLabel* m_state;
};

} // namespace headwise::ui
