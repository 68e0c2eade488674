#include "ui/models/array_table_model.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/head_metrics.h"

#include <QPointF>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace headwise::ui {

namespace {

constexpr std::size_t mostColumns = 64; // per array

} // namespace

ArrayTableModel::ArrayTableModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void ArrayTableModel::clear()
{
    beginResetModel();
    m_results.reset();
    m_columns.clear();
    m_rows = 0;
    m_headsInLayer = 0;
    m_rowTokens = nullptr;
    endResetModel();
}

void ArrayTableModel::setParts(std::shared_ptr<const ResultSet> results, const std::vector<ArrayPart>& parts,
                               const PictureContext& context)
{
    clear();
    if (parts.empty())
        return;
    beginResetModel();
    m_results = std::move(results);
    m_tokenText = context.tokenText;
    const auto isOfHeads = [&](const ArrayPart& part) {
        return part.shape.size() == 2 && part.shape == part.array->shape
            && headAxes(*part.array, context.card) == HeadAxes::OneHead;
    };
    if (std::ranges::all_of(parts, isOfHeads))
        m_headsInLayer = context.card.nHeads;
    for (const ArrayPart& part : parts) {
        const std::size_t rows = m_headsInLayer > 0 ? part.size() : part.shape.empty() ? 1 : part.shape[0];
        m_rows = std::max(m_rows, static_cast<int>(rows));
    }
    addRowNames(parts.front(), context);
    // Lists of one shape stand together: each id before its value.
    for (std::size_t first = 0; first < parts.size();) {
        std::size_t end = first + 1;
        while (end < parts.size() && parts[end].shape == parts[first].shape)
            ++end;
        addColumns({parts.begin() + static_cast<std::ptrdiff_t>(first),
                    parts.begin() + static_cast<std::ptrdiff_t>(end)},
                   context, parts.size() == 1);
        first = end;
    }
    numberRowsOfTokens();
    pairHeads();
    chooseForms();
    measureBars();
    measureHeat();
    endResetModel();
}

void ArrayTableModel::addRowNames(const ArrayPart& part, const PictureContext& context)
{
    Column names;
    names.title = text(part.shape.empty() ? std::string() : part.axis(0).name());
    names.kind = Kind::Name;
    names.firstRow = !part.shape.empty() && part.axis(0) == Axis::Rank ? 1 : 0;
    if (m_headsInLayer > 0) {
        names.title = tr("head");
        names.name = [heads = m_headsInLayer](int row) { return text(HeadId{row / heads, row % heads}); };
    } else if (!part.shape.empty()) {
        m_rowTokens = tokensAlong(part, 0, context);
        names.name = namesAlong(part, 0, context);
        if (m_rowTokens)
            names.kind = Kind::Token;
    }
    m_columns.push_back(std::move(names));
}

void ArrayTableModel::addColumns(const std::vector<ArrayPart>& alike, const PictureContext& context,
                                 bool alone)
{
    const ArrayPart& first = alike.front();
    const bool isList = m_headsInLayer == 0 && first.shape.size() >= 2;
    const std::size_t stride = isList ? entryOf(first, 0).size() : 1;
    const auto names = isList && first.shape.size() == 2 ? namesAlong(first, 1, context) : nullptr;
    for (std::size_t place = 0; place < std::min(stride, mostColumns); ++place) {
        for (const ArrayPart& part : alike) {
            const bool isWhole = std::holds_alternative<std::vector<std::int32_t>>(part.array->values);
            const QString name = !isList ? QString()
                : names                  ? names(static_cast<int>(place))
                                         : QString::number(static_cast<int>(place) + 1);
            Column column;
            column.title = metricTitle(*part.array);
            if (isList)
                column.title = alone ? name : QStringLiteral("%1 %2").arg(column.title, name);
            column.definition = text(part.array->definition);
            column.kind = isTokenIds(*part.array)       ? Kind::Token
                : isWhole && part.array->unit == "head" ? Kind::Head
                : isWhole                               ? Kind::Whole
                                                        : Kind::Number;
            column.headsInLayer = std::max(1, context.card.nHeads);
            column.part = part;
            column.place = place;
            column.stride = stride;
            m_columns.push_back(std::move(column));
        }
    }
}

void ArrayTableModel::numberRowsOfTokens()
{
    Column& names = m_columns.front();
    const auto holdsThem = [this](const Column& column) {
        if (!column.part.array || column.kind != Kind::Token)
            return false;
        for (int row = 0; row < m_rows; ++row)
            if (value(column, row) != m_rowTokens(row))
                return false;
        return true;
    };
    if (names.kind != Kind::Token || std::none_of(m_columns.begin(), m_columns.end(), holdsThem))
        return;
    names.kind = Kind::Name;
    names.name = nullptr;
    names.firstRow = 1;
}

