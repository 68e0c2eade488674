#include "ui/charts/pattern_grid.h"

#include "core/results/color_scale.h"
#include "ui/base/text.h"
#include "ui/figures/figure_export_title.h"
#include "ui/heatmaps/heatmap_painter.h"
#include "ui/widgets/picture_accessible.h"
#include "ui/widgets/subject.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double share = 0.9; // of a grid cell that its tile fills
const QString patternGridWidestLabel = QStringLiteral("L000");

Eigen::MatrixXf strongestBlocks(const Eigen::Ref<const Eigen::MatrixXf>& pattern, Eigen::Index side)
{
    const Eigen::Index rows = std::min(side, pattern.rows()), columns = std::min(side, pattern.cols());
    Eigen::MatrixXf small = Eigen::MatrixXf::Zero(rows, columns);
    for (Eigen::Index column = 0; column < pattern.cols(); ++column)
        for (Eigen::Index row = 0; row < pattern.rows(); ++row) {
            float& entry = small(row * rows / pattern.rows(), column * columns / pattern.cols());
            entry = std::max(entry, pattern(row, column));
        }
    return small;
}

} // namespace

Patterns smallPatterns(const Patterns& patterns, Eigen::Index side, Eigen::Index skipped)
{
    Patterns small(patterns.size());
    for (std::size_t layer = 0; layer < patterns.size(); ++layer)
        for (const Eigen::MatrixXf& pattern : patterns[layer])
            small[layer].push_back(strongestBlocks(
                pattern.bottomRightCorner(pattern.rows() - skipped, pattern.cols() - skipped), side));
    return small;
}

PatternGrid::PatternGrid(QWidget* parent)
    : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(120, 80);
    setSubjects(this, [this](const QPoint& position) {
        const std::optional<HeadId> head = headAt(position);
        return head ? Subject{.heads = {*head}} : Subject{};
    });
    installPictureAccessibility();
}

void PatternGrid::setPatterns(std::shared_ptr<const Patterns> small, std::shared_ptr<const Patterns> all)
{
    m_patterns = std::move(small);
    m_all = std::move(all);
    m_images.clear();
    update();
}

void PatternGrid::setHighest(float attention)
{
    m_highest = attention;
    m_images.clear();
    update();
}

void PatternGrid::setCurrent(HeadId head)
{
    m_current = head;
    update();
    announceCurrentCell(this);
}

void PatternGrid::setLit(std::optional<HeadId> head)
{
    m_lit = head;
    update();
}

PatternGrid::Entry PatternGrid::strongest(HeadId head) const
{
    const Eigen::MatrixXf& pattern =
        (*m_all)[static_cast<std::size_t>(head.layer)][static_cast<std::size_t>(head.head)];
    Eigen::Index query = 0, key = 0;
    const float value = pattern.size() > 0 ? pattern.maxCoeff(&query, &key) : 0.0F;
    return {static_cast<int>(query), static_cast<int>(key), value};
}

TileGrid PatternGrid::tilesIn(const QRectF& all, const QFont& font, bool hasLabels,
                              const QPaintDevice* device) const
{
    if (layers() == 0 || heads() == 0)
        return {};
    const QFontMetricsF metrics(font, device);
    QRectF room = all;
    if (hasLabels)
        room.adjust(metrics.horizontalAdvance(patternGridWidestLabel), metrics.height(), 0, 0);
    const double side = std::max(1.0, std::min(room.width() / heads(), room.height() / layers()));
    const double gap = (1 - share) * side;
    return {{room.topLeft(), QSizeF(side * heads(), side * layers())}, layers(), heads(), {gap, gap}};
}

QRectF PatternGrid::tileRect(HeadId head) const
{
    return tilesIn(QRectF(rect()), secondaryFont(), true, this).tile(head.layer, head.head);
}

std::optional<HeadId> PatternGrid::headAt(const QPointF& position) const
{
    const auto place = tilesIn(QRectF(rect()), secondaryFont(), true, this).at(position);
    return place ? std::optional(HeadId{place->y(), place->x()}) : std::nullopt;
}

QImage PatternGrid::picture(HeadId head, bool dark) const
{
    const Eigen::MatrixXf& pattern =
        (*m_patterns)[static_cast<std::size_t>(head.layer)][static_cast<std::size_t>(head.head)];
    ColorScale scale{ColorMap::Attention, 0, m_highest, ColorFit::Fixed};
    if (dark)
        scale.map = darkTwin(scale.map);
    const Colorizer color(scale);
    QImage image(static_cast<int>(pattern.cols()), static_cast<int>(pattern.rows()), QImage::Format_RGB32);
    for (int row = 0; row < image.height(); ++row)
        for (int column = 0; column < image.width(); ++column)
            image.setPixel(column, row, color(pattern(row, column)));
    return image;
}

