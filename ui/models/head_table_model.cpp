#include "ui/models/head_table_model.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/models/token_table_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise::ui {

HeadTableModel::HeadTableModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void HeadTableModel::setScores(Scores scores, const QString& title)
{
    beginResetModel();
    m_scores = std::move(scores);
    m_title = title;
    const auto isKnown = [](const HeadScore& score) { return std::isfinite(score.z); };
    m_hasZ = m_scores && std::any_of(m_scores->begin(), m_scores->end(), isKnown);
    endResetModel();
}

HeadId HeadTableModel::headAt(int row) const
{
    return (*m_scores)[static_cast<std::size_t>(row)].head;
}

int HeadTableModel::rowOf(HeadId head) const
{
    if (!m_scores)
        return -1;
    const auto found = std::find_if(m_scores->begin(), m_scores->end(),
                                    [head](const HeadScore& score) { return score.head == head; });
    return found == m_scores->end() ? -1 : static_cast<int>(found - m_scores->begin());
}

int HeadTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_scores ? 0 : static_cast<int>(m_scores->size());
}

int HeadTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : m_hasZ ? int{ColumnCount} : int{ZColumn};
}

QVariant HeadTableModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const HeadScore& score = (*m_scores)[static_cast<std::size_t>(index.row())];
    const bool isHead = index.column() == HeadColumn;
    const double value = index.column() == ZColumn ? score.z : score.value;
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(isHead ? Qt::AlignLeft | Qt::AlignVCenter
                                          : Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::FontRole)
        return numberFont();
    if (role == Qt::ToolTipRole)
        return isHead ? text(score.head) : exactNumber(value);
    if (role == TokenTableModel::HeadsRole)
        return QVariant::fromValue(QList<HeadId>{score.head});
    if (role == SortRole) {
        if (isHead)
            return score.head.layer * 100000 + score.head.head;
        return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
    }
    if (role != Qt::DisplayRole)
        return {};
    if (isHead)
        return text(score.head);
    return std::isnan(value) ? QStringLiteral("–") : number(value);
}

QVariant HeadTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole))
        return {};
    if (role == Qt::ToolTipRole && section == ZColumn)
        return tr("Distance from the null, in standard deviations");
    switch (section) {
    case HeadColumn: return tr("Head");
    case ValueColumn: return m_title;
    case ZColumn: return tr("z");
    }
    return {};
}

} // namespace headwise::ui
