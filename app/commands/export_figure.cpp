#include "app/commands/export_figure.h"

#include "core/base/log.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export.h"
#include "ui/figures/figure_export_title.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <spdlog/logger.h>

#include <algorithm>
#include <map>

namespace headwise::app {
namespace {

using ui::text;

QStringList texts(const std::vector<std::string>& list)
{
    QStringList result;
    for (const std::string& item : list)
        result.append(text(item));
    return result;
}

/// The tokens with the strongest entries, each with its five strongest partners, as many rows as fit on the page.
class TokenTableFigure : public ui::FigureSource {
public:
    explicit TokenTableFigure(const ViewData& view)
        : m_view(view)
    {
        for (const std::vector<std::string>& row : view.table.rows)
            if (row[directionColumn] == "row" && row[endColumn] == "top")
                m_rows[row[ofIdColumn]].push_back(&row);
        for (const auto& [id, cells] : m_rows)
            m_order.push_back(&cells);
        std::stable_sort(m_order.begin(), m_order.end(),
                         [](const Cells* a, const Cells* b) { return strength(*a) > strength(*b); });
    }

    void paintFigure(QPainter& painter, const QSizeF& size, const ui::FigureStyle& style) const override
    {
        double y = paintFigureTitle(painter, *this, size.width(), style);
        const QFont font = ui::figureTokenFont(style);
        painter.setFont(font);
        const double lineHeight = QFontMetricsF(font, painter.device()).height() * 1.2;
        paintHead(painter, QRectF(0, y, size.width(), lineHeight));
        y += lineHeight;
        for (const Cells* cells : m_order) {
            if (y + lineHeight > size.height())
                break;
            paintRow(painter, QRectF(0, y, size.width(), lineHeight), *cells);
            y += lineHeight;
        }
    }

    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override
    {
        writeRow(texts(m_view.table.columns));
        for (const std::vector<std::string>& row : m_view.table.rows)
            writeRow(texts(row));
    }

private:
    using Cells = std::vector<const std::vector<std::string>*>;
    static constexpr std::size_t directionColumn = 0, ofIdColumn = 1, ofTokenColumn = 2, endColumn = 3,
                                 tokenColumn = 6, valueColumn = 7;

    static constexpr std::size_t mostColumns = 5; // besides the token itself; more would be unreadable
    static constexpr double lettersInCell = 16;   // a token and its value

    static double strength(const Cells& cells) { return text(cells.front()->at(valueColumn)).toDouble(); }

    /// Returns how many columns fit besides the token itself.
    static std::size_t columnsIn(double room, double letter, const Cells& cells)
    {
        const auto fitting = static_cast<std::size_t>(room / (lettersInCell * letter));
        return std::min({cells.size(), mostColumns, std::max(fitting, std::size_t{2}) - 1});
    }

    /// Paints the titles of the columns.
    void paintHead(QPainter& painter, const QRectF& area) const
    {
        if (m_order.empty())
            return;
        const QFontMetricsF metrics(painter.font(), painter.device());
        const double letter = metrics.horizontalAdvance(QLatin1Char(' '));
        const auto shown = static_cast<double>(columnsIn(area.width(), letter, *m_order.front()));
        const double width = area.width() / (shown + 1);
        const bool isQk = m_view.name == "tokens-qk";
        const QString own = isQk ? QStringLiteral("query") : QStringLiteral("source");
        const QString others = isQk ? QStringLiteral("keys it attends to most, score")
                                    : QStringLiteral("outputs it raises most, logit");
        painter.setPen(ui::lightColors().muted);
        painter.drawText(area, Qt::AlignVCenter, own);
        painter.drawText(area.adjusted(width, 0, 0, 0), Qt::AlignVCenter,
                         metrics.elidedText(others, Qt::ElideRight, area.width() - width));
    }

