#include "ui/models/pair_table_model.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/head_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise::ui {

PairTableModel::PairTableModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void PairTableModel::setArrays(std::shared_ptr<const ResultSet> results,
                               std::vector<const ResultArray*> arrays)
{
    beginResetModel();
    m_results = std::move(results);
    m_columns.clear();
    m_rows.clear();
    m_all = 0;
    std::erase_if(arrays, [](const ResultArray* array) { return array->shape.size() != 4; });
    if (!arrays.empty()) {
        m_headsOfLayer = arrays.front()->shape[1];
        m_heads = arrays.front()->shape[0] * m_headsOfLayer;
        m_columns = {{Kind::From, nullptr}, {Kind::To, nullptr}};
        for (const ResultArray* array : arrays) {
            m_columns.push_back({Kind::Value, array});
            if (array == arrays.front() && array->nullMean)
                m_columns.push_back({Kind::Null, array});
        }
        const ArrayPart first = wholeArray(*arrays.front());
        for (std::size_t place = 0; place < first.size(); ++place)
            if (std::isfinite(first.at(place)) && place / m_heads != place % m_heads)
                m_rows.push_back(place);
        m_all = m_rows.size();
        const auto end = m_rows.begin() + static_cast<std::ptrdiff_t>(std::min(mostRows, m_rows.size()));
        std::partial_sort(m_rows.begin(), end, m_rows.end(), [&](std::size_t a, std::size_t b) {
            const double left = std::abs(first.at(a)), right = std::abs(first.at(b));
            return left != right ? left > right : a < b;
        });
        m_rows.erase(end, m_rows.end());
    }
    endResetModel();
}

std::pair<HeadId, HeadId> PairTableModel::pairAt(int row) const
{
    const auto head = [this](std::size_t index) {
        return HeadId{static_cast<int>(index / m_headsOfLayer), static_cast<int>(index % m_headsOfLayer)};
    };
    const std::size_t place = m_rows[static_cast<std::size_t>(row)];
    return {head(place / m_heads), head(place % m_heads)};
}

int PairTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int PairTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

double PairTableModel::value(const Column& column, int row) const
{
    return column.kind == Kind::Null ? *column.array->nullMean
                                     : wholeArray(*column.array).at(m_rows[static_cast<std::size_t>(row)]);
}

QVariant PairTableModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Column& column = m_columns[static_cast<std::size_t>(index.column())];
    if (role == TokenTableModel::HeadsRole) {
        const auto [earlier, later] = pairAt(index.row());
        return QVariant::fromValue(QList<HeadId>{earlier, later});
    }
    const bool isHead = column.kind == Kind::From || column.kind == Kind::To;
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(isHead ? Qt::AlignLeft | Qt::AlignVCenter
                                          : Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::FontRole)
        return numberFont();
    if (isHead) {
        const auto [from, to] = pairAt(index.row());
        const HeadId head = column.kind == Kind::From ? from : to;
        if (role == Qt::DisplayRole || role == Qt::ToolTipRole)
            return text(head);
        return role == ArrayTableModel::SortRole
            ? QVariant((static_cast<qlonglong>(head.layer) << 32) + head.head)
            : QVariant();
    }
    const double number = value(column, index.row());
    switch (role) {
    case Qt::DisplayRole: return std::isnan(number) ? QStringLiteral("–") : ui::number(number);
    case Qt::ToolTipRole: return exactNumber(number);
    case ArrayTableModel::SortRole:
        return std::isnan(number) ? -std::numeric_limits<double>::infinity() : number;
    default: return {};
    }
}

QVariant PairTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
        return {};
    const Column& column = m_columns[static_cast<std::size_t>(section)];
    if (role == Qt::ToolTipRole && column.array && column.kind == Kind::Value)
        return text(column.array->definition);
    if (role != Qt::DisplayRole)
        return {};
    switch (column.kind) {
    case Kind::From: return tr("earlier head");
    case Kind::To: return tr("later head");
    case Kind::Null: return tr("null");
    default: return metricTitle(*column.array);
    }
}

} // namespace headwise::ui
