#include "ui/heatmaps/heatmap_view.h"

#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/color_vision_effect.h"
#include "ui/heatmaps/heatmap_accessible.h"
#include "ui/heatmaps/shared_scale.h"

#include <QAccessible>
#include <QEvent>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise::ui {

namespace {

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

void HeatmapView::followColorChoice(const ColorChoice& before)
{
    ColorScale scale = colorScale();
    if (isSigned(scale.map) && scale.inverted == before.redIsNegative)
        scale.inverted = colorChoice().redIsNegative;
    else if (scale.map == before.sequential)
        scale.map = colorChoice().sequential;
    sharedScale() ? setColorScale(scale) : proposeScale(scale);
}

HeatmapView::HeatmapView(QWidget* parent)
    : QWidget(parent)
    , m_message(tr("Nothing to show yet"))
{
    installHeatmapAccessibility();
    followShownVision(this);
    connect(&ColorNews::instance(), &ColorNews::choiceChanged, this, &HeatmapView::followColorChoice);
    m_scene.scale = firstScale(true);
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
    m_scene.tiles = nullptr;
    if (m_loader)
        m_loader->setCircuit(nullptr);
    m_pyramid = std::make_unique<MatrixPyramid>(m_scene.matrix, m_scene.aggregate);
    m_notFinite = isEmpty() ? 0 : countNotFinite(*m_scene.matrix);
    m_statistics = isEmpty() ? ValueStatistics() : statisticsOf(*m_scene.matrix);
    contentChanged();
}

void HeatmapView::contentChanged()
{
    setPending(false);
    updateNorms();
    forgetRoom();
    m_level = -1;
    setColorScale(m_scene.scale);
    if (m_state.row >= m_scene.rowCount() || m_state.column >= m_scene.columnCount())
        setCurrentCell(-1, -1);
    updateVisible();
}

void HeatmapView::setRowAxis(const HeatmapAxis& axis)
{
    m_scene.rows = axis;
    forgetRoom();
    updateVisible();
}

void HeatmapView::setColumnAxis(const HeatmapAxis& axis)
{
    m_scene.columns = axis;
    forgetRoom();
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
    updateGeometry();
    updateVisible();
}

void HeatmapView::setLettersMove(bool move)
{
    m_lettersMove = move;
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
        possible.zoomX = clampedZoom(state.zoomX, m_scene.columnCount());
        possible.zoomY = clampedZoom(state.zoomY, m_scene.rowCount());
        if (state.row >= m_scene.rowCount() || state.column >= m_scene.columnCount() || state.row < 0
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
    // The description for screen readers: the current cell.
    setAccessibleDescription(tr("row %1, column %2: %3")
                                 .arg(axisLabel(m_scene.rows, m_state.row),
                                      axisLabel(m_scene.columns, m_state.column),
                                      number(double{m_scene.at(m_state.row, m_state.column)})));
    QAccessibleEvent event(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&event);
    const qint64 cell = qint64{m_state.row} * m_scene.columnCount() + m_state.column;
    if (!hasFocus() || cell > std::numeric_limits<int>::max())
        return;
    QAccessibleEvent focus(this, QAccessible::Focus);
    focus.setChild(static_cast<int>(cell));
    QAccessible::updateAccessibility(&focus);
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
    labels.setPointSize(secondaryFont().pointSize());
    QFont text = font();
    text.setPointSize(secondaryFont().pointSize());
    return {text, labels};
}

const HeatmapRoom& HeatmapView::room() const
{
    if (!m_room)
        m_room = heatmapRoom(m_scene, QSizeF(size()), fonts(), this);
    return *m_room;
}

void HeatmapView::forgetRoom()
{
    m_room.reset();
    updateGeometry(); // usableSize() depends on it
}

QRectF HeatmapView::cellsArea() const
{
    const QRectF area = QRectF(rect()).marginsRemoved(room().margins());
    if (m_shape == CellShape::Stretched || isEmpty())
        return {area.topLeft().toPoint(), area.size().toSize()};
    const QSizeF cells(static_cast<double>(m_scene.columnCount()), static_cast<double>(m_scene.rowCount()));
    return {area.topLeft().toPoint(), cells.scaled(area.size(), Qt::KeepAspectRatio).toSize()};
}

QSize HeatmapView::usableSize() const
{
    if (m_shape == CellShape::Stretched || isEmpty())
        return {QWIDGETSIZE_MAX, QWIDGETSIZE_MAX};
    const QMarginsF around = room().margins();
    const QSizeF margins(around.left() + around.right(), around.top() + around.bottom());
    const QSizeF inside = QSizeF(size()) - margins;
    const double ratio = static_cast<double>(m_scene.columnCount()) / static_cast<double>(m_scene.rowCount());
    const auto most = [](double length, double margin) {
        return static_cast<int>(std::ceil(std::clamp(length + margin, 1.0, double{QWIDGETSIZE_MAX})));
    };
    return {most(inside.height() * ratio, margins.width()), most(inside.width() / ratio, margins.height())};
}

QRectF HeatmapView::cellRect(int row, int column) const
{
    return isEmpty() ? QRectF() : ui::cellRect(cellsArea(), m_scene, row, column);
}

void HeatmapView::updateVisible()
{
    if (!isEmpty()) {
        const double columns = static_cast<double>(m_scene.columnCount());
        const double rows = static_cast<double>(m_scene.rowCount());
        m_state.zoomX = clampedZoom(m_state.zoomX, m_scene.columnCount());
        m_state.zoomY = clampedZoom(m_state.zoomY, m_scene.rowCount());
        m_state.centerX = clampedCenter(m_state.centerX, m_state.zoomX);
        m_state.centerY = clampedCenter(m_state.centerY, m_state.zoomY);
        const QSizeF size(columns / m_state.zoomX, rows / m_state.zoomY);
        m_scene.visible = {m_state.centerX * columns - size.width() / 2,
                           m_state.centerY * rows - size.height() / 2, size.width(), size.height()};
    }
    m_image = {};
    fitToLevel();
    update();
}

void HeatmapView::zoomAt(const QPointF& position, double factorX, double factorY)
{
    const QRectF cells = cellsArea();
    if (isEmpty() || cells.isEmpty())
        return;
    HeatmapState state = m_state;
    state.zoomX = clampedZoom(m_state.zoomX * factorX, m_scene.columnCount());
    state.zoomY = clampedZoom(m_state.zoomY * factorY, m_scene.rowCount());
    // The point under the cursor stays in place.
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
    return QPoint(std::clamp(static_cast<int>(x), 0, static_cast<int>(m_scene.columnCount()) - 1),
                  std::clamp(static_cast<int>(y), 0, static_cast<int>(m_scene.rowCount()) - 1));
}

void HeatmapView::resizeEvent(QResizeEvent* /*event*/)
{
    m_image = {};
    m_room.reset();
    fitToLevel();
}

void HeatmapView::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        m_image = {};
        forgetRoom();
        updateVisible();
    }
    QWidget::changeEvent(event);
}

} // namespace headwise::ui
