#include "ui/views/heatmap_view.h"

#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/shared_scale.h"

#include <QAccessible>
#include <QEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double valueWidth = 40; // px; from here on a cell has room for its number
constexpr double valueHeight = 16;

// At least two cells stay in view, or one if there is only one.
double clampedZoom(double zoom, Eigen::Index cells)
{
    return std::clamp(zoom, 1.0, std::max(1.0, static_cast<double>(cells) / 2));
}

double clampedCenter(double center, double zoom)
{
    return std::clamp(center, 0.5 / zoom, 1 - 0.5 / zoom);
}

qint64 countNotFinite(const Eigen::MatrixXf& matrix)
{
    return matrix.size() - matrix.array().isFinite().count();
}

} // namespace

HeatmapView::HeatmapView(QWidget* parent)
    : QWidget(parent)
    , m_message(tr("Nothing to show yet"))
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    m_dimTimer.setSingleShot(true);
    m_dimTimer.setInterval(200);
    connect(&m_dimTimer, &QTimer::timeout, this, [this] {
        m_dimmed = true;
        update();
    });
}

HeatmapView::~HeatmapView()
{
    if (m_shared)
        m_shared->remove(this);
}

void HeatmapView::setMatrix(Matrix matrix)
{
    m_scene.matrix = std::move(matrix);
    m_pyramid = std::make_unique<StrongestPyramid>(m_scene.matrix);
    m_notFinite = isEmpty() ? 0 : countNotFinite(*m_scene.matrix);
    m_statistics = isEmpty() ? ValueStatistics() : statisticsOf(*m_scene.matrix);
    setPending(false);
    setColorScale(m_scene.scale);
    if (isEmpty() || m_state.row >= m_scene.matrix->rows() || m_state.column >= m_scene.matrix->cols())
        setCurrentCell(-1, -1);
    updateVisible();
}

void HeatmapView::setRowAxis(const HeatmapAxis& axis)
{
    m_scene.rows = axis;
    updateVisible();
}

void HeatmapView::setColumnAxis(const HeatmapAxis& axis)
{
    m_scene.columns = axis;
    updateVisible();
}

void HeatmapView::setNanIsAbsent(bool absent)
{
    m_scene.nanIsAbsent = absent;
    updateVisible();
}

void HeatmapView::setCellShape(CellShape shape)
{
    m_shape = shape;
    updateVisible();
}

void HeatmapView::setColorScale(const ColorScale& scale)
{
    if (m_shared)
        return m_shared->setScale(scale);
    showScale(isEmpty() ? scale : fitted(scale, m_statistics));
}

void HeatmapView::showScale(const ColorScale& scale)
{
    if (scale == m_scene.scale)
        return;
    m_scene.scale = scale;
    m_image = {};
    update();
    emit colorScaleChanged(scale);
}

ColorScale HeatmapView::shownScale() const
{
    ColorScale scale = m_scene.scale;
    if (themeColors(palette()).dark)
        scale.map = darkTwin(scale.map);
    return scale;
}

void HeatmapView::setState(const HeatmapState& state)
{
    HeatmapState possible = state;
    if (!isEmpty()) {
        possible.zoomX = clampedZoom(state.zoomX, m_scene.matrix->cols());
        possible.zoomY = clampedZoom(state.zoomY, m_scene.matrix->rows());
        if (state.row >= m_scene.matrix->rows() || state.column >= m_scene.matrix->cols() || state.row < 0
            || state.column < 0)
            possible.row = possible.column = -1;
    }
    possible.centerX = clampedCenter(state.centerX, possible.zoomX);
    possible.centerY = clampedCenter(state.centerY, possible.zoomY);
    if (possible == m_state)
        return;
    const bool moved = possible.row != m_state.row || possible.column != m_state.column;
    m_state = possible;
    updateVisible();
    emit stateChanged(m_state);
    if (!moved)
        return;
    emit currentCellChanged(m_state.row, m_state.column);
    if (m_state.row < 0)
        return;
    // What a screen reader says for the picture: the cell one stands on.
    setAccessibleDescription(tr("row %1, column %2: %3")
                                 .arg(axisLabel(m_scene.rows, m_state.row),
                                      axisLabel(m_scene.columns, m_state.column),
                                      number(double{(*m_scene.matrix)(m_state.row, m_state.column)})));
    QAccessibleEvent event(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&event);
}

