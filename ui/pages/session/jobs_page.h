#pragma once

#include "ui/pages/parts/page.h"

class QLabel;
class QListWidget;
class QVBoxLayout;

namespace headwise::ui {

class JobBar;

/// Jobs that run, each with its progress and a cancel button, analyses that wait for their turn, and jobs that ended lately.
class JobsPage : public Page {
    Q_OBJECT

public:
    explicit JobsPage(Workspace* workspace, QWidget* parent = nullptr);

    QSize sizeHint() const override { return {480, 160}; }

private:
    void showJob(Job* job);
    void noteEnd(Job* job, qint64 milliseconds, bool cancelled);
    void showWaiting();
    void showTotal(); ///< Progress of the analyses that are under way, in the words of `headwise analyze`.
    void showRest();  ///< The words for an empty list.

    QLabel* m_rest;
    QLabel* m_total;
    QVBoxLayout* m_running;
    QHash<Job*, JobBar*> m_bars;
    QVBoxLayout* m_waiting;
    QListWidget* m_ended;
};

} // namespace headwise::ui
