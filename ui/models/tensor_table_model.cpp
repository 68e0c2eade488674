#include "ui/models/tensor_table_model.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <cmath>
#include <limits>

namespace headwise::ui {

namespace {

bool isText(int column)
{
    return column == TensorTableModel::NameColumn || column == TensorTableModel::ShapeColumn
        || column == TensorTableModel::DtypeColumn || column == TensorTableModel::UseColumn;
}

bool isCount(int column)
{
    return column == TensorTableModel::NanColumn || column == TensorTableModel::InfinityColumn;
}

double numberOf(const TensorStatistics& statistics, int column)
{
    switch (column) {
    case TensorTableModel::MinimumColumn: return statistics.minimum;
    case TensorTableModel::MaximumColumn: return statistics.maximum;
    case TensorTableModel::MeanColumn: return statistics.mean;
    case TensorTableModel::DeviationColumn: return statistics.deviation;
    case TensorTableModel::NanColumn: return static_cast<double>(statistics.nanCount);
    default: return static_cast<double>(statistics.infinityCount);
    }
}

} // namespace

TensorTableModel::TensorTableModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void TensorTableModel::setWeights(std::shared_ptr<const ModelWeights> weights)
{
    if (!weights)
        return reset(nullptr, {});
    LoadReport report = loadReport(*weights);
    reset({weights, &weights->file()}, std::move(report));
}

void TensorTableModel::setFile(std::shared_ptr<const WeightMap> file)
{
    reset(std::move(file), {});
}

void TensorTableModel::reset(std::shared_ptr<const WeightMap> file, LoadReport report)
{
    beginResetModel();
    m_file = std::move(file);
    m_report = std::move(report);
    m_rows.assign(m_file ? m_file->tensors().size() : 0, {});
    endResetModel();
}

void TensorTableModel::setStatistics(int tensor, const std::optional<TensorStatistics>& statistics)
{
    m_rows[static_cast<std::size_t>(tensor)] = {true, statistics};
    emit dataChanged(index(tensor, MinimumColumn), index(tensor, InfinityColumn));
}

QString TensorTableModel::useText(int tensor) const
{
    if (m_report.uses.empty())
        return tr("unknown: no model was opened");
    const TensorUse& use = m_report.uses[static_cast<std::size_t>(tensor)];
    return use.use.empty() ? tr("ignored: %1").arg(text(use.whyIgnored)) : text(use.use);
}

int TensorTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int TensorTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(ColumnCount);
}

std::optional<double> TensorTableModel::numberAt(int tensor, int column) const
{
    const StoredTensor& stored = m_file->tensors()[static_cast<std::size_t>(tensor)];
    if (column == BytesColumn)
        return static_cast<double>(stored.byteCount);
    if (column == ShapeColumn)
        return static_cast<double>(elementCount(stored)); // the larger, the later
    const auto& found = statistics(tensor);
    if (isText(column) || !found)
        return std::nullopt;
    return numberOf(*found, column);
}

QString TensorTableModel::shown(int tensor, int column) const
{
    const StoredTensor& stored = m_file->tensors()[static_cast<std::size_t>(tensor)];
    switch (column) {
    case NameColumn: return text(stored.name);
    case ShapeColumn: return text(shapeText(stored.shape));
    case DtypeColumn: return text(dtypeName(stored.dtype));
    case BytesColumn: return count(static_cast<qint64>(stored.byteCount));
    case UseColumn: return useText(tensor);
    default: break;
    }
    if (!isKnown(tensor))
        return QStringLiteral("…");
    const std::optional<double> value = numberAt(tensor, column);
    if (!value || std::isnan(*value))
        return QStringLiteral("–");
    return isCount(column) ? count(static_cast<qint64>(*value)) : number(*value);
}

QString TensorTableModel::toolTip(int tensor, int column) const
{
    if (isText(column) || column == BytesColumn)
        return shown(tensor, column);
    if (!isKnown(tensor))
        return tr("Not read yet");
    const std::optional<double> value = numberAt(tensor, column);
    if (!value)
        return tr("Headwise cannot read %1 data yet").arg(shown(tensor, DtypeColumn));
    return std::isnan(*value) ? tr("All values are NaN or infinite") : exactNumber(*value);
}

QVariant TensorTableModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const int tensor = index.row(), column = index.column();
    switch (role) {
    case Qt::DisplayRole: return shown(tensor, column);
    case Qt::ToolTipRole: return toolTip(tensor, column);
    case Qt::TextAlignmentRole:
        return QVariant::fromValue((isText(column) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::FontRole: {
        QFont font = numberFont();
        // NaN and infinite values are a finding; bold type marks them without colour.
        font.setBold(isCount(column) && numberAt(tensor, column).value_or(0) > 0);
        return font;
    }
    case SortRole:
        if (column == NameColumn || column == DtypeColumn || column == UseColumn)
            return shown(tensor, column);
        if (const auto value = numberAt(tensor, column); value && !std::isnan(*value))
            return *value;
        return -std::numeric_limits<double>::infinity();
    default: return {};
    }
}

QVariant TensorTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    switch (section) {
    case NameColumn: return tr("Tensor");
    case ShapeColumn: return tr("Shape");
    case DtypeColumn: return tr("Type");
    case BytesColumn: return tr("Bytes");
    case MinimumColumn: return tr("Min");
    case MaximumColumn: return tr("Max");
    case MeanColumn: return tr("Mean");
    case DeviationColumn: return tr("Std");
    case NanColumn: return tr("NaN");
    case InfinityColumn: return tr("Inf");
    case UseColumn: return tr("Used as");
    }
    return {};
}

} // namespace headwise::ui
