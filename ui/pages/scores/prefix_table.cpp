#include "ui/pages/scores/prefix_table.h"

#include "core/circuits/token_table.h"
#include "ui/base/text.h"
#include "ui/document/about_model.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/row_opening.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QLabel>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr int prefixTableLength = 20;

/// Returns the token whose text is prefix + suffix; −1: there is none.
int bothTogether(const Tokenizer& tokenizer, int prefix, int suffix)
{
    const std::string both = tokenizer.bytes(prefix) + tokenizer.bytes(suffix);
    const auto found = tokenizer.find(both);
    return found && tokenizer.bytes(*found) == both ? *found : -1;
}

} // namespace

struct PrefixTable::Answer {
    TokenEnds ends;
    std::vector<int> together; // by rank; −1: no token
    double random = 0;         // typical score of a random direction
};

PrefixTable::PrefixTable(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_heading(new QLabel(this))
    , m_model(new QStandardItemModel(this))
    , m_table(new TableFigure(this))
{
    m_heading->setWordWrap(true);
    m_table->setSource(m_model, TokenTableModel::SortRole);
    m_table->setAccessibleName(tr("Prefixes of the token"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_heading);
    layout->addWidget(m_table, 1);
    connect(workspace->selection(), &Selection::headChanged, this, &PrefixTable::refresh);
    connect(workspace->filteredTokens(), &FilteredTokens::changed, this, &PrefixTable::refresh);
    connect(workspace->selection(), &Selection::tokenChanged, this, &PrefixTable::refresh);
    whenOpened(m_table, [this](const QModelIndex& index) {
        const int column = index.column() > 3 ? 4 : index.column() == 3 ? 3 : 1;
        if (const int token = tokenOf(*m_model, m_table->sourceRow(index), column); token >= 0)
            this->workspace()->selection()->setToken(token);
    });
}

void PrefixTable::setTokens(std::shared_ptr<const MeanDivided> tokens)
{
    m_tokens = std::move(tokens);
    refresh();
}

void PrefixTable::clear(const QString& message)
{
    m_job.cancel();
    m_model->clear();
    m_heading->setText(message);
}

void PrefixTable::recompute()
{
    if (!workspace()->model()->isOpen() || !workspace()->model()->circuits()
        || workspace()->selection()->head().layer > 0)
        return clear({});
    if (!m_tokens)
        return clear(tr("Reading the norms of tokens…"));
    m_job.start(
        tr("Prefixes of %1").arg(workspace()->model()->tokenText(workspace()->selection()->token())),
        aboutModel(
            workspace()->model()->circuits(),
            [tokens = m_tokens, circuits = workspace()->model()->circuits(),
             tokenizer = workspace()->model()->tokenizer(), head = workspace()->selection()->head(),
             token = workspace()->selection()->token(),
             unused = workspace()->filteredTokens()->unused()](const Task& task) -> Result<Answer> {
                const FoldedHead folded = foldedHead(circuits->weights(), head);
                const Matrix<double> sought = folded.W_K * (tokens->row(token) * folded.W_Q).transpose();
                const auto scores = tokens->times(sought, task);
                if (!scores)
                    return scores.error();
                Answer answer{ends(scores->col(0).transpose(), prefixTableLength, unused),
                              {},
                              tokens->randomScore(token, folded)};
                for (const TokenEntry& entry : answer.ends.top)
                    answer.together.push_back(tokenizer ? bothTogether(*tokenizer, entry.id, token) : -1);
                return answer;
            }),
        [this](const Result<Answer>& found) {
            if (!found)
                return clear(text(found.error()));
            show(*found);
        });
}

void PrefixTable::show(const Answer& answer)
{
    m_heading->setText(
        tr("%1 as query looks for (T^ee at mean σ, without scale; random directions ±%2)")
            .arg(workspace()->model()->tokenText(workspace()->selection()->token()), number(answer.random)));
    m_model->clear();
    m_model->setHorizontalHeaderLabels(
        {tr("#"), tr("Largest"), tr("Score"), tr("Together"), tr("Smallest"), tr("Score")});
    for (std::size_t i = 0; i < answer.ends.top.size(); ++i) {
        const TokenEntry& top = answer.ends.top[i];
        const TokenEntry& bottom = answer.ends.bottom[i];
        m_model->appendRow(
            {countCell(static_cast<int>(i) + 1),
             tokenCell(*workspace(), top.id, top.id == workspace()->selection()->token()),
             signedNumberCell(top.value),
             answer.together[i] < 0 ? wordCell({}) : tokenCell(*workspace(), answer.together[i]),
             tokenCell(*workspace(), bottom.id, bottom.id == workspace()->selection()->token()),
             signedNumberCell(bottom.value)});
    }
    // Few tokens are concatenations of two others; without any, the column is hidden.
    m_table->setColumnHidden(3, std::ranges::all_of(answer.together, [](int token) { return token < 0; }));
    fitColumns(m_table);
}

QList<FigureSource*> PrefixTable::figures()
{
    if (m_model->rowCount() == 0)
        return {};
    describe(m_table,
             tr("%1 prefixes of %2, %3")
                 .arg(text(workspace()->selection()->head()),
                      workspace()->model()->tokenText(workspace()->selection()->token()),
                      text(workspace()->model()->card().name)));
    return {m_table};
}

} // namespace headwise::ui
