#include "ui/pages/vector_tables.h"

#include "ui/models/token_table_model.h"
#include "ui/pages/table_cells.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/table_figure.h"

#include <QLabel>
#include <QSplitter>
#include <QStandardItemModel>
#include <QVBoxLayout>

namespace headwise::ui {

namespace {

QStandardItem* endCell(bool ofTop, int rank)
{
    return wordCell(
        QStringLiteral("%1%2").arg(ofTop ? QStringLiteral("+") : QStringLiteral("−")).arg(rank + 1));
}

std::size_t longest(const std::vector<TokenEnds>& lists)
{
    std::size_t rows = 0;
    for (const TokenEnds& ends : lists)
        rows = std::max(rows, ends.top.size());
    return rows;
}

} // namespace

const DirectionSide& directionSideOf(CircuitKind kind, std::size_t side)
{
    return directionSides[(kind == CircuitKind::Ov ? 0U : 2U) + side];
}

bool CircuitDirections::areTogether(int index, int other) const
{
    const auto isThere = [this](int at) { return at >= 0 && at < std::ssize(blocks); };
    return isThere(index) && isThere(other)
        && blocks[static_cast<std::size_t>(index)] == blocks[static_cast<std::size_t>(other)];
}

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
        m_tables[side]->setSource(m_models[side], TokenTableModel::SortRole);
        m_tables[side]->setSortingEnabled(false); // Every column is a list of its own.
        m_tables[side]->setSelectionBehavior(QAbstractItemView::SelectColumns);
        m_tables[side]->setSelectionMode(QAbstractItemView::SingleSelection);
        m_tables[side]->setAccessibleName(side == 0 ? tr("Tokens of the first side")
                                                    : tr("Tokens of the second side"));
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
    const Contents contents{lists, m_workspace->direction().sign < 0 ? chosen : -1, m_workspace->token(),
                            m_withScores};
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
    m_headings[side]->setText(
        lists.sides[side].empty()
            ? tr("These directions span the null space: none of them means anything by itself.")
            : QStringLiteral("%1: %2").arg(text(shown.title), text(shown.formula)));
    m_models[side]->clear();
    if (lists.sides[side].empty())
        return;
    QStringList headers{tr("#")};
    for (std::size_t k = 0; k < lists.sides[side].size(); ++k) {
        const int index = lists.first + static_cast<int>(k);
        const bool isTogether =
            directions.areTogether(index, index - 1) || directions.areTogether(index, index + 1);
        const bool isTurned = index == m_chosen && m_workspace->direction().sign < 0;
        headers << QStringLiteral("%1%2%3  σ %4")
                       .arg(isTurned ? QStringLiteral("−") : QString())
                       .arg(index + 1)
                       .arg(isTogether ? QStringLiteral("*") : QString(), number(directions.svd.S(index)));
        if (m_withScores)
            headers << tr("score %1").arg(index + 1);
    }
    addRows(side, lists, true);
    addRows(side, lists, false);
    m_models[side]->setHorizontalHeaderLabels(headers);
    fitColumns(m_tables[side]);
}

void VectorTables::addRows(std::size_t side, const DirectionLists& lists, bool ofTop)
{
    const auto rows = static_cast<int>(longest(lists.sides[side]));
    for (int rank = 0; rank < rows; ++rank) {
        QList<QStandardItem*> row{endCell(ofTop, rank)};
        for (std::size_t k = 0; k < lists.sides[side].size(); ++k) {
            const TokenEnds& ends = lists.sides[side][k];
            const int sign =
                lists.first + static_cast<int>(k) == m_chosen ? m_workspace->direction().sign : 1;
            const std::vector<TokenEntry>& entries = (sign > 0) == ofTop ? ends.top : ends.bottom;
            const bool isThere = rank < std::ssize(entries);
            const TokenEntry entry = isThere ? entries[static_cast<std::size_t>(rank)] : TokenEntry{};
            row << (isThere ? tokenCell(*m_workspace, entry.id, entry.id == m_workspace->token())
                            : wordCell({}));
            row.last()->setToolTip(isThere ? exactNumber(sign * entry.value) : QString());
            if (m_withScores)
                row << (isThere ? signedNumberCell(sign * entry.value) : wordCell({}));
        }
        m_models[side]->appendRow(row);
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
