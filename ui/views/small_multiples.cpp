#include "ui/views/small_multiples.h"

#include "ui/figure_export_title.h"
#include "ui/text.h"
#include "ui/views/chart_painter.h"
#include "ui/views/heatmap_painter.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double between = 4; // from one tile to the next, device units
constexpr double gap = 4;

/// What stands at the end of an axis.
QString endText(double shown, ChartLook::Scale scale)
{
    return number(scale == ChartLook::Scale::Log ? std::pow(10.0, shown) : shown);
}

} // namespace

SmallMultiples::SmallMultiples(QWidget* parent)
    : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
}

int SmallMultiples::rows() const
{
    return (static_cast<int>(m_heads.size()) + m_columns - 1) / std::max(1, m_columns);
}

void SmallMultiples::setCurves(const ChartLook& look, std::vector<HeadCurves> heads, int columns)
{
    m_look = look;
    m_heads = std::move(heads);
    m_columns = std::max(1, columns);
    measure();
    m_drawn = {};
    update();
}

void SmallMultiples::measure()
{
    bool any = false;
    double left = 0, right = 1, low = 0, high = 1;
    for (const HeadCurves& head : m_heads)
        for (const ChartSeries& series : head.series)
            for (const QPointF& given : series.points) {
                const QPointF at = shownPoint(given, m_look);
                if (!std::isfinite(at.x()) || !std::isfinite(at.y()))
                    continue;
                left = any ? std::min(left, at.x()) : at.x();
                right = any ? std::max(right, at.x()) : at.x();
                low = any ? std::min(low, at.y()) : at.y();
                high = any ? std::max(high, at.y()) : at.y();
                any = true;
            }
    const auto isBars = [](const ChartSeries& series) { return series.style == SeriesStyle::Bars; };
    if (!m_heads.empty() && std::ranges::any_of(m_heads.front().series, isBars)) {
        if (m_look.yScale == ChartLook::Scale::Linear) { // they stand on zero
            low = std::min(low, 0.0);
            high = std::max(high, 0.0);
        }
        left -= 0.5;
        right += 0.5;
    }
    const double width = right > left ? right - left : 1;
    const double height = high > low ? high - low : std::max(1e-6, std::abs(low));
    m_range = {left, low, width, height};
}

void SmallMultiples::setCurrent(HeadId head)
{
    m_current = head;
    update();
}

SmallMultiples::Look SmallMultiples::onScreen() const
{
    return {secondaryFont(), themeColors(palette()), 1.2, true};
}

TileGrid SmallMultiples::tilesIn(const QRectF& all, const Look& look, const QPaintDevice* device) const
{
    TileGrid tiles{all, rows(), m_columns, {between, between}};
    if (!look.hasLabels)
        return tiles;
    const QFontMetricsF metrics(look.font, device);
    const double labels = std::max(metrics.horizontalAdvance(endText(m_range.top(), m_look.yScale)),
                                   metrics.horizontalAdvance(endText(m_range.bottom(), m_look.yScale)));
    tiles.area = all.adjusted(labels + gap, metrics.height() + gap, -gap, -2 * metrics.height() - gap);
    return tiles;
}

QRectF SmallMultiples::tileOf(const TileGrid& tiles, std::size_t index) const
{
    const auto place = static_cast<int>(index);
    return tiles.tile(place / m_columns, place % m_columns);
}

std::optional<std::size_t> SmallMultiples::indexOf(HeadId head) const
{
    const auto found =
        std::ranges::find_if(m_heads, [head](const HeadCurves& one) { return one.head == head; });
    return found == m_heads.end() ? std::nullopt
                                  : std::optional(static_cast<std::size_t>(found - m_heads.begin()));
}

QRectF SmallMultiples::tileRect(HeadId head) const
{
    const auto index = indexOf(head);
    return index ? tileOf(tilesIn(QRectF(rect()), onScreen(), this), *index) : QRectF();
}

std::optional<std::size_t> SmallMultiples::indexAt(const QPointF& position) const
{
    const TileGrid tiles = tilesIn(QRectF(rect()), onScreen(), this);
    const auto place = tiles.at(position);
    const auto index = place ? static_cast<std::size_t>(place->y() * m_columns + place->x()) : m_heads.size();
    const bool isTile =
        index < m_heads.size() && tileOf(tiles, index).contains(position); // or the gap beside it
    return isTile ? std::optional(index) : std::nullopt;
}

