#pragma once

#include "ui/pages/parts/page.h"

class QLabel;
class QListWidget;
class QVBoxLayout;

namespace headwise::ui {

class JobBar;

/// Everything that takes a while: what runs, each with its progress and a cancel button, what waits for its turn, and what
/// ended lately.
class JobsPage : public Page {
    Q_OBJECT

public:
    explicit JobsPage(Workspace* workspace, QWidget* parent = nullptr);

    QSize sizeHint() const override { return {480, 160}; }

private:
    void showJob(Job* job);
    void noteEnd(Job* job, qint64 milliseconds, bool cancelled);
    void showWaiting();
    void showRest(); ///< The words for an empty list.

    QLabel* m_rest;
    QVBoxLayout* m_running;
    QHash<Job*, JobBar*> m_bars;
    QVBoxLayout* m_waiting;
    QListWidget* m_ended;
};

} // namespace headwise::ui
