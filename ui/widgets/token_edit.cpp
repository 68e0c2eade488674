#include "ui/widgets/token_edit.h"

#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/workspace.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QStandardItemModel>

#include <algorithm>
#include <chrono>

namespace headwise::ui {

namespace {
constexpr int matchLimit = 50;
constexpr int idRole = Qt::UserRole + 1;
constexpr int headRole = idRole + 1; // "10.7" for an entry that leads to a head
} // namespace

TokenEdit::TokenEdit(QWidget* parent)
    : QLineEdit(parent)
    , m_matches(new QStandardItemModel(this))
    , m_completer(new QCompleter(m_matches, this))
{
    setPlaceholderText(tr("Text, #id, /regex/"));
    setClearButtonEnabled(true);
    setTextMargins(4, 0, 4, 0);
    setFont(tokenFont());
    m_completer->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
    m_completer->popup()->setFont(tokenFont());
    wearTheme(*m_completer->popup()); // a window of its own
    m_completer->setWidget(this);
    m_pause.setSingleShot(true);
    m_pause.setInterval(std::chrono::milliseconds(30));
    connect(this, &QLineEdit::textEdited, &m_pause, qOverload<>(&QTimer::start));
    connect(&m_pause, &QTimer::timeout, this, &TokenEdit::search);
    connect(this, &QLineEdit::returnPressed, this, &TokenEdit::accept);
    connect(m_completer, qOverload<const QModelIndex&>(&QCompleter::activated), this,
            [this](const QModelIndex& index) {
                if (const auto head = parseHeadId(index.data(headRole).toString().toStdString()))
                    return emit headChosen(*head);
                const int id = index.data(idRole).toInt();
                setText(index.data(Qt::EditRole).toString());
                emit tokenChosen(id);
            });
}

void TokenEdit::follow(const Workspace* workspace)
{
    const auto readTokenizer = [this, workspace] { setTokenizer(workspace->model()->tokenizer()); };
    const auto readSize = [this, workspace] {
        setVocabularySize(workspace->model()->card().dVocab);
        m_layers = workspace->model()->card().nLayers;
        m_heads = workspace->model()->card().nHeads;
    };
    connect(workspace->model(), &OpenModel::circuitsChanged, this, readTokenizer);
    connect(workspace->model(), &OpenModel::opened, this, readSize);
    if (workspace->model()->isOpen()) {
        readTokenizer();
        readSize();
    }
}

void TokenEdit::setTokenizer(std::shared_ptr<const Tokenizer> tokenizer)
{
    m_tokenizer = std::move(tokenizer);
    m_job.cancel();
    m_matches->clear();
    clear();
}

void TokenEdit::offerHeads()
{
    m_offersHeads = true;
    setPlaceholderText(tr("Token, head, #id, /regex/"));
}

std::optional<HeadId> TokenEdit::headNamed() const
{
    const auto head = m_offersHeads ? parseHeadId(text().trimmed().toStdString()) : std::nullopt;
    return head && head->layer < m_layers && head->head < m_heads ? head : std::nullopt;
}

void TokenEdit::find(const std::function<void(const Result<Found>&)>& done)
{
    m_job.start(
        tr("Searching the vocabulary"),
        [tokenizer = m_tokenizer, query = text().toStdString()](const Task& task) -> Result<Found> {
            const auto pattern = patternIn(query);
            if (!pattern)
                return Found{searchTokens(*tokenizer, query, matchLimit), piecesOf(*tokenizer, query)};
            auto ids = matchingTokens(*tokenizer, *pattern, matchLimit, task);
            if (!ids)
                return ids.error();
            return Found{*std::move(ids), {}};
        },
        done);
}

void TokenEdit::search()
{
    if (text().isEmpty() || (!m_tokenizer && !headNamed()))
        return m_job.cancel();
    if (!m_tokenizer)
        return showMatches(Found{});
    find([this](const Result<Found>& found) { showMatches(found); });
}

void TokenEdit::appendToken(int id)
{
    auto* item = new QStandardItem(QStringLiteral("%1   #%2").arg(ui::text(m_tokenizer->shown(id))).arg(id));
    item->setData(id, idRole);
    m_matches->appendRow(item);
}

QString TokenEdit::piecesText(const std::vector<int>& pieces) const
{
    QStringList shown;
    for (const int id : pieces)
        shown << ui::text(m_tokenizer->shown(id));
    return shown.join(QStringLiteral(", "));
}

void TokenEdit::appendPieces(const std::vector<int>& pieces)
{
    if (pieces.empty())
        return;
    auto* heading = new QStandardItem(tr("pieces of '%1': %2").arg(text(), piecesText(pieces)));
    heading->setFlags(Qt::NoItemFlags);
    m_matches->appendRow(heading);
    for (auto piece = pieces.begin(); piece != pieces.end(); ++piece)
        if (std::find(pieces.begin(), piece, *piece) == piece) // each once
            appendToken(*piece);
}

void TokenEdit::showMatches(const Result<Found>& found)
{
    m_matches->clear();
    if (const auto head = headNamed()) {
        auto* item = new QStandardItem(tr("Go to %1").arg(ui::text(*head)));
        item->setData(ui::text(dottedHead(*head)), headRole);
        m_matches->appendRow(item);
    }
    if (!found) {
        auto* problem = new QStandardItem(ui::text(found.error()));
        problem->setFlags(Qt::NoItemFlags);
        m_matches->appendRow(problem);
    }
    if (found) {
        for (const int id : found->ids)
            appendToken(id);
        appendPieces(found->pieces);
    }
    if (m_matches->rowCount() > 0 && hasFocus())
        m_completer->complete();
    else
        m_completer->popup()->hide();
}

void TokenEdit::accept()
{
    m_pause.stop();
    QString query = text();
    if (const qsizetype id = query.lastIndexOf(QStringLiteral("   #")); id >= 0)
        query = query.mid(id + 3); // an entry of our own popup
    if (query.isEmpty())
        return;
    if (const auto head = headNamed())
        return emit headChosen(*head);
    if (m_tokenizer) {
        const Result<int> token = m_tokenizer->find(query.toStdString());
        if (!token && patternIn(query.toStdString()))
            return find([this, query](const Result<Found>& found) {
                if (found && !found->ids.empty())
                    emit tokenChosen(found->ids.front());
                else
                    emit notFound(found ? tr("No token matches %1.").arg(query) : ui::text(found.error()));
            });
        if (!token) {
            const std::vector<int> pieces = piecesOf(*m_tokenizer, query.toStdString());
            return emit notFound(
                pieces.empty()
                    ? ui::text(token.error())
                    : tr("'%1' is not one token; its pieces are %2.").arg(query, piecesText(pieces)));
        }
        return emit tokenChosen(*token);
    }
    bool isNumber = false;
    const int id = query.mid(query.startsWith(u'#') ? 1 : 0).toInt(&isNumber);
    if (!isNumber || id < 0 || id >= m_vocabularySize)
        return emit notFound(tr("'%1' is not a token id. The model has no tokenizer, so type #0 to #%2.")
                                 .arg(query)
                                 .arg(m_vocabularySize - 1));
    emit tokenChosen(id);
}

} // namespace headwise::ui
