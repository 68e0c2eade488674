#include "app/window/navigation.h"

#include "app/window/docks.h"
#include "app/window/main_bar.h"
#include "app/window/pages.h"
#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"
#include "ui/document/compared_model.h"
#include "ui/document/note_history.h"
#include "ui/pages/parts/page.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/token_edit.h"

#include <QApplication>
#include <QLineEdit>
#include <QToolButton>

#include <algorithm>
#include <utility>

namespace headwise::app {

using namespace headwise::ui;

Navigation::Navigation(QMainWindow* window, Workspace* workspace, Pages* pages, Docks* docks, MainBar* bar)
    : WindowPart(window, workspace)
    , m_pages(pages)
    , m_docks(docks)
    , m_bar(bar)
{
    connect(bar->headEdit(), &QLineEdit::returnPressed, this, [this] { jumpTo(m_bar->headEdit()->text()); });
    connect(bar->search(), &TokenEdit::tokenChosen, this, [this](int token) {
        m_workspace->selection()->setToken(token);
        m_pages->showPage(QStringLiteral("tokens"));
    });
    connect(bar->search(), &TokenEdit::headChosen, m_workspace->selection(), &Selection::askForHead);
    connect(bar->search(), &TokenEdit::notFound, this,
            [this](const QString& message) { showMessage(message); });
}

void Navigation::moveHead(int layers, int heads)
{
    const HeadId head = m_workspace->selection()->head();
    m_workspace->selection()->setHead({head.layer + layers, head.head + heads});
}

void Navigation::jumpTo(const QString& headName)
{
    const auto head = parseHeadId(headName.trimmed().toStdString());
    const ModelCard& card = m_workspace->model()->card();
    if (!head || head->layer >= card.nLayers || head->head >= card.nHeads) {
        showMessage(tr("'%1' is not a head of this model; its heads are 0.0 to %2.%3.")
                        .arg(headName)
                        .arg(card.nLayers - 1)
                        .arg(card.nHeads - 1));
        return m_bar->refresh();
    }
    m_jumped = *head != m_workspace->selection()->head();
    m_workspace->selection()->askForHead(*head);
    m_bar->refresh();
    m_pages->currentPage()->setFocus(); // so that the keys belong to the page again
}

void Navigation::goToHead()
{
    m_bar->headEdit()->setFocus();
    m_bar->headEdit()->selectAll();
}

void Navigation::findToken()
{
    const QList<TokenEdit*> own = m_pages->currentPage()->findChildren<TokenEdit*>();
    const auto answers = std::find_if(
        own.begin(), own.end(), [](const TokenEdit* edit) { return edit->property("answersFind").toBool(); });
    TokenEdit* field = answers == own.end() ? m_bar->search() : *answers;
    field->setFocus();
    field->selectAll();
}

void Navigation::goToPane(int step)
{
    std::vector<QWidget*> panes = m_docks->contents();
    panes.insert(panes.begin() + 1, m_pages->currentPage());
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

void Navigation::toggleBookmark()
{
    const HeadId head = m_workspace->selection()->head();
    m_workspace->notebook()->history()->setBookmarked(head, !m_workspace->notebook()->isBookmarked(head));
}

void Navigation::escape()
{
    if (!leaveField() && !cancelJob() && !clearFilter() && !cancelAnalysis())
        returnFromJump();
}

bool Navigation::leaveField()
{
    auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    if (!field || !m_window->isAncestorOf(field))
        return false;
    if (field == m_bar->headEdit()) {
        m_bar->refresh();
        m_pages->currentPage()->setFocus();
        return true;
    }
    const bool isFilled = field->isClearButtonEnabled() && !field->text().isEmpty();
    if (isFilled)
        field->clear();
    return isFilled;
}

bool Navigation::cancelJob()
{
    const QList<JobBar*> bars = m_pages->currentPage()->findChildren<JobBar*>();
    const auto running = std::ranges::find_if(bars, [](const JobBar* bar) { return bar->isVisible(); });
    if (running == bars.end())
        return false;
    (*running)->findChild<QToolButton*>()->click();
    return true;
}

bool Navigation::clearFilter()
{
    for (auto* field : m_pages->currentPage()->findChildren<QLineEdit*>()) {
        const bool chooses = qobject_cast<TokenEdit*>(field); // a token: it hides nothing
        if (chooses || !field->isVisible() || !field->isClearButtonEnabled() || field->text().isEmpty())
            continue;
        field->clear();
        return true;
    }
    return false;
}

bool Navigation::cancelAnalysis()
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

void Navigation::returnFromJump()
{
    if (std::exchange(m_jumped, false))
        m_workspace->selection()->goBack();
}

QList<PaletteCommand> Navigation::pieces(const QString& words)
{
    QList<PaletteCommand> found;
    const auto tokenizer = m_workspace->model()->tokenizer();
    if (!tokenizer)
        return found;
    const QString path = tr("Piece of “%1” › ").arg(words);
    for (const int id : piecesOf(*tokenizer, words.toStdString()))
        found << PaletteCommand{m_workspace->model()->tokenText(id), path, {}, [this, id] {
                                    m_workspace->selection()->setToken(id);
                                    m_pages->showPage(QStringLiteral("tokens"));
                                }};
    return found;
}

void Navigation::offer(QList<PaletteCommand> commands)
{
    if (m_workspace->model()->isOpen())
        for (const HeadId head : m_workspace->notebook()->bookmarks())
            commands << PaletteCommand{
                text(head), tr("Bookmark › "), {}, [this, head] { jumpTo(text(head)); }};
    auto* palette = new CommandPalette(commands, m_window);
    palette->setAttribute(Qt::WA_DeleteOnClose);
    if (m_workspace->model()->isOpen())
        palette->setFallback([this](const QString& words) -> QList<PaletteCommand> {
            QList<PaletteCommand> found;
            if (const auto head = parseHeadId(words.toStdString()))
                found << PaletteCommand{
                    tr("Go to %1").arg(text(*head)), {}, {}, [this, words] { jumpTo(words); }};
            found << PaletteCommand{tr("Find the token “%1”").arg(words), {}, {}, [this, words] {
                                        m_bar->search()->setFocus();
                                        m_bar->search()->setText(words);
                                        emit m_bar->search()->returnPressed();
                                    }};
            return found + pieces(words);
        });
    palette->open();
}

} // namespace headwise::app
