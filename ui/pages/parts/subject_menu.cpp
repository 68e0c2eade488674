#include "ui/pages/parts/subject_menu.h"

#include "core/analysis/comparison/head_pair.h"
#include "core/tokenizer/token_text.h"
#include "core/tokenizer/tokenizer.h"
#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/document/about_model.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>

#include <algorithm>

namespace headwise::ui {

namespace {

/// A name as it is written in a menu, where & marks a letter.
QString inMenu(QString name)
{
    return name.replace(u'&', QStringLiteral("&&"));
}

} // namespace

SubjectMenu::SubjectMenu(Workspace* workspace, QObject* parent)
    : QObject(parent)
    , m_workspace(workspace)
{
    for (const auto signal : {&OpenModel::closed, &OpenModel::circuitsChanged})
        connect(workspace->model(), signal, this, [this] { m_nearest.cancel(); });
}

void SubjectMenu::addTo(QMenu* menu, const Subject& subject)
{
    constexpr qsizetype mostHeads = 8; // a submenu each
    if (!m_workspace->model()->isOpen())
        return;
    QList<HeadId> heads = subject.heads;
    heads.removeIf([this](HeadId head) { return !exists(head); });
    if (heads.size() == 2 && heads[0] == heads[1])
        heads.removeLast();
    if (heads.size() == 1)
        addHead(menu, heads.first());
    if (heads.size() == 2)
        addPair(menu, heads[0], heads[1]);
    if (heads.size() > 1)
        for (const HeadId head : heads.first(std::min(mostHeads, heads.size())))
            addHead(menu->addMenu(text(head)), head);
    if (subject.token) {
        menu->addSeparator();
        addToken(menu, *subject.token);
    }
    if (!subject.value.isEmpty())
        addCopy(menu, tr("Copy value %1").arg(subject.value), subject.value);
    menu->addSeparator();
}

QAction* SubjectMenu::add(QMenu* menu, const QString& words, const std::function<void()>& run)
{
    QAction* action = menu->addAction(words, this, [this, run] {
        if (m_workspace->model()->isOpen()) // It may have been closed while the menu was open.
            run();
    });
    action->setObjectName(QStringLiteral("subjectAction"));
    return action;
}

void SubjectMenu::addCopy(QMenu* menu, const QString& words, const QString& copied)
{
    add(menu, words, [copied] { QGuiApplication::clipboard()->setText(copied); })->setIcon(icon("copy"));
}

void SubjectMenu::addHead(QMenu* menu, HeadId head)
{
    const QString name = text(head);
    Selection* selection = m_workspace->selection();
    Notebook* notebook = m_workspace->notebook();
    const bool isReference = selection->reference() == head;
    const bool isBookmarked = notebook->isBookmarked(head);
    add(menu, tr("Open %1").arg(name), [this, head] { showHead(head, QStringLiteral("overview")); });
    add(menu, isReference ? tr("Clear reference") : tr("Set as reference"), [selection, head, isReference] {
        selection->setReference(isReference ? std::nullopt : std::optional(head));
    });
    add(menu, tr("Show in all heads"), [this, head] { showHead(head, QStringLiteral("all_heads")); });
    const ModelCard& card = m_workspace->model()->card();
    add(menu, tr("Compare with nearest head"), [this, head] {
        compareWithNearest(head);
    })->setEnabled(m_workspace->model()->hasModel() && card.nLayers * card.nHeads > 1);
    add(menu, isBookmarked ? tr("Remove bookmark") : tr("Bookmark"),
        [notebook, head, isBookmarked] { notebook->history()->setBookmarked(head, !isBookmarked); });
    addCopy(menu, tr("Copy name %1").arg(name), name);
    const QString id = text(dottedHead(head));
    addCopy(menu, tr("Copy id %1").arg(id), id);
}

void SubjectMenu::addPair(QMenu* menu, HeadId earlier, HeadId later)
{
    const QString name = QStringLiteral("%1 → %2").arg(text(earlier), text(later));
    add(menu, tr("Open %1").arg(name),
        [this, earlier, later] { showPair(earlier, later, QStringLiteral("composition")); });
    add(menu, tr("Compare these two heads"),
        [this, earlier, later] { showPair(earlier, later, QStringLiteral("compare")); });
    addCopy(menu, tr("Copy name %1").arg(name), name);
}

void SubjectMenu::addToken(QMenu* menu, int token)
{
    const auto tokenizer = m_workspace->model()->tokenizer();
    const QString shown = m_workspace->model()->tokenText(token);
    const QByteArray bytes =
        tokenizer ? QByteArray::fromStdString(tokenizer->bytes(token)) : QByteArray::number(token);
    const bool isText = !bytes.isEmpty() && bytes.isValidUtf8();
    const QString raw = QString::fromUtf8(bytes);
    add(menu, tr("Open token %1").arg(inMenu(shown)), [this, token] {
        m_workspace->selection()->setToken(token);
        emit pageWanted(QStringLiteral("tokens"));
    });
    add(menu, tr("Use in prompt"), [this, raw] {
        emit promptWanted(raw);
    })->setEnabled(isText && m_workspace->model()->hasModel());
    addCopy(menu, tr("Copy token"), tokenizer && isText ? raw : shown);
    addCopy(menu, tr("Copy token #%1").arg(token), text(shownId(token)));
}

void SubjectMenu::showHead(HeadId head, const QString& page)
{
    m_workspace->selection()->askForHead(head);
    emit pageWanted(page);
}

void SubjectMenu::showPair(HeadId reference, HeadId head, const QString& page)
{
    m_workspace->selection()->setReference(reference);
    showHead(head, page);
}

void SubjectMenu::compareWithNearest(HeadId head)
{
    const auto circuits = m_workspace->model()->circuits();
    if (!circuits)
        return;
    m_nearest.start(tr("Heads like %1").arg(text(head)),
                    aboutModel(circuits,
                               [circuits, head](const Task& task) {
                                   return nearestHeads(*circuits, CircuitKind::Ov, head, 1, task);
                               }),
                    [this, head](const Result<std::vector<NearHead>>& found) {
                        if (!found)
                            return emit problemFound(text(found.error()));
                        if (found->empty())
                            return emit problemFound(
                                tr("No other head has a finite cosine with %1.").arg(text(head)));
                        showPair(found->front().head, head, QStringLiteral("compare"));
                    });
}

bool SubjectMenu::exists(HeadId head) const
{
    const ModelCard& card = m_workspace->model()->card();
    return head.layer >= 0 && head.layer < card.nLayers && head.head >= 0 && head.head < card.nHeads;
}

} // namespace headwise::ui
