#include "ui/pages/spectrum/direction_search_panel.h"

#include "core/tokenizer/token_search.h"
#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/document/estimate.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/vector_tables.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"
#include "ui/widgets/token_edit.h"

#include <QLabel>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr int searchTop = 20;

AnalysisCost searchCost(const Workspace& workspace)
{
    return findAnalysis("direction_search")
        ->cost(workspace.model()->circuits()->config(), workspace.runs()->analysisOptions());
}

} // namespace

DirectionSearchPanel::DirectionSearchPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_search(new TokenEdit(this))
    , m_state(new QLabel(this))
    , m_model(new QStandardItemModel(this))
    , m_table(new TableFigure(this))
{
    m_search->setPlaceholderText(tr("Token in all directions"));
    m_search->setToolTip(tr("Searches the %1 strongest tokens of every singular direction").arg(searchTop));
    m_search->setAccessibleName(tr("Token to look for in all directions"));
    m_search->setProperty("answersFind", true); // Ctrl+F on this page searches directions
    makeSecondary(m_state);
    m_state->setWordWrap(true);
    m_state->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_table->hide(); // shown once something is found
    m_table->setAccessibleName(tr("Directions with the token"));
    m_table->setSource(m_model, TokenTableModel::SortRole);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_search);
    layout->addWidget(new JobBar(&m_job, this));
    layout->addWidget(m_state);
    layout->addWidget(m_table, 1);
    connectSignals();
}

void DirectionSearchPanel::connectSignals()
{
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace()->model(), signal, this, &DirectionSearchPanel::clear);
    connect(workspace()->model(), &OpenModel::closed, this, [this] { seek({}); });
    connect(workspace()->filteredTokens(), &FilteredTokens::changed, this, &DirectionSearchPanel::clear);
    m_search->follow(workspace());
    connect(m_search, &TokenEdit::tokenChosen, this, &DirectionSearchPanel::search);
    connect(m_search, &TokenEdit::notFound, m_state, &QLabel::setText);
    connect(m_table, &TableFigure::rowChosen, this, [this](int row) {
        const DirectionHit& hit = m_hits[static_cast<std::size_t>(row)];
        workspace()->selection()->setHead(hit.head);
        workspace()->selection()->setDirection({hit.circuit, hit.direction, hit.sign});
    });
}

void DirectionSearchPanel::seek(const QString& token)
{
    if (token == m_sought)
        return;
    m_sought = token;
    m_isWaiting = !token.isEmpty();
    clear();
}

void DirectionSearchPanel::recompute()
{
    if (!m_isWaiting || !workspace()->model()->tokens() || !workspace()->model()->circuits())
        return;
    m_isWaiting = false;
    const Result<int> token = tokenNamed(m_sought.toStdString(), workspace()->model()->tokenizer().get());
    if (!token)
        return m_state->setText(text(token.error()));
    if (*token < 0 || *token >= workspace()->model()->card().dVocab)
        return m_state->setText(tr("The model has no token %1.").arg(m_sought));
    m_search->setText(workspace()->model()->tokenText(*token));
    search(*token);
}

void DirectionSearchPanel::clear()
{
    if (!m_isWaiting)
        m_sought.clear();
    m_job.cancel();
    m_hits.clear();
    m_model->clear();
    m_table->hide();
    if (!workspace()->model()->circuits())
        return m_state->clear();
    const QString question =
        tr("Finds the singular directions that have a token among their %1 strongest. Type the token above.")
            .arg(searchTop);
    const QString estimate = estimateText(searchCost(*workspace()));
    m_state->setText(estimate.isEmpty() ? question
                                        : question + u' ' + tr("A search takes %1.").arg(estimate));
    refresh();
}

void DirectionSearchPanel::search(int token)
{
    const auto tokens = workspace()->model()->tokens();
    if (!tokens || !workspace()->model()->circuits())
        return m_state->setText(tr("The search needs the model's files and its embeddings."));
    m_state->clear();
    m_sought = text(shownId(token));
    m_isWaiting = false;
    m_job.start(
        withEstimate(tr("Looking for %1").arg(workspace()->model()->tokenText(token)),
                     searchCost(*workspace())),
        aboutModel(workspace()->model()->circuits(),
                   [circuits = workspace()->model()->circuits(), tokens,
                    asked = DirectionSearch{token, searchTop, {}, workspace()->filteredTokens()->unused()}](
                       const Task& task) { return findInDirections(*circuits, *tokens, asked, task); }),
        [this, token](const Result<std::vector<DirectionHit>>& hits) {
            if (hits)
                return show(*hits, token);
            m_state->setText(text(hits.error()));
        });
}

void DirectionSearchPanel::show(const std::vector<DirectionHit>& hits, int token)
{
    m_hits = hits;
    QString words = (hits.size() == 1 ? tr("%1 is among the %2 strongest tokens of %3 direction")
                                      : tr("%1 is among the %2 strongest tokens of %3 directions"))
                        .arg(workspace()->model()->tokenText(token))
                        .arg(searchTop)
                        .arg(hits.size());
    if (const auto shared = std::ranges::count_if(hits, [](const auto& hit) { return hit.blockSize > 1; }))
        words += tr("; %1 of them (≈) are meaningful only with others of nearly the same σ").arg(shared);
    m_state->setText(words);
    m_table->setVisible(!hits.empty());
    m_model->clear();
    m_model->setHorizontalHeaderLabels({tr("Head"), tr("Side"), tr("k"), tr("Rank"), tr("Score"), tr("σ")});
    for (const DirectionHit& hit : hits)
        m_model->appendRow(rowOf(hit));
    fitColumns(m_table);
}

QList<QStandardItem*> DirectionSearchPanel::rowOf(const DirectionHit& hit)
{
    const DirectionSide& side = directionSideOf(hit.circuit, hit.side == VectorSide::First ? 0 : 1);
    QStandardItem* direction = countCell(hit.direction + 1);
    QStandardItem* place = countCell(hit.sign * (hit.rank + 1));
    place->setText(QStringLiteral("%1%2")
                       .arg(hit.sign > 0 ? QStringLiteral("+") : QStringLiteral("−"))
                       .arg(hit.rank + 1));
    const QList<QStandardItem*> row{wordCell(text(hit.head)),    wordCell(text(side.title)), direction, place,
                                    signedNumberCell(hit.score), numberCell(hit.sigma)};
    if (hit.blockSize < 2)
        return row;
    direction->setText(QStringLiteral("≈ %1").arg(hit.direction + 1));
    const QString together =
        tr("One of %1 directions with nearly the same singular value: only their span is meaningful.")
            .arg(hit.blockSize);
    for (QStandardItem* cell : row) {
        cell->setData(true, TokenTableModel::IsMutedRole);
        const QString own = cell->toolTip();
        cell->setToolTip((own.isEmpty() ? own : own + u'\n') + together);
    }
    return row;
}

ViewFields DirectionSearchPanel::viewFields()
{
    return ViewFields().add(
        "search", [this] { return m_sought; }, [this](const QJsonValue& token) { seek(token.toString()); });
}

QList<FigureSource*> DirectionSearchPanel::figures()
{
    if (m_model->rowCount() == 0)
        return {};
    describe(m_table, QStringLiteral("%1, %2").arg(m_state->text(), text(workspace()->model()->card().name)));
    setSubject(m_table, std::nullopt);
    return {m_table};
}

} // namespace headwise::ui