void HeatmapView::setCurrentCell(int row, int column)
{
    HeatmapState state = m_state;
    state.row = row;
    state.column = column;
    setState(state);
}

void HeatmapView::setReferenceCell(int row, int column)
{
    m_reference = {column, row};
    update();
}

void HeatmapView::resetZoom()
{
    setState({.row = m_state.row, .column = m_state.column});
}

void HeatmapView::setPending(bool pending)
{
    m_dimmed = false;
    if (pending)
        m_dimTimer.start();
    else
        m_dimTimer.stop();
    update();
}

void HeatmapView::setMessage(const QString& message)
{
    m_message = message;
    update();
}

QSize HeatmapView::sizeHint() const
{
    return {400, 400};
}

QSize HeatmapView::minimumSizeHint() const
{
    return {120, 120};
}

HeatmapFonts HeatmapView::fonts() const
{
    QFont labels = tokenFont();
    labels.setPointSize(9);
    QFont text = font();
    text.setPointSize(9);
    return {text, labels};
}

QRectF HeatmapView::cellsArea() const
{
    const QRectF room =
        QRectF(rect()).marginsRemoved(heatmapRoom(m_scene, QSizeF(size()), fonts(), this).margins());
    if (m_shape == CellShape::Stretched || isEmpty())
        return {room.topLeft().toPoint(), room.size().toSize()};
    const QSizeF cells(static_cast<double>(m_scene.matrix->cols()),
                       static_cast<double>(m_scene.matrix->rows()));
    return {room.topLeft().toPoint(), cells.scaled(room.size(), Qt::KeepAspectRatio).toSize()};
}

QRectF HeatmapView::cellRect(int row, int column) const
{
    return isEmpty() ? QRectF() : ui::cellRect(cellsArea(), m_scene, row, column);
}

void HeatmapView::updateVisible()
{
    if (!isEmpty()) {
        const double columns = static_cast<double>(m_scene.matrix->cols());
        const double rows = static_cast<double>(m_scene.matrix->rows());
        m_state.zoomX = clampedZoom(m_state.zoomX, m_scene.matrix->cols());
        m_state.zoomY = clampedZoom(m_state.zoomY, m_scene.matrix->rows());
        m_state.centerX = clampedCenter(m_state.centerX, m_state.zoomX);
        m_state.centerY = clampedCenter(m_state.centerY, m_state.zoomY);
        const QSizeF size(columns / m_state.zoomX, rows / m_state.zoomY);
        m_scene.visible = {m_state.centerX * columns - size.width() / 2,
                           m_state.centerY * rows - size.height() / 2, size.width(), size.height()};
    }
    m_image = {};
    update();
}

void HeatmapView::zoomAt(const QPointF& position, double factorX, double factorY)
{
    const QRectF cells = cellsArea();
    if (isEmpty() || cells.isEmpty())
        return;
    HeatmapState state = m_state;
    state.zoomX = clampedZoom(m_state.zoomX * factorX, m_scene.matrix->cols());
    state.zoomY = clampedZoom(m_state.zoomY * factorY, m_scene.matrix->rows());
    // The point under the cursor stays where it is.
    const double u = std::clamp((position.x() - cells.left()) / cells.width(), 0.0, 1.0) - 0.5;
    const double v = std::clamp((position.y() - cells.top()) / cells.height(), 0.0, 1.0) - 0.5;
    state.centerX = m_state.centerX + u / m_state.zoomX - u / state.zoomX;
    state.centerY = m_state.centerY + v / m_state.zoomY - v / state.zoomY;
    setState(state);
}