void ArrayTableModel::pairHeads()
{
    constexpr std::string_view suffix = "layer";
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        const Column& layer = m_columns[i];
        if (layer.kind != Kind::Whole || !layer.part.array->path.ends_with(suffix))
            continue;
        std::string path = layer.part.array->path;
        path.replace(path.size() - suffix.size(), suffix.size(), "head");
        const auto head = std::find_if(m_columns.begin(), m_columns.end(), [&](const Column& column) {
            return column.kind == Kind::Whole && column.part.array->path == path
                && column.part.shape == layer.part.shape && column.place == layer.place;
        });
        if (head == m_columns.end())
            continue;
        head->kind = Kind::Head;
        head->layers = layer.part;
        m_columns.erase(m_columns.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    // Rows that show heads need no number beside them.
    const auto isPair = [](const Column& column) { return column.layers.array != nullptr; };
    const bool hasHeads = std::ranges::any_of(m_columns, isPair);
    if (hasHeads && m_columns.front().kind == Kind::Name && !m_columns.front().name)
        m_columns.erase(m_columns.begin());
}

void ArrayTableModel::chooseForms()
{
    constexpr double mostDigits = 1000; // from here on number() would drop digits of a count
    for (Column& column : m_columns) {
        if (column.kind != Kind::Number)
            continue;
        const std::string& unit = column.part.array->unit;
        double largest = 0;
        bool isWhole = true;
        for (int row = 0; row < m_rows; ++row)
            if (const double number = value(column, row); std::isfinite(number)) {
                largest = std::max(largest, std::abs(number));
                isWhole = isWhole && number == std::round(number);
            }
        column.form = unit == "yes or no"                        ? Form::YesNo
            : unit == "fraction"                                 ? Form::Percent
            : isWhole && largest >= mostDigits && largest < 1e15 ? Form::Count
                                                                 : Form::Digits;
    }
}

void ArrayTableModel::measureBars()
{
    for (Column& column : m_columns) {
        if (column.kind != Kind::Number || !column.part.array->range)
            continue;
        for (int row = 0; row < m_rows; ++row) // skips NaN
            column.longestBar = std::fmax(column.longestBar, std::abs(value(column, row)));
    }
}

bool ArrayTableModel::isOfTokens() const
{
    return std::ranges::find(m_columns, Kind::Token, &Column::kind) != m_columns.end();
}

void ArrayTableModel::measureHeat()
{
    if (!isOfTokens())
        return;
    std::map<const ResultArray*, double> hottest;
    const auto isColoured = [](const Column& column) {
        return column.kind == Kind::Number && !column.part.array->range;
    };
    for (const Column& column : m_columns)
        if (isColoured(column))
            for (int row = 0; row < m_rows; ++row)
                if (const double number = std::abs(value(column, row)); std::isfinite(number))
                    hottest[column.part.array] = std::max(hottest[column.part.array], number);
    for (Column& column : m_columns)
        if (isColoured(column))
            column.hottest = hottest[column.part.array];
}

std::optional<HeadId> ArrayTableModel::headIn(const Column& column, int row) const
{
    const std::size_t at = static_cast<std::size_t>(row) * column.stride + column.place;
    if (column.kind != Kind::Head || at >= column.part.size())
        return std::nullopt;
    const int number = static_cast<int>(column.part.at(at));
    const HeadId head = column.layers.array
        ? HeadId{static_cast<int>(column.layers.at(at)), number}
        : HeadId{number / column.headsInLayer, number % column.headsInLayer};
    return head.layer >= 0 && head.head >= 0 ? std::optional(head) : std::nullopt;
}

double ArrayTableModel::value(const Column& column, int row) const
{
    const std::size_t at = static_cast<std::size_t>(row) * column.stride + column.place;
    return at < column.part.size() ? column.part.at(at) : std::numeric_limits<double>::quiet_NaN();
}

std::optional<int> ArrayTableModel::tokenAt(int row) const
{
    if (m_rowTokens)
        return m_rowTokens(row);
    for (const Column& column : m_columns) {
        if (column.kind != Kind::Token)
            continue;
        const double id = value(column, row);
        return id >= 0 ? std::optional(static_cast<int>(id)) : std::nullopt;
    }
    return std::nullopt;
}

std::vector<HeadId> ArrayTableModel::headsAt(int row) const
{
    if (m_headsInLayer > 0)
        return {HeadId{row / m_headsInLayer, row % m_headsInLayer}};
    std::vector<HeadId> heads;
    for (const Column& column : m_columns)
        if (const auto head = column.layers.array ? headIn(column, row) : std::nullopt)
            heads.push_back(*head);
    return heads;
}

int ArrayTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : m_rows;
}

int ArrayTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant ArrayTableModel::tokenId(const Column& column, int row) const
{
    if (column.kind != Kind::Token)
        return {};
    const double id = column.part.array ? value(column, row) : m_rowTokens(row);
    return id >= 0 ? QVariant(static_cast<int>(id)) : QVariant();
}

QVariant ArrayTableModel::display(const Column& column, int row) const
{
    if (!column.part.array)
        return column.name ? QVariant(column.name(row)) : QVariant(row + column.firstRow);
    if (column.kind == Kind::Head) {
        const auto head = headIn(column, row);
        return head ? text(*head) : QStringLiteral("–");
    }
    const double number = value(column, row);
    if (std::isnan(number) || (column.kind == Kind::Token && number < 0))
        return QStringLiteral("–");
    if (column.kind == Kind::Token)
        return m_tokenText(static_cast<int>(number));
    if (column.kind == Kind::Whole)
        return static_cast<int>(number);
    switch (column.form) {
    case Form::YesNo: return number != 0 ? tr("yes") : tr("no");
    case Form::Percent: return percent(number);
    case Form::Count: return count(static_cast<qint64>(number));
    case Form::Digits: break;
    }
    return ui::number(number);
}

QVariant ArrayTableModel::sortKey(const Column& column, int row) const
{
    if (!column.part.array)
        return row;
    if (column.kind == Kind::Head) {
        const HeadId head = headIn(column, row).value_or(HeadId{-1, 0});
        return (static_cast<qlonglong>(head.layer) << 32) + head.head;
    }
    const double number = value(column, row);
    return std::isnan(number) ? -std::numeric_limits<double>::infinity() : number;
}

QVariant ArrayTableModel::bar(const Column& column, int row) const
{
    if (column.longestBar <= 0)
        return {};
    const double number = value(column, row);
    if (!std::isfinite(number))
        return {};
    // Bars of signed numbers start in the middle.
    const bool bothSigns = column.part.array->range->first < 0;
    const double zero = bothSigns ? 0.5 : 0;
    const double end = zero + (1 - zero) * number / column.longestBar;
    return QPointF(std::min(zero, end), std::max(zero, end));
}

QVariant ArrayTableModel::heat(const Column& column, int row) const
{
    const double number = column.hottest > 0 ? value(column, row) : std::nan("");
    return std::isfinite(number) ? QVariant(number / column.hottest) : QVariant();
}

int ArrayTableModel::sharersAt(int row) const
{
    for (const Column& column : m_columns)
        if (column.kind == Kind::Whole && column.part.array->path.ends_with("_block_size"))
            return std::max(1, static_cast<int>(value(column, row)));
    return 1;
}

bool ArrayTableModel::isOfBlock(const Column& column, int row) const
{
    return column.part.array && column.part.shape.size() > 1 && sharersAt(row) > 1;
}

QVariant ArrayTableModel::toolTip(const Column& column, int row) const
{
    const QString own =
        column.kind == Kind::Number ? exactNumber(value(column, row)) : display(column, row).toString();
    if (!isOfBlock(column, row))
        return own;
    return tr("%1\nOne of %2 directions with nearly the same singular value: only their span is meaningful.")
        .arg(own)
        .arg(sharersAt(row));
}

QVariant ArrayTableModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Column& column = m_columns[static_cast<std::size_t>(index.column())];
    const bool isText = column.kind == Kind::Token || column.kind == Kind::Head || column.name;
    switch (role) {
    case Qt::DisplayRole: return display(column, index.row());
    case SortRole: return sortKey(column, index.row());
    case BarRole: return bar(column, index.row());
    case HeatRole: return isOfBlock(column, index.row()) ? QVariant() : heat(column, index.row());
    case IsMutedRole: return isOfBlock(column, index.row());
    case Qt::ToolTipRole: return toolTip(column, index.row());
    case Qt::TextAlignmentRole:
        return QVariant::fromValue((isText ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::FontRole: return column.kind == Kind::Token ? tokenFont() : numberFont();
    case IsTokenRole: return column.kind == Kind::Token;
    case IdRole: return tokenId(column, index.row());
    case TokenTableModel::HeadsRole: {
        const std::vector<HeadId> heads = headsAt(index.row());
        return QVariant::fromValue(QList<HeadId>(heads.begin(), heads.end()));
    }
    default: return {};
    }
}

QVariant ArrayTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
        return {};
    const Column& column = m_columns[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole)
        return column.title;
    return role == Qt::ToolTipRole && !column.definition.isEmpty() ? QVariant(column.definition) : QVariant();
}

} // namespace headwise::ui
