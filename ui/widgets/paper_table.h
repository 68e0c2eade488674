#pragma once

#include <QAbstractItemModel>
#include <QFont>
#include <QRectF>
#include <QStringList>

#include <vector>

class QFontMetricsF;
class QPaintDevice;
class QPainter;

namespace headwise::ui {

inline constexpr double paperTableLine = 1.15; ///< Height of a line, in heights of the type.

/// Title of a column outside the window, where no space needs to keep it on one line.
QString columnTitle(const QAbstractItemModel& model, int column);

/// A sorted table laid out for paper: its columns, split into blocks below each other where they are wider than the page.
struct PaperTable {
    const QAbstractItemModel& model;
    QFont text, bold, tokens;
    std::vector<double> widths = {};           ///< Width of each column.
    std::vector<std::vector<int>> blocks = {}; ///< Columns side by side; a block stands below the one before.
    std::vector<double> tails = {};            ///< Width of each column from the decimal point on.
    std::vector<QStringList> titles = {};      ///< Lines of each column's title.
    int titleLines = 1;                        ///< Number in the longest title.
    double page = 0;                           ///< Width.
    std::vector<int> narrowed = {};            ///< Columns whose cells take several lines.
    int names = 1;                             ///< First columns, which tell the rows apart in each block.

    /// Titles take several lines rather than make a table wider than the page.
    void measure(double room, QPaintDevice* device);
    /// Paints the colours behind the numbers of a row, as in the window.
    void paintHeat(QPainter& painter, int row, const std::vector<int>& columns, const QRectF& line) const;
    /// Paints a row from the baseline `y` of its first line on.
    void paintRow(QPainter& painter, int row, const std::vector<int>& columns, double y) const;
    int rowLines(int row, const QPaintDevice* device) const;
    /// Paints the titles from the baseline `y` on; their last lines stand side by side.
    void paintTitles(QPainter& painter, const std::vector<int>& columns, double y) const;

private:
    QFont fontAt(const QModelIndex& index) const;
    QStringList linesOf(const QModelIndex& index, const QPaintDevice* device) const;
    bool areRowsApart(int columns) const;
    void narrow(std::vector<double>& contents, double room);
    void wrapTitles(const std::vector<double>& contents, QPaintDevice* device);
    double roomBehind(const QString& shown, int column, double width, const QFontMetricsF& ruler) const;
    void fit(double room);
    std::vector<std::vector<int>> split(double limit) const;
};

} // namespace headwise::ui
