#include "app/window/main_window.h"
#include "app/window/page_tabs.h"
#include "ui/document/compared_model.h"
#include "ui/figures/figure_writer.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/token_edit.h"

#include <QApplication>
#include <QDockWidget>
#include <QKeyEvent>
#include <QLineEdit>
#include <QToolButton>

#include <algorithm>
#include <utility>

// Keys whose meaning depends on where one is.

namespace headwise::app {

using namespace headwise::ui;

void MainWindow::escape()
{
    if (!leaveField() && !cancelJob() && !clearFilter() && !cancelAnalysis())
        returnFromJump();
}

bool MainWindow::leaveField()
{
    auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    if (!field || !isAncestorOf(field))
        return false;
    if (field == m_headEdit) {
        updateState();
        m_tabs->currentPage()->setFocus();
        return true;
    }
    const bool isFilled = field->isClearButtonEnabled() && !field->text().isEmpty();
    if (isFilled)
        field->clear();
    return isFilled;
}

bool MainWindow::cancelJob()
{
    const QList<JobBar*> bars = m_tabs->currentPage()->findChildren<JobBar*>();
    const auto running = std::ranges::find_if(bars, [](const JobBar* bar) { return bar->isVisible(); });
    if (running == bars.end())
        return false;
    (*running)->findChild<QToolButton*>()->click();
    return true;
}

bool MainWindow::clearFilter()
{
    for (auto* field : m_tabs->currentPage()->findChildren<QLineEdit*>()) {
        const bool chooses = qobject_cast<TokenEdit*>(field); // a token: it hides nothing
        if (chooses || !field->isVisible() || !field->isClearButtonEnabled() || field->text().isEmpty())
            continue;
        field->clear();
        return true;
    }
    return false;
}

bool MainWindow::cancelAnalysis()
{
    if (ComparedModel::of(m_workspace)->comparisonJob()->isRunning()) {
        ComparedModel::of(m_workspace)->comparisonJob()->cancel();
        return true;
    }
    const auto& waiting = m_workspace->runs()->waiting();
    const bool isAsked = std::ranges::any_of(catalogue(), [&](const Analysis& analysis) {
        return !analysis.isDefault && m_workspace->runs()->isUnderWay(analysis.id)
            && std::ranges::find(waiting, &analysis) == waiting.end();
    });
    if (isAsked) {
        m_workspace->runs()->job()->cancel();
        return true;
    }
    // The defaults wait unasked; of the others the one asked for last goes first.
    const auto newest = std::find_if(waiting.rbegin(), waiting.rend(),
                                     [](const Analysis* analysis) { return !analysis->isDefault; });
    if (newest == waiting.rend())
        return false;
    m_workspace->runs()->removeWaiting(**newest);
    return true;
}

void MainWindow::returnFromJump()
{
    if (std::exchange(m_jumped, false))
        m_workspace->selection()->goBack();
}

void MainWindow::goToPane(int step)
{
    std::vector<QWidget*> panes{m_heads, m_tabs->currentPage()};
    for (const QDockWidget* dock : m_docks)
        if (dock->widget() != m_heads && dock->widget()->isVisible())
            panes.push_back(dock->widget());
    std::erase_if(panes, [](const QWidget* pane) { return !pane->isVisible(); });
    const QWidget* focus = QApplication::focusWidget();
    const auto now = std::ranges::find_if(
        panes, [focus](const QWidget* pane) { return pane == focus || pane->isAncestorOf(focus); });
    const auto count = std::ssize(panes);
    const auto index = now == panes.end() ? (step > 0 ? -1 : 0) : now - panes.begin();
    QWidget* next = panes[static_cast<std::size_t>((index + step + count) % count)];
    // The first part that keys go to, in the order Tab has.
    for (QWidget* part = next->nextInFocusChain(); part != next; part = part->nextInFocusChain())
        if (next->isAncestorOf(part) && part->isVisible() && part->isEnabled()
            && (part->focusPolicy() & Qt::TabFocus))
            return part->setFocus(Qt::TabFocusReason);
}

void MainWindow::keyPressEvent(QKeyEvent* event)
{
    auto* source = dynamic_cast<FigureSource*>(QApplication::focusWidget());
    if (!event->matches(QKeySequence::Copy) || !source || !figures().contains(source))
        return QMainWindow::keyPressEvent(event);
    const bool isMatrix = qobject_cast<HeatmapView*>(QApplication::focusWidget()); // often of millions
    figureWriter()->copy(*source, parseFigureSettings(m_settings.figure),
                         isMatrix ? FigureWriter::Numbers::LeftOut : FigureWriter::Numbers::Beside);
}

} // namespace headwise::app
