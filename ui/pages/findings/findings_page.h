#pragma once

#include "core/findings/findings.h"
#include "ui/pages/parts/page.h"

#include <QTimer>

#include <vector>

class QLabel;
class QPushButton;
class QScrollArea;
class QVBoxLayout;

namespace headwise::ui {

class FillButton;
class FindingRow;

/// Statements that the analyses support, the strongest first: each with its numbers and a way to the picture that shows it.
///
/// It fills while the analyses run, and asks for the cheap ones that its rules lack.
class FindingsPage : public Page {
    Q_OBJECT

public:
    explicit FindingsPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Also reads "preselect": select the head of the first finding until the user chooses anything.
    ViewFields viewFields() override;

signals:
    void pageRequested(const QString& name);
    void analysisRequested(const QString& id);
    void viewMade(QWidget* row); ///< A finding, which has a menu.

protected:
    void recompute() override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void createLayout();
    void connectSignals();
    void forget(); ///< The model or its processing has changed.
    void take(Findings findings);
    void showRows();
    FindingRow* createRow();
    void showWords();      ///< The heading and the lines below the list.
    void preselect();      ///< Selects the head of the first finding.
    void followRuns();     ///< Asks for the planned ones once the queue is empty.
    void computeMissing(); ///< Asks for everything that is left.
    void open(const Finding& finding);
    void verify(const Finding& finding);
    void selectHeadOf(const Finding& finding);
    void copyAsMarkdown();
    void restoreScroll();

    QLabel* m_heading;
    QLabel* m_checked;
    QLabel* m_underWay;
    QLabel* m_left;
    QPushButton* m_compute;
    FillButton* m_fill;
    QPushButton* m_copy;
    QPushButton* m_more;
    QScrollArea* m_scroll;
    QVBoxLayout* m_list;
    std::vector<FindingRow*> m_rows;
    Findings m_findings;
    std::vector<const Analysis*> m_planned;
    bool m_hasAnswer = false;
    bool m_isPlanned = false;
    bool m_showsAll = false;
    bool m_isOutdated = false; // results changed while the job ran
    bool m_preselects = false;
    int m_wantedScroll = -1; // from a session, until the rows exist
    QTimer m_later;          // one look for all changes of an event
    Job m_job;
};

} // namespace headwise::ui