    void paintRow(QPainter& painter, const QRectF& area, const Cells& cells) const
    {
        const QFontMetricsF metrics(painter.font(), painter.device());
        const double gap = metrics.horizontalAdvance(QLatin1Char(' '));
        const std::size_t shown = columnsIn(area.width(), gap, cells);
        const double width = area.width() / static_cast<double>(shown + 1);
        const auto cell = [&](std::size_t column) {
            return QRectF(area.left() + static_cast<double>(column) * width, area.top(), width - gap,
                          area.height());
        };
        painter.setPen(ui::lightColors().text);
        painter.drawText(
            cell(0), Qt::AlignVCenter,
            metrics.elidedText(text(cells.front()->at(ofTokenColumn)), Qt::ElideRight, width - gap));
        for (std::size_t i = 0; i < shown; ++i) {
            const QString value = ui::number(text(cells[i]->at(valueColumn)).toDouble());
            const double room = width - 2 * gap - metrics.horizontalAdvance(value);
            painter.setPen(ui::lightColors().text);
            painter.drawText(cell(i + 1), Qt::AlignVCenter,
                             metrics.elidedText(text(cells[i]->at(tokenColumn)), Qt::ElideRight, room));
            painter.setPen(ui::lightColors().muted);
            painter.drawText(cell(i + 1), Qt::AlignVCenter | Qt::AlignRight, value);
        }
    }

    const ViewData& m_view;
    std::map<std::string, Cells> m_rows; // by the id of the row's token
    std::vector<const Cells*> m_order;   // strongest first
};

Result<Done> write(ui::FigureSource& source, const ViewData& view, const std::filesystem::path& file,
                   const FigureLook& look)
{
    const QString name = text(file.string());
    const Result<ui::FigureFormat> format = ui::figureFormatOf(name);
    if (!format)
        return format.error();
    ui::Provenance provenance;
    for (const auto& [key, value] : view.provenance)
        provenance.append({text(key), text(value)});
    source.setFigureTitle(text(view.title + " (" + view.subtitle + ")"));
    source.setProvenance(provenance);
    ui::FigureSettings settings;
    settings.format = *format;
    settings.width = look.width;
    settings.height = look.height;
    settings.dpi = look.dpi;
    settings.style = {text(look.fontFamily), look.fontSize, look.lineWidth, look.title,
                      look.colorBar,         look.axes};
    if (look.transparent)
        settings.background = ui::FigureBackground::Transparent;
    return ui::exportFigure(source, name, settings);
}

/// Crops to the rows and columns from the first to the last that contain a pair; unchanged if there is none.
void cropToPairs(Eigen::MatrixXf& matrix, QStringList& rows, QStringList& columns)
{
    const auto isPair = matrix.array().isFinite().eval();
    const auto ends = [](const auto& holdsPair) {
        const auto first = std::find(holdsPair.begin(), holdsPair.end(), true) - holdsPair.begin();
        auto size = holdsPair.size();
        while (size > first && !holdsPair(size - 1))
            --size;
        return std::pair<Eigen::Index, Eigen::Index>(first, size - first);
    };
    if (!isPair.any())
        return;
    const auto [top, height] = ends(isPair.rowwise().any().eval());
    const auto [left, width] = ends(isPair.colwise().any().eval());
    matrix = matrix.block(top, left, height, width).eval();
    rows = rows.mid(top, height);
    columns = columns.mid(left, width);
}

Result<Done> writeHeatmap(const ViewData& view, const std::filesystem::path& file, const FigureLook& look)
{
    const auto rows = static_cast<Eigen::Index>(view.shape[0]);
    const auto columns = static_cast<Eigen::Index>(view.shape[1]);
    auto matrix = std::make_shared<Eigen::MatrixXf>(rows, columns);
    std::visit(
        [&]<typename T>(const std::vector<T>& values) {
            if constexpr (std::is_arithmetic_v<T>)
                for (Eigen::Index r = 0; r < rows; ++r)
                    for (Eigen::Index c = 0; c < columns; ++c)
                        (*matrix)(r, c) =
                            static_cast<float>(values[static_cast<std::size_t>(r * columns + c)]);
        },
        view.values);
    const bool isNegative = (matrix->array() < 0).any() || (view.range && view.range->first < 0);
    const ColorMap map = isNegative ? ColorMap::Signed : ColorMap::Viridis;
    ui::HeatmapView heatmap;
    QStringList rowNames = texts(view.rowLabels), columnNames = texts(view.columnLabels);
    if (view.ofPairs) {
        cropToPairs(*matrix, rowNames, columnNames);
        heatmap.setNanIsAbsent(true);
        heatmap.setCellShape(ui::HeatmapView::CellShape::Square);
    }
    heatmap.setMatrix(matrix);
    heatmap.setRowAxis(ui::labelledAxis(text(view.rowAxis), rowNames));
    heatmap.setColumnAxis(ui::labelledAxis(text(view.columnAxis), columnNames));
    heatmap.setColorScale(fitted(map, *matrix));
    return write(heatmap, view, file, look);
}

/// Returns the window's name of a circuit: "full_qk" is full QK.
QString seriesName(const std::string& column)
{
    return text(column)
        .replace(u'_', u' ')
        .replace(QStringLiteral("qk"), QStringLiteral("QK"))
        .replace(QStringLiteral("ov"), QStringLiteral("OV"));
}

/// Draws one series per column; complex values in the complex plane.
Result<Done> writeChart(const ViewData& view, const std::filesystem::path& file, const FigureLook& look)
{
    const std::size_t columns = view.shape[1];
    const bool isSpectrum = view.name == "spectrum";
    const std::size_t first = isSpectrum ? 1 : 0; // the largest singular value is number 1
    std::vector<ui::ChartSeries> series(columns);
    std::visit(
        [&]<typename T>(const std::vector<T>& values) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                const std::size_t row = i / columns;
                QVector<QPointF>& points = series[i % columns].points;
                if constexpr (std::is_arithmetic_v<T>)
                    points.append({static_cast<double>(row + first), static_cast<double>(values[i])});
                else
                    points.append(
                        {static_cast<double>(values[i].real()), static_cast<double>(values[i].imag())});
            }
        },
        view.values);
    const bool isPlane = view.kind == ViewKind::Points;
    for (std::size_t c = 0; c < columns; ++c) {
        series[c].name = columns == 1 ? QString() : seriesName(view.columnLabels[c]);
        series[c].style = isPlane ? ui::SeriesStyle::Points : ui::SeriesStyle::Line;
    }
    ui::ChartLook axes;
    axes.xTitle = isPlane ? QStringLiteral("real part") : text(view.rowAxis);
    axes.yTitle = isPlane ? QStringLiteral("imaginary part") : text(view.valueName);
    axes.plane = isPlane ? ui::ChartLook::Plane::Complex : ui::ChartLook::Plane::Free;
    // The circuits of a head differ by orders of magnitude.
    axes.yScale = isSpectrum ? ui::ChartLook::Scale::Log : ui::ChartLook::Scale::Linear;
    ui::LineChart chart;
    chart.setLook(axes);
    chart.setSeries(series);
    return write(chart, view, file, look);
}