void SmallMultiples::paintTile(QPainter& painter, const QRectF& tile, const HeadCurves& head,
                               const Look& look) const
{
    painter.setPen(QPen(look.colors.border, look.lineWidth / 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(tile);
    const QFontMetricsF metrics(look.font, painter.device());
    const QString name = text(head.head);
    const bool hasName =
        tile.width() > metrics.horizontalAdvance(name) + 2 * gap && tile.height() > 2.2 * metrics.height();
    const double top = hasName ? metrics.height() : 1;
    const ChartFrame frame{.plot = tile.adjusted(2, top, -2, -2),
                           .range = m_range,
                           .look = m_look,
                           .font = look.font,
                           .colors = look.colors,
                           .hairline = look.lineWidth};
    if (m_look.yScale == ChartLook::Scale::Linear && m_range.top() < 0 && m_range.bottom() > 0) {
        const double zero = frame.map({m_range.left(), 0}).y();
        painter.drawLine(QPointF(frame.plot.left(), zero), QPointF(frame.plot.right(), zero));
    }
    for (std::size_t i = 0; i < head.series.size(); ++i) {
        const int index = static_cast<int>(i);
        paintChartSeries(painter, frame, head.series[i],
                         {seriesColor(index, look.colors), index, look.lineWidth});
    }
    painter.setPen(look.colors.muted);
    painter.setFont(look.font);
    if (hasName)
        painter.drawText(QPointF(tile.left() + gap, tile.top() + metrics.ascent()), name);
}

void SmallMultiples::paintLabels(QPainter& painter, const QRectF& all, const TileGrid& tiles,
                                 const Look& look) const
{
    const QFontMetricsF metrics(look.font, painter.device());
    painter.setFont(look.font);
    painter.setPen(look.colors.muted);
    const QRectF corner = tiles.tile(rows() - 1, 0);
    const auto beside = [&](double y, double value) {
        const QString words = endText(value, m_look.yScale);
        painter.drawText(QPointF(corner.left() - gap - metrics.horizontalAdvance(words), y), words);
    };
    beside(corner.bottom(), m_range.top());
    beside(corner.top() + metrics.ascent(), m_range.bottom());
    const double below = corner.bottom() + metrics.height();
    const QString last = endText(m_range.right(), m_look.xScale);
    painter.drawText(QPointF(corner.left(), below), endText(m_range.left(), m_look.xScale));
    painter.drawText(QPointF(corner.right() - metrics.horizontalAdvance(last), below), last);
    painter.drawText(
        QRectF(tiles.area.left(), all.bottom() - metrics.height() - 1, tiles.area.width(), metrics.height()),
        Qt::AlignCenter, m_look.xTitle);
    double x = tiles.area.left();
    painter.drawText(QPointF(x, all.top() + metrics.ascent()), m_look.yTitle);
    x += m_look.yTitle.isEmpty() ? 0 : metrics.horizontalAdvance(m_look.yTitle) + 3 * gap;
    for (std::size_t i = 0; i < m_heads.front().series.size(); ++i) {
        const QString& name = m_heads.front().series[i].name;
        painter.setPen(seriesColor(static_cast<int>(i), look.colors));
        painter.drawText(QPointF(x, all.top() + metrics.ascent()), name);
        x += name.isEmpty() ? 0 : metrics.horizontalAdvance(name) + 3 * gap;
    }
}

void SmallMultiples::paint(QPainter& painter, const QRectF& all, const Look& look) const
{
    painter.setRenderHint(QPainter::Antialiasing);
    const TileGrid tiles = tilesIn(all, look, painter.device());
    for (std::size_t i = 0; i < m_heads.size(); ++i)
        paintTile(painter, tileOf(tiles, i), m_heads[i], look);
    if (look.hasLabels)
        paintLabels(painter, all, tiles, look);
}

void SmallMultiples::paintEvent(QPaintEvent* /*event*/)
{
    if (m_heads.empty())
        return;
    if (m_drawn.isNull()) {
        m_drawn = QPixmap(size() * devicePixelRatioF());
        m_drawn.setDevicePixelRatio(devicePixelRatioF());
        m_drawn.fill(Qt::transparent);
        QPainter painter(&m_drawn);
        paint(painter, QRectF(rect()), onScreen());
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, m_drawn);
    if (const QRectF current = tileRect(m_current); !current.isEmpty())
        paintCellRing(painter, current, themeColors(palette()), Qt::SolidLine);
    if (hasFocus()) {
        painter.setPen(themeColors(palette()).accent);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void SmallMultiples::resizeEvent(QResizeEvent* event)
{
    m_drawn = {};
    QWidget::resizeEvent(event);
}

void SmallMultiples::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        m_drawn = {};
    QWidget::changeEvent(event);
}

void SmallMultiples::keyPressEvent(QKeyEvent* event)
{
    const auto current = indexOf(m_current);
    int step = 0;
    switch (event->key()) {
    case Qt::Key_Left: step = -1; break;
    case Qt::Key_Right: step = 1; break;
    case Qt::Key_Up: step = -m_columns; break;
    case Qt::Key_Down: step = m_columns; break;
    default: return QWidget::keyPressEvent(event);
    }
    const int next = current ? static_cast<int>(*current) + step : 0;
    if (next >= 0 && next < static_cast<int>(m_heads.size()))
        emit headChosen(m_heads[static_cast<std::size_t>(next)].head);
}

void SmallMultiples::mouseMoveEvent(QMouseEvent* event)
{
    if (const auto index = indexAt(event->position()))
        emit headHovered(m_heads[*index].head);
    else
        emit hoverLeft();
}

void SmallMultiples::mousePressEvent(QMouseEvent* event)
{
    const auto index = indexAt(event->position());
    if (index && event->button() == Qt::LeftButton)
        emit headChosen(m_heads[*index].head);
}

void SmallMultiples::leaveEvent(QEvent* /*event*/)
{
    emit hoverLeft();
}

void SmallMultiples::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    if (m_heads.empty())
        return;
    QRectF area(QPointF(), size);
    area.setTop(paintFigureTitle(painter, *this, size.width(), style));
    paint(painter, area, {figureFont(style), lightColors(), style.lineWidth, style.axes});
}

void SmallMultiples::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeRow({QStringLiteral("head"), QStringLiteral("curve"), QStringLiteral("x"), QStringLiteral("y")});
    for (const HeadCurves& head : m_heads)
        for (const ChartSeries& series : head.series)
            for (const QPointF& point : series.points)
                writeRow({text(head.head), series.name, exactNumber(point.x()), exactNumber(point.y())});
}

} // namespace headwise::ui
