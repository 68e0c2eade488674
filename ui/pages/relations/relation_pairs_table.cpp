// The pairs of one head on the relations page.

#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/document/about_model.h"
#include "ui/document/head_metrics.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/pages/parts/head_grid.h"
#include "ui/pages/relations/relations_page.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QLabel>
#include <QStandardItemModel>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr std::size_t pairsShown = 20;
const std::string relationPairsFolder = "analyses/relations/";

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
        pairs << RelationsPage::tr("and %1 more").arg(relation.leftOut.size() - named);
    return RelationsPage::tr("Left out %1 of %2 pairs: %3")
        .arg(relation.leftOut.size())
        .arg(relation.given)
        .arg(pairs.join(QStringLiteral(", ")));
}

} // namespace

HeadId RelationsPage::bestHead() const
{
    return m_hits->largest().value_or(workspace()->selection()->head());
}

std::size_t RelationsPage::relationOf(HeadId head) const
{
    const ResultArray* best = m_shown->find(relationPairsFolder + "best_relation");
    if (shownRelations().size() < 2 || !best)
        return 0;
    return static_cast<std::size_t>(std::max(0.0, metricAt(*best, head)));
}

void RelationsPage::showPairs(HeadId head)
{
    m_fill->offer(FillButton::lackOf(*workspace(), true));
    const auto tokens = workspace()->model()->tokens();
    if (!workspace()->model()->circuits() || !tokens || !workspace()->model()->tokenizer()) {
        m_pairModel->clear();
        return setPlain(m_pairsTitle, tr("The pairs of a head need the model's files."));
    }
    AnalysisContext context{*workspace()->model()->circuits(), tokens,
                            workspace()->runs()->analysisOptions()};
    context.options.inputs.relations = m_shownRelations;
    m_pairJob.start(tr("Pairs of %1").arg(text(head)),
                    aboutModel(workspace()->model()->circuits(),
                               [context, head, at = relationOf(head)](const Task& task) -> Result<HeadPairs> {
                                   const auto relation = askedRelation(context, at);
                                   if (!relation)
                                       return relation.error();
                                   const auto pairs = relationPairs(context, at, head, pairsShown, task);
                                   if (!pairs)
                                       return pairs.error();
                                   return HeadPairs{*relation, *pairs};
                               }),
                    [this, head](const Result<HeadPairs>& found) {
                        if (found)
                            return fillPairs(*found, head);
                        m_pairModel->clear();
                        setPlain(m_pairsTitle, text(found.error()));
                    });
}

QString RelationsPage::rankOf(HeadId head) const
{
    if (head != bestHead())
        return {};
    return m_hits->value(head) > 0 ? tr(" (the best head)") : tr(" (no head hits any pair)");
}

QString RelationsPage::hitsIn(const HeadPairs& found, HeadId head) const
{
    const std::vector<double> hits = headSeries(m_shown->find(relationPairsFolder + "hits"), head);
    const std::size_t relation = relationOf(head);
    QString words;
    if (relation < hits.size() && hits[relation] >= 0)
        words = tr("%1 of %2 pairs hit at k = %3").arg(hits[relation]).arg(found.relation.rows.size());
    else
        words = tr("%1 of the first %2 pairs hit at k = %3")
                    .arg(std::ranges::count_if(found.pairs, &RelationPair::isHit))
                    .arg(found.pairs.size());
    words = words.arg(found.relation.k);
    return found.pairs.size() < found.relation.rows.size()
        ? tr("%1; the first %2 are listed").arg(words).arg(found.pairs.size())
        : words;
}

void RelationsPage::fillPairs(const HeadPairs& found, HeadId head)
{
    m_pairsHead = head;
    const QString title =
        tr("<b>%1</b>%2, %3: %4")
            .arg(text(head), rankOf(head), text(found.relation.name).toHtmlEscaped(), hitsIn(found, head));
    const QString leftOut = leftOutLine(found.relation);
    setMarkup(m_pairsTitle,
              leftOut.isEmpty() ? title : title + QStringLiteral("<br>") + leftOut.toHtmlEscaped());
    m_pairsTitle->setToolTip(leftOutList(found.relation));
    m_pairModel->clear();
    m_pairModel->setHorizontalHeaderLabels(
        {tr("Source"), tr("Target"), tr("Hit"), tr("Rank of the target"), tr("Logit")});
    for (const RelationPair& pair : found.pairs)
        m_pairModel->appendRow({tokenCell(*workspace(), pair.source), tokenCell(*workspace(), pair.target),
                                wordCell(pair.isHit ? QStringLiteral("✓") : QStringLiteral("✗")),
                                countCell(pair.rank + 1), signedNumberCell(pair.value)});
    fitColumns(m_pairs);
}

} // namespace headwise::ui
