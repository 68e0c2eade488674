#pragma once

#include "ui/pages/parts/page.h"

class QLabel;
class QListWidget;
class QVBoxLayout;

namespace headwise::ui {

class JobBar;

/// All computations: running ones with progress and a cancel button, waiting ones, and recently finished ones.
class JobsPage : public Page {
    Q_OBJECT

public:
    explicit JobsPage(Workspace* workspace, QWidget* parent = nullptr);

    QSize sizeHint() const override { return {480, 160}; }

private:
    void showJob(Job* job);
    void noteEnd(Job* job, qint64 milliseconds, bool cancelled);
    void showWaiting();
    void showRest(); ///< Shows the text for an empty list.

    QLabel* m_rest;
    QVBoxLayout* m_running;
    QHash<Job*, JobBar*> m_bars;
    QVBoxLayout* m_waiting;
    QListWidget* m_ended;
};

} // namespace headwise::ui
