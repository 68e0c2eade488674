#include "ui/charts/small_multiples.h"

#include "ui/base/text.h"
#include "ui/charts/chart_painter.h"
#include "ui/figures/figure_export_title.h"
#include "ui/heatmaps/heatmap_painter.h"
#include "ui/widgets/subject.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double smallMultiplesBetween = 4; // between tiles, device units
constexpr double smallMultiplesGap = 4;

/// Formats the label at the end of an axis.
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
    setSubjects(this, [this](const QPoint& position) {
        const std::optional<std::size_t> index = indexAt(position);
        return index ? Subject{.heads = {m_heads[*index].head}} : Subject{};
    });
}

int SmallMultiples::rows() const
{
    return (static_cast<int>(m_heads.size()) + m_columns - 1) / std::max(1, m_columns);
}

void SmallMultiples::setCurves(const ChartLook& look, std::vector<HeadCurves> heads, int columns)
{
    m_look = look;
    m_heads = std::move(heads);
    m_cells.clear();
    m_columns = std::max(1, columns);
    measure();
    m_drawn = {};
    update();
}

void SmallMultiples::setCells(const ColorScale& scale, const std::pair<QString, QString>& axes,
                              std::vector<HeadCells> heads, int columns)
{
    m_look = {};
    m_look.yTitle = axes.first;
    m_look.xTitle = axes.second;
    m_heads.clear();
    m_cells.clear();
    for (HeadCells& head : heads) {
        m_heads.push_back({head.head, {}});
        m_cells.push_back(std::move(head.cells));
    }
    m_scale = scale;
    m_columns = std::max(1, columns);
    m_drawn = {};
    update();
}

