#include "ui/widgets/list_blocks.h"

#include "ui/figures/figure_export_title.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/table_figure.h"

#include <QAbstractItemModel>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace headwise::ui {

namespace {

constexpr int mostListTitleLines = 4;

/// Returns how many entries are shown if some are wanted: more only fill the last line.
int filled(const ListTable& table, int wanted, int stops)
{
    return std::min(table.entries(), (wanted + stops - 1) / stops * stops);
}

/// Chooses the fewest stops of those that make the lowest rows and are exceeded by the fewest entries.
ListLines fewestLines(const ListTable& table, std::pair<int, int> lists, double width, int wanted)
{
    ListLines best{width, 1};
    auto least = std::tuple(std::numeric_limits<int>::max(), std::ptrdiff_t{0});
    for (int stops = 1; stops <= table.entries(); ++stops) {
        const ListLines tried{width, stops};
        int highest = 0;
        std::ptrdiff_t wide = 0;
        for (int row = 0; row < table.measured; ++row)
            for (int list = lists.first; list < lists.first + lists.second; ++list) {
                const auto spots = tried.spots(table, row, list, filled(table, wanted, stops));
                highest = std::max(highest, ListLines::count(spots));
                wide += std::ranges::count_if(
                    spots, [](const ListLines::Spot& spot) { return spot.span > 1 && spot.lines == 1; });
            }
        if (const auto cost = std::tuple(highest, wide); cost < least) {
            least = cost;
            best = tried;
        }
    }
    return best;
}

/// Returns the width of the longest word.
double longestWord(const QString& words, const QFontMetricsF& ruler)
{
    double width = 0;
    for (const QString& word : words.split(u' '))
        width = std::max(width, ruler.horizontalAdvance(word) + 1);
    return width;
}

/// Chooses the place of lists of one block: beside the names if that takes no more lines.
ListBlock bestBlock(const ListTable& table, std::pair<int, int> part, double room, int wanted)
{
    ListBlock beside(table, part, ListBlock::Place::Beside, room, wanted);
    if (part.second > 1)
        return beside;
    ListBlock below(table, part, ListBlock::Place::Below, room, wanted);
    const bool isShorter = below.rowsHeight(table.measured) < beside.rowsHeight(table.measured);
    return !beside.isWhole() || isShorter ? below : beside;
}

} // namespace

ListTable::ListTable(const QAbstractItemModel& rows, const ListTitles& above, const FigureStyle& style,
                     const QPaintDevice* paper, double height)
    : model(rows)
    , titles(above)
    , device(paper)
    , words(figureFont(style))
    , tokens(figureTokenFont(style))
    , ruler(words, paper)
    , tokenRuler(tokens, paper)
    , measured(std::clamp(static_cast<int>(height / step()) + 1, 0, model.rowCount()))
{
    for (int row = 0; row < measured; ++row)
        for (int entry = 0; entry < lists() * entries(); ++entry) {
            const int at = 1 + titles.facts + numbers() * entry;
            const QString token = textAt(row, at);
            widths.push_back(token.isEmpty() ? nothing
                                             : tokenRuler.horizontalAdvance(token) + valueWidth(row, at));
        }
}

bool ListTable::isToken(int row, int column) const
{
    return column == 0 || model.index(row, column).data(TokenTableModel::IsTokenRole).toBool();
}

double ListTable::valueWidth(int row, int token) const
{
    return titles.hasValues ? gap() / 2 + ruler.horizontalAdvance(textAt(row, token + 1)) + 1 : 0;
}

double ListTable::entryWidth(int row, int list, int entry) const
{
    return widths[(static_cast<std::size_t>(row) * entries() + entry) * lists() + list];
}

double ListTable::widest(int column) const
{
    double width = 0;
    for (int row = 0; row < measured; ++row)
        width = std::max(width,
                         (isToken(row, column) ? tokenRuler : ruler).horizontalAdvance(textAt(row, column)));
    return width;
}

QStringList ListTable::linesOf(int row, int column, double width) const
{
    const QString text = textAt(row, column);
    const bool isOfToken = isToken(row, column);
    if ((isOfToken ? tokenRuler : ruler).horizontalAdvance(text) <= width + 0.5)
        return {text};
    return wrappedLines(text, isOfToken ? tokens : words, std::max(width, 1.0), device);
}

ListLines::Spot ListLines::sized(const ListTable& table, int row, int list, int entry) const
{
    constexpr double rounding = 1e-6;
    const double needed = table.entryWidth(row, list, entry);
    if (needed <= width + rounding) {
        const double wanted = (needed + table.gap()) / stopWidth(table) - rounding;
        return {.entry = entry, .span = std::clamp(static_cast<int>(std::ceil(wanted)), 1, stops)};
    }
    const int column = table.column(list, entry);
    const auto lines = table.linesOf(row, column, width - table.valueWidth(row, column)).size();
    return {.entry = entry, .span = stops, .lines = static_cast<int>(lines)};
}

