#include "ui/pages/parts/screen_capture.h"

#include "ui/base/text.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/small_multiples.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>
#include <cmath>
#include <optional>

namespace headwise::ui {

namespace {

constexpr auto mostSide = static_cast<qsizetype>(mostScreenSide);

std::string keptText(QString words)
{
    return words.remove(QChar(0)).toStdString(); // a string of the file holds no NUL
}

/// Returns the number that a cell of figures stands for; none for words such as "007".
std::optional<double> numberOf(const QString& cell)
{
    const qsizetype first = cell.startsWith(u'-') ? 1 : 0;
    const bool isPadded = cell.size() > first + 1 && cell[first] == u'0' && cell[first + 1].isDigit();
    if (isPadded || cell.startsWith(u'+') || cell != cell.trimmed())
        return std::nullopt;
    bool isNumber = false;
    const double value = QLocale::c().toDouble(cell, &isNumber);
    return isNumber ? std::optional(value) : std::nullopt;
}

/// Tells whether every cell of a column is a number or empty.
bool isOfNumbers(const std::vector<QStringList>& rows, qsizetype column)
{
    return std::ranges::all_of(rows, [column](const QStringList& row) {
        const QString cell = row.value(column);
        return cell.isEmpty() || numberOf(cell);
    });
}

QString leftOut(qsizetype rows, qsizetype columns)
{
    QStringList parts;
    if (rows > mostSide)
        parts << QCoreApplication::translate("ScreenCapture", "the first %1 of %2 rows")
                     .arg(mostSide)
                     .arg(rows);
    if (columns > mostSide)
        parts << QCoreApplication::translate("ScreenCapture", "the first %1 of %2 columns")
                     .arg(mostSide)
                     .arg(columns);
    return parts.isEmpty() ? QString()
                           : QCoreApplication::translate("ScreenCapture", "Only %1 are saved.")
                                 .arg(parts.join(QStringLiteral(", ")));
}

} // namespace

ScreenCapture::Rows ScreenCapture::collected(const DataRows& rows)
{
    Rows all;
    bool isHeader = true;
    rows([&](const QStringList& row) {
        if (std::exchange(isHeader, false))
            all.header = row;
        else if (++all.count <= mostSide)
            all.rows.push_back(row);
    });
    return all;
}

std::function<ScreenCapture::Rows()> ScreenCapture::reader(const FigureSource& figure)
{
    if (const auto* detachable = dynamic_cast<const DetachableRows*>(&figure))
        return [rows = detachable->detachedRows()] { return collected(rows); };
    Rows now;
    if (const auto* turns = dynamic_cast<const RowsInTurns*>(&figure)) {
        now.header = turns->dataRow(-1);
        now.count = turns->dataRowCount();
        for (int row = 0; row < std::min<qsizetype>(now.count, mostSide); ++row)
            now.rows.push_back(turns->dataRow(row));
    } else
        now = collected([&figure](const auto& writeRow) { figure.forEachDataRow(writeRow); });
    return [now = std::move(now)] { return now; };
}

void ScreenCapture::add(const QString& page, const QList<FigureSource*>& figures, const std::string& head)
{
    for (const FigureSource* figure : figures) {
        // Pictures of all heads at once have more numbers than the window's thread reads without a pause.
        if (!figure || dynamic_cast<const PatternGrid*>(figure)
            || dynamic_cast<const SmallMultiples*>(figure))
            continue;
        Shown shown;
        shown.picture.page = page.toStdString();
        shown.picture.title = keptText(figure->figureTitle());
        shown.picture.head = head;
        if (const auto* view = dynamic_cast<const HeatmapView*>(figure)) {
            shown.picture.isMatrix = true;
            shown.picture.columnAxis = keptText(view->scene().columns.title);
        }
        shown.read = reader(*figure);
        m_shown.push_back(std::move(shown));
    }
}

void ScreenCapture::fillMatrix(ScreenPicture& picture, const Rows& rows)
{
    const qsizetype columns = std::min(rows.header.size() - 1, mostSide);
    picture.rowAxis = keptText(rows.header.value(0));
    for (qsizetype column = 1; column <= columns; ++column)
        picture.columnNames.push_back(keptText(rows.header[column]));
    for (const QStringList& row : rows.rows) {
        picture.rowNames.push_back(keptText(row.value(0)));
        for (qsizetype column = 1; column <= columns; ++column)
            picture.values.push_back(numberOf(row.value(column)).value_or(std::nan("")));
    }
    picture.note = keptText(leftOut(rows.count, rows.header.size() - 1));
}

void ScreenCapture::fillTable(ScreenPicture& picture, const Rows& rows)
{
    const qsizetype columns = std::min(rows.header.size(), mostSide);
    std::vector<bool> isNumber;
    for (qsizetype column = 0; column < columns; ++column) {
        picture.columnNames.push_back(keptText(rows.header[column]));
        isNumber.push_back(isOfNumbers(rows.rows, column));
    }
    for (const QStringList& row : rows.rows)
        for (qsizetype column = 0; column < columns; ++column) {
            const bool isOfFigures = isNumber[static_cast<std::size_t>(column)];
            const QString cell = row.value(column);
            picture.values.push_back(isOfFigures ? numberOf(cell).value_or(std::nan("")) : std::nan(""));
            picture.words.push_back(isOfFigures ? std::string() : keptText(cell));
        }
    if (std::ranges::all_of(picture.words, &std::string::empty))
        picture.words.clear();
    picture.note = keptText(leftOut(rows.count, rows.header.size()));
}

ScreenPicture ScreenCapture::filled(const Shown& shown)
{
    ScreenPicture picture = shown.picture;
    const Rows rows = shown.read();
    if (picture.isMatrix)
        fillMatrix(picture, rows);
    else
        fillTable(picture, rows);
    return picture;
}

std::function<std::vector<ScreenPicture>()> ScreenCapture::taken() const
{
    return [all = m_shown] {
        std::vector<ScreenPicture> screen;
        std::size_t values = 0;
        for (const Shown& shown : all) {
            ScreenPicture picture = filled(shown);
            const auto ofPage = std::ranges::count(screen, picture.page, &ScreenPicture::page);
            if (picture.rows() == 0 || ofPage == static_cast<std::ptrdiff_t>(mostScreenPictures)
                || values + picture.values.size() > mostScreenValues)
                continue;
            values += picture.values.size();
            screen.push_back(std::move(picture));
        }
        return screen;
    };
}

} // namespace headwise::ui
