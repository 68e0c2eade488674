#pragma once

#include "ui/widgets/paper_lists.h"

#include <QAbstractItemModel>
#include <QFont>
#include <QFontMetricsF>
#include <QStringList>

#include <algorithm>
#include <utility>
#include <vector>

namespace headwise::ui {

inline constexpr double heatReach = 2; ///< Points by which the colour behind a number is wider than it.

/// A table of lists and its type. Everything in it must outlive it.
struct ListTable {
    const QAbstractItemModel& model;
    const ListTitles& titles;
    const QPaintDevice* device;
    QFont words, tokens;
    QFontMetricsF ruler, tokenRuler;
    int measured;                         ///< Rows that may have room.
    std::vector<double> widths = {};      ///< Widths of their entries, those of a row together.
    static constexpr double nothing = -1; ///< Width of an entry without a token.

    /// \param height  of the page, in points
    ListTable(const QAbstractItemModel& model, const ListTitles& titles, const FigureStyle& style,
              const QPaintDevice* device, double height);

    int lists() const { return static_cast<int>(titles.entries.size()); }
    int numbers() const { return titles.hasValues ? 2 : 1; } ///< Columns of an entry.
    int entries() const { return (model.columnCount() - 1 - titles.facts) / (numbers() * lists()); }
    int column(int list, int entry) const { return 1 + titles.facts + numbers() * (lists() * entry + list); }
    double step() const { return 1.05 * std::max(ruler.height(), tokenRuler.height()); }
    double gap() const { return 2 * tokenRuler.horizontalAdvance(u' '); } ///< Between columns.

    QString textAt(int row, int column) const { return model.index(row, column).data().toString(); }
    bool isToken(int row, int column) const;
    double valueWidth(int row,
                      int token) const; ///< Width of the number behind a token, with the space before it.
    double entryWidth(int row, int list, int entry) const;
    double widest(int column) const; ///< Width of the widest cell of a name or a fact.
    /// Breaks the text of a cell that is wider than its place.
    QStringList linesOf(int row, int column, double width) const;
};

/// The lines of a list's entries. Entries begin at stops; a wide one takes several of them, and one that is wider than the
/// list takes several lines.
struct ListLines {
    double width = 0; ///< Width of the list.
    int stops = 1;    ///< On each line.

    /// The place of an entry.
    struct Spot {
        int entry = 0, line = 0, stop = 0;
        int span = 1;  ///< Stops.
        int lines = 1; ///< Lines of the token.
    };

    double stopWidth(const ListTable& table) const { return (width + table.gap()) / stops; }
    /// Places the first entries of a row's list, without those that are empty.
    std::vector<Spot> spots(const ListTable& table, int row, int list, int entries) const;
    static int count(const std::vector<Spot>& spots); ///< Lines.

private:
    Spot sized(const ListTable& table, int row, int list, int entry) const;
};

/// Some of a table's lists, and where they stand on paper: side by side behind the names and facts of the rows, or a single
/// one below them, as wide as the page.
struct ListBlock {
    enum class Place { Beside, Below };

    const ListTable& table;
    int first, count; ///< Lists.
    Place place;
    std::vector<double> left = {};     ///< Edge of the name, of the facts and of the lists.
    std::vector<double> widths = {};   ///< Their widths, without the gap behind.
    std::vector<QStringList> top = {}; ///< Words over each.
    ListLines lines = {};
    int entries = 1; ///< Shown of each list.

    /// \param wanted  entries of each list; more only fill the last line
    ListBlock(const ListTable& table, std::pair<int, int> part, Place place, double room, int wanted);

    std::size_t names() const { return 1 + static_cast<std::size_t>(table.titles.facts); }
    bool isWhole() const; ///< Tells whether every entry has room on a line.
    int rowLines(int row) const;
    double rowHeight(int row) const;
    double rowsHeight(int rows) const; ///< Height of the first rows.
    /// Returns the lines of the titles of the names, and of those of the lists.
    std::pair<int, int> topLines() const;
    double topHeight(const FigureStyle& style) const;

private:
    double placeNames(double room); ///< \returns where they end
};

/// Chooses the lists that stand side by side: all of them, or each below the one before.
std::vector<ListBlock> listBlocks(const ListTable& table, double room, int wanted);

} // namespace headwise::ui