void SmallMultiples::setValueTitle(const QString& title)
{
    m_valueTitle = title;
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
        if (m_look.yScale == ChartLook::Scale::Linear) { // bars start at zero
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

void SmallMultiples::setLit(std::optional<HeadId> head)
{
    m_lit = head;
    update();
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
    TileGrid tiles{all, rows(), m_columns, {smallMultiplesBetween, smallMultiplesBetween}};
    if (!look.hasLabels)
        return tiles;
    const QFontMetricsF metrics(look.font, device);
    if (!m_cells.empty()) {
        tiles.area = all.adjusted(smallMultiplesGap, metrics.height() + smallMultiplesGap, -smallMultiplesGap,
                                  -smallMultiplesGap);
        return tiles;
    }
    const double labels = std::max(metrics.horizontalAdvance(endText(m_range.top(), m_look.yScale)),
                                   metrics.horizontalAdvance(endText(m_range.bottom(), m_look.yScale)));
    tiles.area = all.adjusted(labels + smallMultiplesGap, metrics.height() + smallMultiplesGap,
                              -smallMultiplesGap, -2 * metrics.height() - smallMultiplesGap);
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

void SmallMultiples::paintTile(QPainter& painter, const QRectF& tile, std::size_t index,
                               const Look& look) const
{
    painter.setPen(QPen(look.colors.border, look.lineWidth / 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(tile);
    const QFontMetricsF metrics(look.font, painter.device());
    const QString name = text(m_heads[index].head);
    const bool hasName = tile.width() > metrics.horizontalAdvance(name) + 2 * smallMultiplesGap
        && tile.height() > 2.2 * metrics.height();
    const double top = hasName ? metrics.height() : 1;
    const QRectF plot = tile.adjusted(2, top, -2, -2);
    if (m_cells.empty())
        paintCurves(painter, plot, m_heads[index], look);
    else
        paintCells(painter, plot, m_cells[index], look);
    painter.setPen(look.colors.muted);
    painter.setFont(look.font);
    if (hasName)
        painter.drawText(QPointF(tile.left() + smallMultiplesGap, tile.top() + metrics.ascent()), name);
}

void SmallMultiples::paintCurves(QPainter& painter, const QRectF& plot, const HeadCurves& head,
                                 const Look& look) const
{
    const ChartFrame frame{.plot = plot,
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
}

namespace {

/// Adapts a scale to a light or dark background.
ColorScale on(const ThemeColors& colors, ColorScale scale)
{
    if (colors.dark)
        scale.map = darkTwin(scale.map);
    return scale;
}

} // namespace

void SmallMultiples::paintCells(QPainter& painter, const QRectF& plot, const Eigen::MatrixXf& cells,
                                const Look& look) const
{
    if (cells.size() == 0)
        return;
    std::vector<Rgb> pixels = toPixels(cells, on(look.colors, m_scale));
    for (Eigen::Index row = 0; row < cells.rows(); ++row)
        for (Eigen::Index column = 0; column < cells.cols(); ++column)
            if (std::isnan(cells(row, column))) // no value, as above a diagonal
                pixels[static_cast<std::size_t>(row * cells.cols() + column)] = look.colors.base.rgb();
    const QImage image(reinterpret_cast<const uchar*>(pixels.data()), static_cast<int>(cells.cols()),
                       static_cast<int>(cells.rows()), static_cast<int>(4 * cells.cols()),
                       QImage::Format_RGB32);
    QSizeF size = plot.size();
    if (cells.rows() == cells.cols()) // square cells
        size = QSizeF(1, 1).scaled(plot.size(), Qt::KeepAspectRatio);
    QRectF area(QPointF(), size);
    area.moveCenter(plot.center());
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(area, image);
}

/// Paints the colour scale and the names of rows and columns on the line above the tiles.
void SmallMultiples::paintScale(QPainter& painter, const QRectF& all, const Look& look) const
{
    constexpr int width = 60;
    const QFontMetricsF metrics(look.font, painter.device());
    const double base = all.top() + metrics.ascent();
    painter.setFont(look.font);
    painter.setPen(look.colors.muted);
    const QString low = number(m_scale.low), high = number(m_scale.high);
    double x = all.left() + smallMultiplesGap;
    painter.drawText(QPointF(x, base), low);
    x += metrics.horizontalAdvance(low) + smallMultiplesGap;
    Eigen::MatrixXf steps(1, width);
    for (int i = 0; i < width; ++i)
        steps(0, i) = valueAt((static_cast<float>(i) + 0.5F) / width, m_scale);
    paintCells(painter, QRectF(x, all.top() + 2, width, metrics.height() - 4), steps, look);
    x += width + smallMultiplesGap;
    painter.drawText(QPointF(x, base), high);
    x += metrics.horizontalAdvance(high) + 4 * smallMultiplesGap;
    const QString axes = tr("rows: %1, columns: %2").arg(m_look.yTitle, m_look.xTitle);
    const QString words = m_valueTitle.isEmpty() ? axes : tr("%1 · %2").arg(m_valueTitle, axes);
    painter.drawText(QPointF(x, base),
                     metrics.elidedText(words, Qt::ElideRight, std::max(0.0, all.right() - x)));
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
        painter.drawText(QPointF(corner.left() - smallMultiplesGap - metrics.horizontalAdvance(words), y),
                         words);
    };
    beside(corner.bottom(), m_range.top());
    // Above the other one, even where the tile is lower than both.
    beside(std::min(corner.top() + metrics.ascent(), corner.bottom() - metrics.height()), m_range.bottom());
    const double below = corner.bottom() + metrics.height();
    constexpr double inward = 0.25; // from the half that is free beside bars
    const auto stepText = [this](double shown, double toward) {
        const double x = m_look.xScale == ChartLook::Scale::Log ? std::pow(10.0, shown) : shown;
        return m_look.wholeX ? QString::number(qRound64(x + toward)) : number(x);
    };
    const QString first = stepText(m_range.left(), inward), last = stepText(m_range.right(), -inward);
    const bool haveRoom = metrics.horizontalAdvance(first + last) + smallMultiplesGap <= corner.width();
    painter.drawText(QPointF(corner.left(), below), haveRoom ? first : tr("%1 to %2").arg(first, last));
    if (haveRoom)
        painter.drawText(QPointF(corner.right() - metrics.horizontalAdvance(last), below), last);
    painter.drawText(
        QRectF(tiles.area.left(), all.bottom() - metrics.height() - 1, tiles.area.width(), metrics.height()),
        Qt::AlignCenter, m_look.xTitle);
    double x = tiles.area.left();
    painter.drawText(QPointF(x, all.top() + metrics.ascent()), m_look.yTitle);
    x += m_look.yTitle.isEmpty() ? 0 : metrics.horizontalAdvance(m_look.yTitle) + 3 * smallMultiplesGap;
    for (std::size_t i = 0; i < m_heads.front().series.size(); ++i) {
        const bool isDrawn = std::ranges::any_of(m_heads, [i](const HeadCurves& head) {
            return i < head.series.size() && !head.series[i].points.isEmpty();
        });
        const QString name = isDrawn ? m_heads.front().series[i].name : QString();
        painter.setPen(seriesColor(static_cast<int>(i), look.colors));
        painter.drawText(QPointF(x, all.top() + metrics.ascent()), name);
        x += name.isEmpty() ? 0 : metrics.horizontalAdvance(name) + 3 * smallMultiplesGap;
    }
}

void SmallMultiples::paint(QPainter& painter, const QRectF& all, const Look& look) const
{
    painter.setRenderHint(QPainter::Antialiasing);
    const TileGrid tiles = tilesIn(all, look, painter.device());
    for (std::size_t i = 0; i < m_heads.size(); ++i)
        paintTile(painter, tileOf(tiles, i), i, look);
    if (look.hasLabels && m_cells.empty())
        paintLabels(painter, all, tiles, look);
    else if (look.hasLabels)
        paintScale(painter, all, look);
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
    if (const QRectF lit = m_lit ? tileRect(*m_lit) : QRectF(); !lit.isEmpty())
        paintThinRing(painter, lit, themeColors(palette()));
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
    if (!m_cells.empty()) {
        writeRow({QStringLiteral("head"), m_look.yTitle, m_look.xTitle, QStringLiteral("value")});
        for (std::size_t i = 0; i < m_cells.size(); ++i)
            for (Eigen::Index row = 0; row < m_cells[i].rows(); ++row)
                for (Eigen::Index column = 0; column < m_cells[i].cols(); ++column)
                    writeRow({text(m_heads[i].head), QString::number(row), QString::number(column),
                              exactNumber(m_cells[i](row, column))});
        return;
    }
    writeRow({QStringLiteral("head"), QStringLiteral("curve"), QStringLiteral("x"), QStringLiteral("y")});
    for (const HeadCurves& head : m_heads)
        for (const ChartSeries& series : head.series)
            for (const QPointF& point : series.points)
                writeRow({text(head.head), series.name, exactNumber(point.x()), exactNumber(point.y())});
}

} // namespace headwise::ui
