#include "ui/pages/parts/figure_row.h"

#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export_title.h"
#include "ui/figures/figure_recording.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pictures/picture_card.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <array>
#include <string_view>

namespace headwise::ui {

namespace {

constexpr double between = 8;     // points between panels
constexpr QSizeF least(150, 110); // points, smallest readable chart

} // namespace

FigureRow::FigureRow(std::vector<Panel> panels, QObject* parent)
    : QObject(parent)
    , m_panels(std::move(panels))
{
}

FigureRow::Places FigureRow::placesIn(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    const QSizeF room(size.width(), size.height() - top);
    return {top, room, columnsIn(room, QFontMetricsF(figureFont(style), painter.device()).height())};
}

ComposedFigure FigureRow::composed(const Places& places) const
{
    std::vector<ComposedFigure::Panel> panels;
    for (int at = 0; at < static_cast<int>(m_panels.size()); ++at) {
        const Panel& panel = m_panels[static_cast<std::size_t>(at)];
        if (panel.chart)
            panels.push_back({.source = panel.chart,
                              .label = QChar(static_cast<char16_t>(u'a' + at)),
                              .title = panel.title,
                              .row = at / places.columns,
                              .column = at % places.columns});
    }
    const auto columns = static_cast<std::size_t>(places.columns);
    const std::size_t rows = (m_panels.size() + columns - 1) / columns;
    return {std::move(panels), {std::vector<double>(columns, 1.0), std::vector<double>(rows, 1.0)}, {}};
}

QStringList FigureRow::omissions(const QSizeF& size, const FigureStyle& style) const
{
    PaintRecording page(size, std::nullopt);
    QPainter painter(&page);
    FigureStyle inner = style;
    inner.title = false;
    const Places places = placesIn(painter, size, style);
    return composed(places).omissions(places.room, inner);
}

FigureParts FigureRow::parts() const
{
    FigureParts all;
    for (const Panel& panel : m_panels) {
        const FigureParts own = panel.chart ? panel.chart->parts() : FigureParts{};
        for (const QString& name : own.series)
            if (!all.series.contains(name))
                all.series << name;
        all.points += own.points;
        all.hasSelection = all.hasSelection || own.hasSelection;
    }
    return all;
}

void FigureRow::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    FigureStyle inner = style;
    inner.title = false;
    const Places places = placesIn(painter, size, style);
    painter.save();
    painter.translate(0, places.top);
    composed(places).paintFigure(painter, places.room, inner);
    painter.restore();
}

QSizeF FigureRow::panelSize(const QSizeF& room, int columns) const
{
    const int rows = (static_cast<int>(m_panels.size()) + columns - 1) / columns;
    return {(room.width() - (columns - 1) * between) / columns,
            (room.height() - (rows - 1) * between) / rows};
}

int FigureRow::columnsIn(const QSizeF& room, double line) const
{
    int best = 1;
    double largest = 0;
    for (int columns = static_cast<int>(m_panels.size()); columns >= 1; --columns) {
        const QSizeF panel = panelSize(room, columns);
        const double share =
            std::min({1.0, panel.width() / least.width(), (panel.height() - line) / least.height()});
        if (share > largest) {
            largest = share;
            best = columns;
        }
    }
    return best;
}

double FigureRow::leastHeight(double width, const FigureStyle& style) const
{
    const auto panels = static_cast<int>(m_panels.size());
    const int abreast =
        std::clamp(static_cast<int>((width + between) / (least.width() + between)), 1, std::max(1, panels));
    const int rows = (panels + abreast - 1) / abreast;
    PaintRecording page({width, least.height()}, std::nullopt);
    QPainter painter(&page);
    const double line = QFontMetricsF(figureFont(style), &page).height();
    return paintFigureTitle(painter, *this, width, style) + rows * (least.height() + line)
        + (rows - 1) * between;
}

void FigureRow::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeRow({QStringLiteral("panel"), QStringLiteral("curve"), QStringLiteral("x"), QStringLiteral("y")});
    for (const Panel& panel : m_panels)
        if (panel.chart)
            for (const ChartSeries& series : panel.chart->series())
                for (const QPointF& point : series.isSelection ? QVector<QPointF>() : series.points)
                    writeRow({panel.title, series.name, exactNumber(point.x()), exactNumber(point.y())});
}

FigureRow* positionFigure(const std::vector<PictureCard*>& cards, QObject* parent)
{
    const std::array<std::pair<std::string_view, QString>, 3> wanted{
        {{"/p_by_position", FigureRow::tr("T^p")},
         {"/pp_by_position", FigureRow::tr("T^pp, three queries")},
         {"/position_pattern", FigureRow::tr("softmax((T^pp + T^p)/√r)")}}};
    std::vector<FigureRow::Panel> panels;
    for (const auto& [array, title] : wanted)
        for (PictureCard* card : cards)
            if (card->picture().arrays.front().ends_with(array))
                for (const auto& [view, what] : card->figures())
                    panels.push_back({qobject_cast<const LineChart*>(view), title});
    if (panels.size() != wanted.size())
        return nullptr;
    auto* figure = new FigureRow(std::move(panels), parent);
    setPictureName(figure, FigureRow::tr("Figure 3 of Kamoda et al. 2025"));
    return figure;
}

} // namespace headwise::ui
