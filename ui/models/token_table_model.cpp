#include "ui/models/token_table_model.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <cmath>

namespace headwise::ui {

namespace {

/// The alignment of a column and its title.
QVariant tokenAlignment(int column)
{
    return QVariant::fromValue((column == TokenTableModel::TokenColumn ? Qt::AlignLeft : Qt::AlignRight)
                               | Qt::AlignVCenter);
}

} // namespace

TokenTableModel::TokenTableModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void TokenTableModel::setRows(Rows rows, double largest)
{
    beginResetModel();
    m_rows = std::move(rows);
    m_largest = largest;
    if (largest <= 0 && m_rows)
        for (const TokenRow& row : *m_rows) // skips NaN
            m_largest = std::fmax(m_largest, std::abs(row.value));
    endResetModel();
}

int TokenTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_rows ? 0 : static_cast<int>(m_rows->size());
}

int TokenTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(ColumnCount);
}

QVariant TokenTableModel::display(int row, int column) const
{
    const TokenRow& line = (*m_rows)[static_cast<std::size_t>(row)];
    switch (column) {
    case RankColumn: return row + 1;
    case TokenColumn: return line.shown;
    case IdColumn: return line.token;
    case ValueColumn: return signedNumber(line.value);
    case ZColumn: return line.zScore ? signedNumber(*line.zScore) : QString();
    case ShareColumn: return line.share ? percent(*line.share) : QString();
    case BiasedColumn: return line.biased ? signedNumber(*line.biased) : QString();
    }
    return {};
}

QVariant TokenTableModel::sortKey(int row, int column) const
{
    const TokenRow& line = (*m_rows)[static_cast<std::size_t>(row)];
    switch (column) {
    case ValueColumn: return line.value;
    case ZColumn: return line.zScore ? QVariant(*line.zScore) : QVariant();
    case ShareColumn: return line.share ? QVariant(*line.share) : QVariant();
    case BiasedColumn: return line.biased ? QVariant(*line.biased) : QVariant();
    default: return display(row, column);
    }
}

QVariant TokenTableModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const TokenRow& line = (*m_rows)[static_cast<std::size_t>(index.row())];
    const bool isToken = index.column() == TokenColumn;
    switch (role) {
    case Qt::DisplayRole: return display(index.row(), index.column());
    case SortRole: return sortKey(index.row(), index.column());
    case Qt::TextAlignmentRole: return tokenAlignment(index.column());
    case Qt::FontRole: return isToken ? tokenFont() : numberFont();
    case Qt::ToolTipRole: {
        QString words =
            QStringLiteral("%1  #%2  %3").arg(line.shown).arg(line.token).arg(exactNumber(line.value));
        if (!line.quoted.isEmpty())
            words += u'\n' + line.quoted;
        if (line.isGlitch)
            words += u'\n' + tr("Untrained token: its embedding is still close to the mean.");
        return words;
    }
    case IsMutedRole: return isToken && line.isGlitch;
    case IdRole: return line.token;
    case IsSpecialRole: return line.isSpecial;
    case IsSourceRole: return line.isSource;
    case IsTokenRole: return isToken;
    case HeatRole:
        return index.column() == ValueColumn && m_largest > 0 && std::isfinite(line.value)
            ? QVariant(line.value / m_largest)
            : QVariant();
    }
    return {};
}

QVariant TokenTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation == Qt::Horizontal && role == Qt::ToolTipRole) {
        if (section == ZColumn)
            return tr("Standard deviations from the mean of the row, over all tokens");
        if (section == ShareColumn)
            return tr("The entry's square divided by the row's squared norm");
        if (section == BiasedColumn)
            return tr(
                "(x W_Q + b_Q) (y W_K + b_K)ᵀ in place of x W_Q (y W_K)ᵀ; for the direct path x W_U + b_U");
    }
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole)
        return tokenAlignment(section);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    switch (section) {
    case RankColumn: return tr("#");
    case TokenColumn: return tr("Token");
    case IdColumn: return tr("Id");
    case ValueColumn: return tr("Value");
    case ZColumn: return tr("z");
    case ShareColumn: return tr("Share");
    case BiasedColumn: return tr("With biases");
    }
    return {};
}

} // namespace headwise::ui
