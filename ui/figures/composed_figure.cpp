#include "ui/figures/composed_figure.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_title.h"
#include "ui/figures/figure_recording.h"
#include "ui/figures/math_text.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace headwise::ui {

namespace {

constexpr double betweenColumns = 14, betweenRows = 12, belowHead = 3; // points
constexpr QSizeF leastPanel(60, 40); // points, of a picture that can be read

QFont letterFont(const FigureStyle& style)
{
    QFont font = figureFont(style);
    font.setBold(true);
    return font;
}

/// Width of the letters before the titles, with the space behind them.
double letterWidth(const QString& letter, const FigureStyle& style, QPaintDevice* device)
{
    if (letter.isEmpty())
        return 0;
    const QFontMetricsF metrics(letterFont(style), device);
    return metrics.horizontalAdvance(letter) + metrics.horizontalAdvance(QStringLiteral("  "));
}

/// Where the rows, or columns, of a grid begin and end along a length.
struct Tracks {
    std::vector<double> first, last;

    Tracks(const std::vector<double>& shares, double from, double to, double gap)
    {
        const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
        const double room = std::max(0.0, to - from - gap * (static_cast<double>(shares.size()) - 1));
        for (const double share : shares) {
            first.push_back(from);
            last.push_back(from + room * share / all);
            from = last.back() + gap;
        }
    }
};

} // namespace

ComposedFigure::ComposedFigure(std::vector<Panel> panels, Grid grid, const QString& caption)
    : m_panels(std::move(panels))
    , m_grid(std::move(grid))
    , m_caption(caption)
{
}

std::vector<ComposedFigure::Place>
ComposedFigure::places(const QSizeF& size, double top, const FigureStyle& style, QPaintDevice* device) const
{
    const QFont font = figureFont(style);
    const double line = QFontMetricsF(font, device).height();
    const double caption = m_caption.isEmpty() ? 0
                                               : betweenRows
            + line * static_cast<double>(wrappedLines(m_caption, font, size.width(), device).size());
    const Tracks columns(m_grid.widths, 0, size.width(), betweenColumns);
    const Tracks rows(m_grid.heights, top, size.height() - caption, betweenRows);
    std::vector<Place> all;
    std::vector<double> heads(m_grid.heights.size(), line); // height of the titles that begin in a row
    for (const Panel& panel : m_panels) {
        const auto column = static_cast<std::size_t>(panel.column), row = static_cast<std::size_t>(panel.row);
        const double left = columns.first[column];
        const double right = columns.last[column + static_cast<std::size_t>(panel.columnSpan) - 1];
        const double bottom = rows.last[row + static_cast<std::size_t>(panel.rowSpan) - 1];
        Place place{
            .head = QRectF(QPointF(left, rows.first[row]), QPointF(right, bottom)), .body = {}, .title = {}};
        if (!panel.title.isEmpty())
            place.title = wrappedLines(
                panel.title, font,
                std::max(1.0, place.head.width() - letterWidth(letterOf(panel), style, device)), device);
        heads[row] = std::max(heads[row], line * static_cast<double>(place.title.size()));
        all.push_back(std::move(place));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].body = all[i].head;
        all[i].body.setTop(all[i].head.top() + heads[static_cast<std::size_t>(m_panels[i].row)] + belowHead);
    }
    for (int pass = 0; pass < 2; ++pass) { // A chart of another size may have other labels.
        align(all, style, &Panel::column, &Panel::columnSpan,
              {&QRectF::left, &QRectF::setLeft, &QRectF::width});
        align(all, style, &Panel::row, &Panel::rowSpan, {&QRectF::top, &QRectF::setTop, &QRectF::height});
    }
    return all;
}