std::optional<QPoint> HeatmapView::cellAt(const QPointF& position) const
{
    const QRectF cells = cellsArea();
    if (isEmpty() || !cells.contains(position))
        return std::nullopt;
    const double x =
        m_scene.visible.left() + (position.x() - cells.left()) / cells.width() * m_scene.visible.width();
    const double y =
        m_scene.visible.top() + (position.y() - cells.top()) / cells.height() * m_scene.visible.height();
    return QPoint(std::clamp(static_cast<int>(x), 0, static_cast<int>(m_scene.matrix->cols()) - 1),
                  std::clamp(static_cast<int>(y), 0, static_cast<int>(m_scene.matrix->rows()) - 1));
}

void HeatmapView::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const ThemeColors& colors = themeColors(palette());
    if (isEmpty())
        return paintNothing(painter);
    HeatmapScene scene = m_scene;
    scene.scale = shownScale();
    const QRectF cells = cellsArea();
    if (m_image.isNull()) {
        m_image = heatmapImage(scene, *m_pyramid, (cells.size() * devicePixelRatioF()).toSize(), colors);
        m_image.setDevicePixelRatio(devicePixelRatioF());
    }
    painter.drawImage(cells.topLeft(), m_image);
    const QSizeF cell = cellRect(0, 0).size();
    if (cell.width() >= valueWidth && cell.height() >= valueHeight)
        paintHeatmapValues(painter, cells, scene, fonts().text);
    if (m_dimmed) {
        QColor veil = colors.window;
        veil.setAlphaF(0.6F);
        painter.fillRect(cells, veil);
    }
    paintHeatmapAxes(painter, cells, heatmapRoom(scene, QSizeF(size()), fonts(), this), scene, fonts(),
                     colors);
    paintOverlays(painter, cells);
}

void HeatmapView::paintOverlays(QPainter& painter, const QRectF& cells) const
{
    const ThemeColors& colors = themeColors(palette());
    painter.setPen(QPen(hasFocus() ? colors.accent : colors.border, 1));
    painter.drawRect(cells.adjusted(-0.5, -0.5, 0.5, 0.5));
    painter.save();
    painter.setClipRect(cells.adjusted(-3, -3, 3, 3));
    if (m_reference.x() >= 0)
        paintCellRing(painter, cellRect(m_reference.y(), m_reference.x()), colors, Qt::DashLine);
    if (m_state.row >= 0)
        paintCellRing(painter, cellRect(m_state.row, m_state.column), colors, Qt::SolidLine);
    painter.restore();
    const QString corner = cornerText();
    if (corner.isEmpty())
        return;
    painter.setFont(fonts().text);
    const QFontMetricsF metrics(fonts().text, this);
    const QRectF chip(cells.left() + 6, cells.bottom() - metrics.height() - 10,
                      metrics.horizontalAdvance(corner) + 12, metrics.height() + 4);
    QColor ground = colors.base;
    ground.setAlphaF(0.88F);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ground);
    painter.drawRoundedRect(chip, 4, 4);
    painter.setPen(colors.muted);
    painter.drawText(chip, Qt::AlignCenter, corner);
}

QString HeatmapView::cornerText() const
{
    QStringList parts;
    const QRectF cells = cellsArea();
    const double across = m_scene.visible.width() / (cells.width() * devicePixelRatioF());
    const double down = m_scene.visible.height() / (cells.height() * devicePixelRatioF());
    if (across > 1 || down > 1)
        parts << tr("a pixel shows the strongest of %1 × %2 cells")
                     .arg(std::max(1, qRound(std::ceil(down))))
                     .arg(std::max(1, qRound(std::ceil(across))));
    if (m_notFinite > 0 && !m_scene.nanIsAbsent)
        parts << (m_notFinite == 1 ? tr("1 value is not finite")
                                   : tr("%1 values are not finite").arg(ui::count(m_notFinite)));
    return parts.join(QStringLiteral(" · "));
}

void HeatmapView::paintNothing(QPainter& painter) const
{
    painter.setPen(themeColors(palette()).muted);
    painter.setFont(font());
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap, m_message);
}

void HeatmapView::resizeEvent(QResizeEvent* /*event*/)
{
    m_image = {};
}

void HeatmapView::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        m_image = {};
        update();
    }
    QWidget::changeEvent(event);
}

} // namespace headwise::ui
