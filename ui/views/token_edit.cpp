#include "ui/views/token_edit.h"

#include "core/io/token_search.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QStandardItemModel>

#include <chrono>

namespace headwise::ui {

namespace {
constexpr int matchLimit = 50;
constexpr int idRole = Qt::UserRole + 1;
} // namespace

TokenEdit::TokenEdit(QWidget* parent)
    : QLineEdit(parent)
    , m_matches(new QStandardItemModel(this))
    , m_completer(new QCompleter(m_matches, this))
{
    setPlaceholderText(tr("Find a token: text, ␣text or #id"));
    setClearButtonEnabled(true);
    setTextMargins(4, 0, 4, 0);
    setFont(tokenFont());
    m_completer->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
    m_completer->popup()->setFont(tokenFont());
    m_completer->setWidget(this);
    m_pause.setSingleShot(true);
    m_pause.setInterval(std::chrono::milliseconds(30));
    connect(this, &QLineEdit::textEdited, &m_pause, qOverload<>(&QTimer::start));
    connect(&m_pause, &QTimer::timeout, this, &TokenEdit::search);
    connect(this, &QLineEdit::returnPressed, this, &TokenEdit::accept);
    connect(m_completer, qOverload<const QModelIndex&>(&QCompleter::activated), this,
            [this](const QModelIndex& index) {
                const int id = index.data(idRole).toInt();
                setText(index.data(Qt::EditRole).toString());
                emit tokenChosen(id);
            });
}

void TokenEdit::follow(const Workspace* workspace)
{
    const auto readTokenizer = [this, workspace] { setTokenizer(workspace->tokenizer()); };
    const auto readSize = [this, workspace] { setVocabularySize(workspace->card().dVocab); };
    connect(workspace, &Workspace::circuitsChanged, this, readTokenizer);
    connect(workspace, &Workspace::opened, this, readSize);
    if (workspace->isOpen()) {
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

void TokenEdit::search()
{
    if (!m_tokenizer || text().isEmpty())
        return m_job.cancel();
    m_job.start(
        tr("Searching the vocabulary"),
        [tokenizer = m_tokenizer, query = text().toStdString()](const Task&) -> Result<std::vector<int>> {
            return searchTokens(*tokenizer, query, matchLimit);
        },
        [this](const Result<std::vector<int>>& ids) {
            if (ids)
                showMatches(*ids);
        });
}

void TokenEdit::showMatches(const std::vector<int>& ids)
{
    m_matches->clear();
    for (const int id : ids) {
        const QString shown = ui::text(m_tokenizer->shown(id));
        auto* item = new QStandardItem(QStringLiteral("%1   #%2").arg(shown).arg(id));
        item->setData(id, idRole);
        m_matches->appendRow(item);
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
        query = query.mid(id + 3); // a line of our own popup
    if (query.isEmpty())
        return;
    if (m_tokenizer) {
        const Result<int> token = m_tokenizer->find(query.toStdString());
        if (!token)
            return emit notFound(ui::text(token.error()));
        return emit tokenChosen(*token);
    }
    bool isNumber = false;
    const int id = query.mid(query.startsWith(u'#') ? 1 : 0).toInt(&isNumber);
    if (!isNumber || id < 0 || id >= m_vocabularySize)
        return emit notFound(tr("'%1' is no token id; the model has no tokenizer, so type #0 to #%2.")
                                 .arg(query)
                                 .arg(m_vocabularySize - 1));
    emit tokenChosen(id);
}

} // namespace headwise::ui