void ComposedFigure::align(std::vector<Place>& places, const FigureStyle& style, int Panel::*track,
                           int Panel::*span, const Edge& edge) const
{
    constexpr double most = 0.4; // of a panel; one that would lose more stays as it is
    std::map<std::pair<int, int>, double> furthest;
    std::vector<std::optional<double>> begins; // of the data
    FigureStyle inner = style;
    inner.title = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const QRectF& body = places[i].body;
        const auto area = body.isValid() ? m_panels[i].source->dataArea(body.size(), inner) : std::nullopt;
        const double inset = area ? (*area.*edge.position)() : 0;
        begins.push_back(area ? std::optional((body.*edge.position)() + inset) : std::nullopt);
        double& far = furthest[{m_panels[i].*track, m_panels[i].*span}];
        if (area && inset < most * (body.*edge.length)())
            far = std::max(far, *begins.back());
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        QRectF& body = places[i].body;
        const double wanted = furthest[{m_panels[i].*track, m_panels[i].*span}];
        const double moved = wanted - begins[i].value_or(wanted);
        if (moved > 0 && moved < most * (body.*edge.length)())
            (body.*edge.setPosition)((body.*edge.position)() + moved);
    }
}

void ComposedFigure::paintHead(QPainter& painter, const Panel& panel, const Place& place,
                               const FigureStyle& style) const
{
    const QFont font = figureFont(style);
    const QFontMetricsF metrics(font, painter.device());
    painter.setPen(lightColors().text);
    painter.setFont(letterFont(style));
    double y = place.head.top() + metrics.ascent();
    painter.drawText(QPointF(place.head.left(), y), letterOf(panel));
    painter.setFont(font);
    const double left = place.head.left() + letterWidth(letterOf(panel), style, painter.device());
    for (const QString& words : place.title) {
        drawMath(painter, QPointF(left, y), words);
        y += metrics.height();
    }
}

void ComposedFigure::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    const std::vector<Place> all = places(size, top, style, painter.device());
    FigureStyle inner = style;
    inner.title = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        paintHead(painter, m_panels[i], all[i], style);
        if (all[i].body.width() <= 0 || all[i].body.height() <= 0)
            continue;
        painter.save();
        painter.translate(all[i].body.topLeft());
        m_panels[i].source->paintFigure(painter, all[i].body.size(), inner);
        painter.restore();
    }
    if (m_caption.isEmpty())
        return;
    const QFont font = figureFont(style);
    const QFontMetricsF metrics(font, painter.device());
    painter.setFont(font);
    painter.setPen(lightColors().text);
    const QStringList lines = wrappedLines(m_caption, font, size.width(), painter.device());
    double y = size.height() - metrics.descent() - metrics.height() * static_cast<double>(lines.size() - 1);
    for (const QString& words : lines) {
        drawMath(painter, QPointF(0, y), words);
        y += metrics.height();
    }
}

std::vector<QRectF> ComposedFigure::bodies(const QSizeF& size, const FigureStyle& style) const
{
    PaintRecording page(size, std::nullopt);
    QPainter painter(&page);
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    std::vector<QRectF> all;
    for (const Place& place : places(size, top, style, &page))
        all.push_back(place.body);
    return all;
}

QStringList ComposedFigure::crowded(const QSizeF& size, const FigureStyle& style) const
{
    const std::vector<QRectF> all = bodies(size, style);
    QStringList names;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].width() < leastPanel.width() || all[i].height() < leastPanel.height())
            names << m_panels[i].label;
    return names;
}

QStringList ComposedFigure::omissions(const QSizeF& size, const FigureStyle& style) const
{
    const std::vector<QRectF> all = bodies(size, style);
    FigureStyle inner = style;
    inner.title = false;
    QStringList words;
    for (std::size_t i = 0; i < all.size(); ++i)
        for (const QString& omission : m_panels[i].source->omissions(all[i].size(), inner))
            words << (m_panels.size() > 1 ? tr("panel %1: %2").arg(m_panels[i].label, omission) : omission);
    return words;
}

void ComposedFigure::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeRow(
        {QStringLiteral("panel"), QStringLiteral("row"), QStringLiteral("column"), QStringLiteral("value")});
    for (const Panel& panel : m_panels) {
        QStringList columns;
        int row = -1; // the header
        panel.source->forEachDataRow([&](const QStringList& cells) {
            if (row < 0)
                columns = cells;
            else
                for (qsizetype i = 0; i < cells.size(); ++i)
                    writeRow({panel.label, QString::number(row), columns.value(i), cells[i]});
            ++row;
        });
    }
}

} // namespace headwise::ui