void PatternGrid::paintLabels(QPainter& painter, const TileGrid& tiles, const QFont& font,
                              const ThemeColors& colors) const
{
    const QFontMetricsF metrics(font, painter.device());
    const double side = tiles.place().width();
    painter.setFont(font);
    painter.setPen(colors.muted);
    const auto stepFor = [side](double room) {
        return std::max(1, static_cast<int>(std::ceil(room / side)));
    };
    for (int layer = 0; layer < layers(); layer += stepFor(metrics.height()))
        painter.drawText(QRectF(tiles.area.left() - 104, tiles.area.top() + layer * side, 100, share * side),
                         Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("L%1").arg(layer));
    for (int head = 0; head < heads(); head += stepFor(metrics.horizontalAdvance(QStringLiteral("000"))))
        painter.drawText(QRectF(tiles.area.left() + head * side, tiles.area.top() - metrics.height(),
                                share * side, metrics.height()),
                         Qt::AlignCenter, QString::number(head));
}

void PatternGrid::paintEvent(QPaintEvent* /*event*/)
{
    if (layers() == 0)
        return;
    QPainter painter(this);
    const ThemeColors& colors = themeColors(palette());
    if (m_images.empty())
        for (int layer = 0; layer < layers(); ++layer)
            for (int head = 0; head < heads(); ++head)
                m_images.push_back(picture({layer, head}, colors.dark));
    const TileGrid tiles = tilesIn(QRectF(rect()), secondaryFont(), true, this);
    paintLabels(painter, tiles, secondaryFont(), colors);
    for (int layer = 0; layer < layers(); ++layer)
        for (int head = 0; head < heads(); ++head) {
            const QRectF tile = tiles.tile(layer, head);
            painter.drawImage(tile,
                              m_images[static_cast<std::size_t>(layer) * static_cast<std::size_t>(heads())
                                       + static_cast<std::size_t>(head)]);
            painter.setPen(colors.border);
            painter.drawRect(tile);
        }
    if (m_current.layer < layers() && m_current.head < heads())
        paintCellRing(painter, tiles.tile(m_current.layer, m_current.head), colors, Qt::SolidLine);
    if (m_lit && m_lit->layer < layers() && m_lit->head < heads())
        paintThinRing(painter, tiles.tile(m_lit->layer, m_lit->head), colors);
    if (hasFocus()) {
        painter.setPen(colors.accent);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void PatternGrid::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange)
        m_images.clear();
    QWidget::changeEvent(event);
}

void PatternGrid::keyPressEvent(QKeyEvent* event)
{
    HeadId next = m_current;
    if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier))
        return QWidget::keyPressEvent(event);
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_H: --next.head; break;
    case Qt::Key_Right:
    case Qt::Key_L: ++next.head; break;
    case Qt::Key_Up:
    case Qt::Key_K:
    case Qt::Key_PageUp: --next.layer; break;
    case Qt::Key_Down:
    case Qt::Key_J:
    case Qt::Key_PageDown: ++next.layer; break;
    case Qt::Key_Home: next.head = 0; break;
    case Qt::Key_End: next.head = heads() - 1; break;
    default: return QWidget::keyPressEvent(event);
    }
    if (next.layer >= 0 && next.layer < layers() && next.head >= 0 && next.head < heads())
        emit headChosen(next);
}

void PatternGrid::mouseMoveEvent(QMouseEvent* event)
{
    if (const auto head = headAt(event->position()))
        emit headHovered(*head);
    else
        emit hoverLeft();
}

void PatternGrid::mousePressEvent(QMouseEvent* event)
{
    const auto head = headAt(event->position());
    if (!head || event->button() != Qt::LeftButton)
        return;
    if (event->modifiers().testFlag(Qt::ShiftModifier))
        emit headReferenced(*head);
    else
        emit headChosen(*head);
}

void PatternGrid::leaveEvent(QEvent* /*event*/)
{
    emit hoverLeft();
}

void PatternGrid::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    if (layers() == 0)
        return;
    QRectF area(QPointF(), size);
    area.setTop(paintFigureTitle(painter, *this, size.width(), style));
    if (style.colorBar && !m_valueTitle.isEmpty())
        area.setBottom(area.bottom()
                       - paintFigureNote(painter,
                                         tr("%1: white 0, full colour %2; rows are queries, columns keys")
                                             .arg(m_valueTitle, number(double{m_highest})),
                                         size, style));
    const QFont font = figureFont(style);
    const TileGrid tiles = tilesIn(area, font, style.axes, painter.device());
    if (style.axes)
        paintLabels(painter, tiles, font, lightColors());
    for (int layer = 0; layer < layers(); ++layer)
        for (int head = 0; head < heads(); ++head) {
            const QRectF tile = tiles.tile(layer, head);
            painter.drawImage(tile, picture({layer, head}, false));
            painter.setPen(QPen(lightColors().border, 0.4 * style.lineWidth));
            painter.drawRect(tile);
        }
}

void PatternGrid::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeRow({QStringLiteral("layer"), QStringLiteral("head"), QStringLiteral("query"), QStringLiteral("key"),
              QStringLiteral("attention")});
    for (int layer = 0; layer < layers(); ++layer)
        for (int head = 0; head < heads(); ++head) {
            const Eigen::MatrixXf& pattern =
                (*m_all)[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
            for (Eigen::Index query = 0; query < pattern.rows(); ++query)
                for (Eigen::Index key = 0; key < pattern.cols(); ++key)
                    writeRow({QString::number(layer), QString::number(head), QString::number(query),
                              QString::number(key), exactNumber(pattern(query, key))});
        }
}

} // namespace headwise::ui
