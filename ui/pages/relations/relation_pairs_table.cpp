#include "ui/pages/relations/relation_pairs_table.h"

#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/document/about_model.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QLabel>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr std::size_t pairsShown = 20;

QString leftOutPair(const LeftOutPair& pair)
{
    return QStringLiteral("%1 → %2 (%3)").arg(text(pair.source), text(pair.target), text(pair.why));
}

/// Every pair that is left out, one a line; empty: none is.
QString leftOutList(const AskedRelation& relation)
{
    QStringList pairs;
    for (const LeftOutPair& pair : relation.leftOut)
        pairs << leftOutPair(pair);
    return pairs.join(u'\n');
}

/// Says how many pairs are left out, with the first ones and the reasons; empty: none is.
QString leftOutLine(const AskedRelation& relation)
{
    constexpr std::size_t named = 3;
    if (relation.leftOut.empty())
        return {};
    QStringList pairs;
    for (std::size_t i = 0; i < std::min(named, relation.leftOut.size()); ++i)
        pairs << leftOutPair(relation.leftOut[i]);
    if (relation.leftOut.size() > named)
        pairs << RelationPairsTable::tr("and %1 more").arg(relation.leftOut.size() - named);
    return RelationPairsTable::tr("Left out %1 of %2 pairs: %3")
        .arg(relation.leftOut.size())
        .arg(relation.given)
        .arg(pairs.join(QStringLiteral(", ")));
}

} // namespace

RelationPairsTable::RelationPairsTable(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_title(new QLabel(this))
    , m_fill(new FillButton(this))
    , m_model(new QStandardItemModel(this))
    , m_table(new TableFigure(this))
{
    m_title->setWordWrap(true);
    m_table->setSource(m_model, TokenTableModel::SortRole);
    m_table->setAccessibleName(tr("Pairs of the head"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_title);
    layout->addWidget(m_fill, 0, Qt::AlignLeft);
    layout->addWidget(m_table, 1);
    connect(m_table, &TableFigure::rowChosen, this,
            [this](int row) { this->workspace()->selection()->setToken(tokenOf(*m_model, row, 0)); });
}

bool RelationPairsTable::isEmpty() const
{
    return m_model->rowCount() == 0;
}

void RelationPairsTable::clear()
{
    m_job.cancel();
    m_model->clear();
    m_title->clear();
    m_fill->offer(FillButton::Lack::Nothing);
}

void RelationPairsTable::fail(const QString& message)
{
    m_model->clear();
    setPlain(m_title, message);
}

void RelationPairsTable::show(const Asked& asked)
{
    m_fill->offer(FillButton::lackOf(*workspace(), true));
    const auto circuits = workspace()->model()->circuits();
    const auto tokens = workspace()->model()->tokens();
    if (!circuits || !tokens || !workspace()->model()->tokenizer())
        return fail(tr("The pairs of a head need the model's files."));
    AnalysisContext context{*circuits, tokens, workspace()->runs()->analysisOptions()};
    context.options.inputs.relations = asked.relations;
    m_job.start(
        tr("Pairs of %1").arg(text(asked.head)),
        aboutModel(circuits,
                   [context, head = asked.head, at = asked.relation](const Task& task) -> Result<Found> {
                       const auto relation = askedRelation(context, at);
                       if (!relation)
                           return relation.error();
                       const auto pairs = relationPairs(context, at, head, pairsShown, task);
                       if (!pairs)
                           return pairs.error();
                       return Found{*relation, *pairs};
                   }),
        [this, asked](const Result<Found>& found) {
            found ? fill(*found, asked) : fail(text(found.error()));
        });
}

QString RelationPairsTable::hitsIn(const Found& found, std::optional<double> hits)
{
    QString words;
    if (hits && *hits >= 0)
        words = tr("%1 of %2 pairs hit at k = %3").arg(*hits).arg(found.relation.rows.size());
    else
        words = tr("%1 of the first %2 pairs hit at k = %3")
                    .arg(std::ranges::count_if(found.pairs, &RelationPair::isHit))
                    .arg(found.pairs.size());
    words = words.arg(found.relation.k);
    return found.pairs.size() < found.relation.rows.size()
        ? tr("%1; the first %2 are listed").arg(words).arg(found.pairs.size())
        : words;
}

void RelationPairsTable::fill(const Found& found, const Asked& asked)
{
    m_head = asked.head;
    const QString title = tr("<b>%1</b>%2, %3: %4")
                              .arg(text(asked.head), asked.rank, text(found.relation.name).toHtmlEscaped(),
                                   hitsIn(found, asked.hits));
    const QString leftOut = leftOutLine(found.relation);
    setMarkup(m_title, leftOut.isEmpty() ? title : title + QStringLiteral("<br>") + leftOut.toHtmlEscaped());
    m_title->setToolTip(leftOutList(found.relation));
    m_model->clear();
    m_model->setHorizontalHeaderLabels(
        {tr("Source"), tr("Target"), tr("Hit"), tr("Rank of the target"), tr("Logit")});
    for (const RelationPair& pair : found.pairs)
        m_model->appendRow({tokenCell(*workspace(), pair.source), tokenCell(*workspace(), pair.target),
                            wordCell(pair.isHit ? QStringLiteral("✓") : QStringLiteral("✗")),
                            countCell(pair.rank + 1), signedNumberCell(pair.value)});
    fitColumns(m_table);
}

} // namespace headwise::ui
