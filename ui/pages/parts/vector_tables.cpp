#include "ui/pages/parts/vector_tables.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QLabel>
#include <QSplitter>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr int lowestTable = 140; // px: a title and four rows

QStandardItem* endCell(bool ofTop, int rank)
{
    return wordCell(
        QStringLiteral("%1%2").arg(ofTop ? QStringLiteral("+") : QStringLiteral("−")).arg(rank + 1));
}

double largestScore(const std::vector<TokenEnds>& lists)
{
    double largest = 0;
    for (const TokenEnds& ends : lists)
        for (const auto* end : {&ends.top, &ends.bottom})
            for (const TokenEntry& entry : *end)
                largest = std::fmax(largest, std::abs(entry.value));
    return largest;
}

std::size_t longest(const std::vector<TokenEnds>& lists)
{
    std::size_t rows = 0;
    for (const TokenEnds& ends : lists)
        rows = std::max(rows, ends.top.size());
    return rows;
}

} // namespace

VectorTables::VectorTables(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
{
    auto* box = new QSplitter(Qt::Vertical, this);
    box->setChildrenCollapsible(false);
    for (std::size_t side = 0; side < m_tables.size(); ++side) {
        auto* part = new QWidget(box);
        m_headings[side] = new QLabel(part);
        makeSecondary(m_headings[side]);
        m_models[side] = new QStandardItemModel(this);
        m_tables[side] = new TableFigure(part);
        m_tables[side]->setMinimumHeight(lowestTable);
        m_tables[side]->setSource(m_models[side], TokenTableModel::SortRole);
        m_tables[side]->setSortingEnabled(false); // Every column is a separate list.
        m_tables[side]->setSelectionBehavior(QAbstractItemView::SelectColumns);
        m_tables[side]->setSelectionMode(QAbstractItemView::SingleSelection);
        m_tables[side]->setAccessibleName(side == 0 ? tr("Tokens, first side") : tr("Tokens, second side"));
        auto* column = new QVBoxLayout(part);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(4);
        column->addWidget(m_headings[side]);
        column->addWidget(m_tables[side], 1);
        box->addWidget(part);
        connect(m_tables[side], &QAbstractItemView::clicked, this, [this](const QModelIndex& index) {
            if (index.column() > 0)
                emit directionClicked(m_first + (index.column() - 1) / step());
        });
    }
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(box);
}

void VectorTables::setScoresShown(bool on)
{
    m_withScores = on;
}

void VectorTables::setEachShown(bool on)
{
    m_withEach = on;
}

bool VectorTables::isEmpty() const
{
    return m_models.front()->rowCount() == 0;
}

void VectorTables::clear(const QString& message)
{
    m_contents = {};
    for (std::size_t side = 0; side < m_models.size(); ++side) {
        m_models[side]->clear();
        m_headings[side]->setText(side == 0 ? message : QString());
    }
}

void VectorTables::show(const CircuitDirections& directions,
                        const std::shared_ptr<const DirectionLists>& lists, int chosen)
{
    m_first = lists->first;
    m_chosen = chosen;
    const Contents contents{lists, m_workspace->selection()->direction().sign < 0 ? chosen : -1,
                            m_workspace->selection()->token(), m_withScores, m_withEach};
    if (contents != m_contents) {
        m_contents = contents;
        for (std::size_t side = 0; side < m_tables.size(); ++side)
            fill(side, directions, *lists);
    }
    mark();
}

void VectorTables::fill(std::size_t side, const CircuitDirections& directions, const DirectionLists& lists)
{
    const DirectionSide& shown = directionSideOf(directions.kind, side);
    m_headings[side]->setText(lists.sides[side].empty()
                                  ? tr("These directions span the null space; no single one is meaningful.")
                                  : QStringLiteral("%1: %2").arg(text(shown.title), text(shown.formula)));
    m_models[side]->clear();
    if (lists.sides[side].empty())
        return;
    m_largest = largestScore(lists.sides[side]);
    QStringList headers{tr("#")};
    for (std::size_t k = 0; k < lists.sides[side].size(); ++k) {
        const int index = lists.first + static_cast<int>(k);
        headers << headerOf(directions, index);
        if (m_withScores)
            headers << (showsSpan(lists, k) ? tr("length %1").arg(index + 1) : tr("score %1").arg(index + 1));
    }
    addRows(side, lists, true);
    addRows(side, lists, false);
    m_models[side]->setHorizontalHeaderLabels(headers);
    for (std::size_t k = 0; k < lists.sides[side].size(); ++k)
        if (lists.hasSpan(k))
            m_models[side]
                ->horizontalHeaderItem(1 + static_cast<int>(k) * step())
                ->setToolTip(tr(
                    "These directions differ by less than 1 % in σ, so only their span is meaningful. Its tokens are ranked by the norm of their row of E U_block."));
    fitColumns(m_tables[side]);
}

bool VectorTables::showsSpan(const DirectionLists& lists, std::size_t k) const
{
    return !m_withEach && lists.hasSpan(k);
}

QString VectorTables::headerOf(const CircuitDirections& directions, int index) const
{
    const QString sigma = number(directions.svd.S(index));
    const CircuitDirections::Block block = directions.blockOf(index);
    const bool hasSign = block.isAlone() || m_withEach;
    const bool isTurned = hasSign && index == m_chosen && m_workspace->selection()->direction().sign < 0;
    const QString sign = isTurned ? QStringLiteral("−") : QString();
    QString title = block.isAlone() ? QStringLiteral("%1%2  σ %3").arg(sign).arg(index + 1).arg(sigma)
                                    : tr("%1%2 of %3–%4  σ %5")
                                          .arg(sign)
                                          .arg(index + 1)
                                          .arg(block.first + 1)
                                          .arg(block.last + 1)
                                          .arg(sigma);
    return title.replace(u' ', QChar::Nbsp); // one line, which leaves a row more to the tokens
}

void VectorTables::addRows(std::size_t side, const DirectionLists& lists, bool ofTop)
{
    const auto rows = static_cast<int>(longest(lists.sides[side]));
    for (int rank = 0; rank < rows; ++rank) {
        QList<QStandardItem*> row{endCell(ofTop, rank)};
        for (std::size_t k = 0; k < lists.sides[side].size(); ++k)
            addCells(row, side, lists, {k, rank, ofTop});
        m_models[side]->appendRow(row);
    }
}

void VectorTables::addCells(QList<QStandardItem*>& row, std::size_t side, const DirectionLists& lists,
                            const Place& place) const
{
    const bool isSpan = showsSpan(lists, place.column);
    const bool isGrey = m_withEach && lists.hasSpan(place.column);
    const int direction = lists.first + static_cast<int>(place.column);
    const int sign = direction == m_chosen && !isSpan ? m_workspace->selection()->direction().sign : 1;
    const TokenEnds& ends = lists.sides[side][place.column];
    const std::vector<TokenEntry> none;
    const std::vector<TokenEntry>& entries = !isSpan ? ((sign > 0) == place.ofTop ? ends.top : ends.bottom)
        : place.ofTop                                ? lists.spans[side][place.column]
                                                     : none; // a length has only one end
    if (place.rank >= std::ssize(entries)) {
        for (int i = 0; i < step(); ++i)
            row << wordCell({});
        return;
    }
    const TokenEntry& entry = entries[static_cast<std::size_t>(place.rank)];
    const double score = sign * entry.value;
    const qsizetype first = row.size();
    row << tokenCell(*m_workspace, entry.id, entry.id == m_workspace->selection()->token());
    row.last()->setToolTip(exactNumber(score));
    if (m_withScores)
        row << (isSpan ? numberCell(score) : signedNumberCell(score));
    for (qsizetype at = first; at < row.size(); ++at) {
        row[at]->setData(isGrey, TokenTableModel::IsMutedRole);
        if (!isGrey && m_largest > 0) // a length has no sign and no colour
            row[at]->setData(isSpan ? 0.0 : score / m_largest, TokenTableModel::HeatRole);
    }
}

void VectorTables::mark()
{
    for (TableFigure* table : m_tables) {
        const QModelIndex at = table->model()->index(0, 1 + (m_chosen - m_first) * step());
        if (!at.isValid())
            continue;
        table->selectionModel()->select(at,
                                        QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Columns);
        table->scrollTo(at, QAbstractItemView::EnsureVisible);
    }
}

} // namespace headwise::ui
