#include "ui/heatmaps/split_bar.h"

#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {
constexpr int splitBarReach = 9; // px, wide enough to grab; odd, so that the line is in the middle
}

SplitBar::SplitBar(HeatmapView* view)
    : QAbstractSlider(view)
    , m_view(view)
{
    setOrientation(Qt::Horizontal);
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::SplitHCursor);
    view->installEventFilter(this);
    connect(view->zoom(), &HeatmapZoom::stateChanged, this, &SplitBar::place);
}

QRectF SplitBar::allCells() const
{
    if (m_view->isEmpty())
        return {};
    return m_view->cells().rect(0, 0).united(
        m_view->cells().rect(static_cast<int>(m_view->scene().rowCount()) - 1,
                             static_cast<int>(m_view->scene().columnCount()) - 1));
}

void SplitBar::place()
{
    const QRectF all = allCells();
    setVisible(!all.isEmpty());
    if (all.isEmpty())
        return;
    const HeatmapState& state = m_view->zoom()->state();
    const QRectF visible(all.left() + (state.centerX - 0.5 / state.zoomX) * all.width(),
                         all.top() + (state.centerY - 0.5 / state.zoomY) * all.height(),
                         all.width() / state.zoomX, all.height() / state.zoomY);
    const double wanted =
        all.left() + value() * all.width() / static_cast<double>(m_view->scene().columnCount());
    const int x = qRound(std::clamp(wanted, visible.left(), visible.right()));
    const int left = std::min(x - splitBarReach / 2,
                              m_view->width() - splitBarReach); // keeps its whole width inside the right edge
    setGeometry(left, qRound(visible.top()), splitBarReach, qRound(visible.height()));
}

bool SplitBar::eventFilter(QObject* watched, QEvent* event)
{
    // After painting, the view knows the space of its labels.
    if (watched == m_view && event->type() == QEvent::Paint)
        QMetaObject::invokeMethod(this, &SplitBar::place, Qt::QueuedConnection);
    return QAbstractSlider::eventFilter(watched, event);
}

void SplitBar::paintEvent(QPaintEvent*)
{
    const ThemeColors& colors = themeColors(palette());
    QPainter painter(this);
    const QRectF line(QRectF(rect()).center().x() - 1, 0, 2, height());
    painter.fillRect(line.adjusted(-1, 0, 1, 0), colors.base); // Visible on any colour of the map.
    painter.fillRect(line, colors.accent);
    QRectF grip(0, 0, splitBarReach - 2, 24);
    grip.moveCenter(QRectF(rect()).center());
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(hasFocus() ? colors.text : colors.base, hasFocus() ? 2 : 1));
    painter.setBrush(colors.accent);
    painter.drawRoundedRect(grip, 3, 3);
}

void SplitBar::mousePressEvent(QMouseEvent* event)
{
    setSliderDown(event->button() == Qt::LeftButton);
}

void SplitBar::mouseMoveEvent(QMouseEvent* event)
{
    const QRectF all = allCells();
    if (!isSliderDown() || all.isEmpty())
        return;
    const double x = mapTo(m_view, event->position().toPoint()).x();
    setValue(static_cast<int>(
        std::lround((x - all.left()) / all.width() * static_cast<double>(m_view->scene().columnCount()))));
}

void SplitBar::mouseReleaseEvent(QMouseEvent*)
{
    setSliderDown(false);
}

void SplitBar::sliderChange(SliderChange change)
{
    QAbstractSlider::sliderChange(change);
    place();
}

} // namespace headwise::ui
