#include "ui/widgets/paper_lists.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_title.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/cell_heat.h"
#include "ui/widgets/table_figure.h"

#include <QAbstractItemModel>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr int mostListEntries = 5;        // more cannot be read
constexpr double lettersInListEntry = 16; // a token and its value

/// The columns of a table of lists, and where they stand on paper.
struct ListColumns {
    int entries = 0; ///< Shown of each list.
    int all = 0;
    double width = 0; ///< Width of the name and of each entry.
    double gap = 0;

    /// \param widest what the widest name or entry needs, so that no token is cut while there is room for one
    ListColumns(int columns, double room, double letter, double widest)
        : all((columns - 1) / 2)
        , gap(letter)
    {
        const double needed = std::max(lettersInListEntry * letter, widest);
        const int fitting = static_cast<int>(room / needed) - 1;
        entries = std::clamp(std::min(fitting, mostListEntries), 1, std::max(1, all));
        width = room / (entries + 1);
    }

    QRectF cell(const QRectF& line, int column) const
    {
        return {line.left() + column * width, line.top(), width - gap, line.height()};
    }
};

/// Returns the width of the widest name, or entry with its value, of the first rows.
double widestEntry(const QAbstractItemModel& model, int rows, const QFontMetricsF& words,
                   const QFontMetricsF& tokens)
{
    double widest = 0;
    for (int row = 0; row < std::min(rows, model.rowCount()); ++row) {
        const auto textAt = [&](int column) { return model.index(row, column).data().toString(); };
        widest = std::max(widest, tokens.horizontalAdvance(textAt(0)));
        for (int entry = 0; entry < std::min(mostListEntries, (model.columnCount() - 1) / 2); ++entry)
            widest = std::max(widest,
                              tokens.horizontalAdvance(textAt(2 * entry + 1))
                                  + words.horizontalAdvance(textAt(2 * entry + 2)));
    }
    return widest;
}

} // namespace

QStringList paintLists(QPainter& painter, const QAbstractItemModel& model, const ListTitles& titles,
                       const QRectF& area, const FigureStyle& style)
{
    const QFont words = figureFont(style), tokens = figureTokenFont(style);
    const QFontMetricsF ruler(words, painter.device()), tokenRuler(tokens, painter.device());
    const ThemeColors& colors = lightColors();
    const double step = 1.2 * std::max(ruler.height(), tokenRuler.height());
    const double letter = tokenRuler.horizontalAdvance(u' ');
    const int onPage = static_cast<int>(area.bottom() / step);
    const ListColumns columns(model.columnCount(), area.width(), letter,
                              widestEntry(model, onPage, ruler, tokenRuler) + 3 * letter);
    QRectF line(area.left(), area.top(), area.width(), step);
    const auto write = [&](const QFont& font, const QColor& color, const QRectF& cell, const QString& text,
                           Qt::Alignment side = Qt::AlignLeft) {
        painter.setFont(font);
        painter.setPen(color);
        painter.drawText(
            cell, static_cast<int>(side | Qt::AlignVCenter),
            QFontMetricsF(font, painter.device()).elidedText(text, Qt::ElideRight, cell.width()));
    };
    if (style.axes) {
        const QString entries = columns.entries == columns.all
            ? titles.entries
            : TableFigure::tr("%1 (%2 of %3)").arg(titles.entries).arg(columns.entries).arg(columns.all);
        const QStringList above =
            wrappedLines(entries, words, area.width() - columns.width, painter.device());
        const QStringList first =
            wrappedLines(titles.rows, words, columns.width - columns.gap, painter.device());
        for (qsizetype i = 0; i < std::max(above.size(), first.size()); ++i, line.translate(0, step)) {
            write(words, colors.muted, columns.cell(line, 0), first.value(i));
            write(words, colors.muted, line.adjusted(columns.width, 0, 0, 0), above.value(i));
        }
    }
    QStringList omitted;
    if (columns.entries < columns.all)
        omitted << TableFigure::tr("%1 of %2 entries a row").arg(columns.entries).arg(columns.all);
    const int rows = model.rowCount();
    for (int row = 0; row < rows; ++row, line.translate(0, step)) {
        if (line.bottom() + step > area.bottom() && row + 1 < rows) {
            write(words, colors.muted, line,
                  TableFigure::tr("… %1 of %2 rows").arg(ui::count(row), ui::count(rows)));
            return omitted << TableFigure::tr("the first %1 of %2 rows").arg(ui::count(row), ui::count(rows));
        }
        write(tokens, colors.text, columns.cell(line, 0), model.index(row, 0).data().toString());
        for (int entry = 0; entry < columns.entries; ++entry) {
            const QModelIndex number = model.index(row, 2 * entry + 2);
            const QString value = number.data().toString();
            QRectF cell = columns.cell(line, entry + 1);
            const double width = ruler.horizontalAdvance(value) + 1;
            if (const QVariant heat = number.data(TokenTableModel::HeatRole); heat.isValid())
                painter.fillRect(cell.adjusted(cell.width() - width - 2, 1, 2, -1),
                                 heatColor(heat.toDouble(), colors));
            write(words, colors.text, cell, value, Qt::AlignRight);
            cell.setRight(cell.right() - width - columns.gap);
            write(tokens, colors.text, cell, model.index(row, 2 * entry + 1).data().toString());
        }
    }
    return omitted;
}

} // namespace headwise::ui