/// Sends Qt's messages to the log, because errors must be one line on stderr.
void logQtMessage(QtMsgType type, const QMessageLogContext&, const QString& message)
{
    const bool isFault = type == QtWarningMsg || type == QtCriticalMsg || type == QtFatalMsg;
    logger().log(isFault ? spdlog::level::warn : spdlog::level::debug, "Qt: {}", message.toStdString());
}

} // namespace

Result<Done> exportFigure(const ViewData& view, const std::filesystem::path& file, const FigureLook& look)
{
    if (view.kind == ViewKind::Numbers)
        return Error{
            ErrorCode::InvalidArgument,
            "'" + view.name + "' has " + std::to_string(view.shape.size())
                + " dimensions and no picture; write it as .csv, .tsv or .npy, or name a head with --head."};
    qInstallMessageHandler(logQtMessage);
    qputenv("QT_QPA_PLATFORM", "offscreen");
    char program[] = "headwise";
    char* arguments[] = {program, nullptr};
    int count = 1;
    QApplication application(count, arguments);
    ui::applyTheme(application, ui::ThemeMode::Light);
    switch (view.kind) {
    case ViewKind::Heatmap: return writeHeatmap(view, file, look);
    case ViewKind::TokenTable: {
        TokenTableFigure table(view);
        return write(table, view, file, look);
    }
    default: return writeChart(view, file, look);
    }
}

} // namespace headwise::app