std::vector<ListLines::Spot> ListLines::spots(const ListTable& table, int row, int list, int entries) const
{
    std::vector<Spot> all;
    int line = 0, stop = 0;
    for (int entry = 0; entry < entries; ++entry) {
        if (table.entryWidth(row, list, entry) == ListTable::nothing)
            continue;
        Spot spot = sized(table, row, list, entry);
        if (stop > 0 && stop + spot.span > stops) {
            ++line;
            stop = 0;
        }
        spot.line = line;
        spot.stop = stop;
        stop += spot.span;
        line += spot.lines - 1;
        all.push_back(spot);
    }
    return all;
}

int ListLines::count(const std::vector<Spot>& spots)
{
    return spots.empty() ? 0 : spots.back().line + spots.back().lines;
}

ListBlock::ListBlock(const ListTable& lists, std::pair<int, int> part, Place where, double room, int wanted)
    : table(lists)
    , first(part.first)
    , count(part.second)
    , place(where)
{
    const double end = placeNames(room);
    const bool isBelow = place == Place::Below;
    const double within = room - heatReach;
    const double share = isBelow ? within - table.gap() : (within - end) / count;
    for (int list = 0; list < count; ++list) {
        left.push_back(isBelow ? table.gap() : end + list * share);
        widths.push_back(std::max(1.0, share - (isBelow || list + 1 == count ? 0 : table.gap())));
    }
    lines.width = *std::min_element(widths.end() - count, widths.end());
    if (isBelow || isWhole())
        lines = fewestLines(table, part, lines.width, wanted);
    entries = filled(table, wanted, lines.stops);
    for (int list = first; list < first + count; ++list) {
        const QString& name = table.titles.entries[list];
        const QString words = entries == table.entries()
            ? name
            : TableFigure::tr("%1 (%2 of %3)").arg(name).arg(entries).arg(table.entries());
        top.push_back(wrappedLines(words, table.words, lines.width + 1, table.device));
    }
}

bool ListBlock::isWhole() const
{
    for (int row = 0; row < table.measured; ++row)
        for (int list = first; list < first + count; ++list)
            for (int entry = 0; entry < table.entries(); ++entry)
                if (table.entryWidth(row, list, entry) > lines.width)
                    return false;
    return true;
}

int ListBlock::rowLines(int row) const
{
    qsizetype named = 1;
    for (std::size_t i = 0; i < names(); ++i)
        named = std::max(named, table.linesOf(row, static_cast<int>(i), widths[i]).size());
    int listed = 0;
    for (int list = first; list < first + count; ++list)
        listed = std::max(listed, ListLines::count(lines.spots(table, row, list, entries)));
    const int all = static_cast<int>(named);
    return place == Place::Below ? all + listed : std::max(all, listed);
}

double ListBlock::rowHeight(int row) const
{
    constexpr double apart = 0.3; // lines, between rows of several
    const int all = rowLines(row);
    return (all > 1 ? all + apart : 1) * table.step();
}

double ListBlock::rowsHeight(int rows) const
{
    double height = 0;
    for (int row = 0; row < rows; ++row)
        height += rowHeight(row);
    return height;
}

std::pair<int, int> ListBlock::topLines() const
{
    std::pair<qsizetype, qsizetype> most{0, 0};
    for (std::size_t i = 0; i < top.size(); ++i) {
        qsizetype& part = i < names() ? most.first : most.second;
        part = std::max(part, top[i].size());
    }
    return {static_cast<int>(most.first), static_cast<int>(most.second)};
}

double ListBlock::topHeight(const FigureStyle& style) const
{
    const auto [named, listed] = topLines();
    const int all = place == Place::Below ? named + listed : std::max(named, listed);
    return style.axes ? all * table.step() : 0;
}

double ListBlock::placeNames(double room)
{
    std::vector<QString> words{table.titles.rows};
    for (int fact = 1; fact <= table.titles.facts; ++fact)
        words.push_back(table.model.headerData(fact, Qt::Horizontal).toString());
    const double gaps = table.gap() * static_cast<double>(words.size());
    const auto all = [this, gaps] { return std::accumulate(widths.begin(), widths.end(), gaps); };
    for (int most = place == Place::Below ? 1 : mostListTitleLines; most <= mostListTitleLines; ++most) {
        widths.clear();
        for (std::size_t i = 0; i < words.size(); ++i) {
            double width = std::max(table.widest(static_cast<int>(i)), longestWord(words[i], table.ruler));
            while (wrappedLines(words[i], table.words, width + 1, table.device).size() > most)
                width *= 1.1;
            widths.push_back(width);
        }
        if (all() <= room)
            break;
    }
    for (double most = room; all() > room && most > table.gap(); most *= 0.95)
        for (double& width : widths)
            width = std::min(width, most);
    double x = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        left.push_back(x);
        top.push_back(wrappedLines(words[i], table.words, widths[i] + 1, table.device));
        x += widths[i] + table.gap();
    }
    return x;
}

std::vector<ListBlock> listBlocks(const ListTable& table, double room, int wanted)
{
    std::vector<ListBlock> blocks{bestBlock(table, {0, table.lists()}, room, wanted)};
    if (blocks.front().isWhole() || table.lists() == 1)
        return blocks;
    blocks.clear();
    for (int list = 0; list < table.lists(); ++list)
        blocks.push_back(bestBlock(table, {list, 1}, room, wanted));
    return blocks;
}

} // namespace headwise::ui
