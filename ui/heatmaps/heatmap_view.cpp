#include "ui/heatmaps/heatmap_view.h"

#include "ui/heatmaps/color_vision_effect.h"
#include "ui/heatmaps/heatmap_accessible.h"
#include "ui/heatmaps/heatmap_figure.h"
#include "ui/heatmaps/shared_scale.h"

#include <QEvent>

#include <algorithm>

namespace headwise::ui {

HeatmapView::HeatmapView(QWidget* parent)
    : QWidget(parent)
    , m_content(new HeatmapContent(this))
    , m_zoom(new HeatmapZoom(m_content, this))
    , m_colors(new HeatmapColors(m_content, this))
    , m_cells(this, m_content->scene())
    , m_note(m_content, m_colors, m_cells)
    , m_pointer(this)
    , m_screen(this)
{
    m_cells.setNoteHeight([this] {
        const double own = m_note.wantedHeight();
        return m_beside ? std::max(own, m_beside->m_note.wantedHeight()) : own;
    });
    installHeatmapAccessibility();
    followShownVision(this);
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    connect(m_content, &HeatmapContent::numbersChanged, this, &HeatmapView::takeNumbers);
    connect(m_content, &HeatmapContent::axesChanged, this, &HeatmapView::remeasure);
    connect(m_content, &HeatmapContent::looksChanged, this, &HeatmapView::updateVisible);
    connect(m_content, &HeatmapContent::tilesArrived, this, &HeatmapView::fitNote);
    connect(m_content, &HeatmapContent::levelOutdated, this, &HeatmapView::fitToLevel);
    connect(m_colors, &HeatmapColors::scaleChanged, this, &HeatmapView::fitNote);
    connect(m_colors, &HeatmapColors::choiceChanged, this, &HeatmapView::fitNote);
    connect(m_zoom, &HeatmapZoom::stateChanged, this, [this] {
        m_screen.forgetImage();
        fitToLevel();
    });
    connect(m_zoom, &HeatmapZoom::currentCellChanged, this, [this] { announceHeatmapCell(this); });
}

HeatmapView::~HeatmapView()
{
    if (SharedScale* shared = m_colors->sharedScale())
        shared->remove(this);
}

void HeatmapView::takeNumbers()
{
    m_screen.setPending(false);
    forgetCells();
    updateGeometry(); // usableSize() depends on it
    m_colors->setScale(m_colors->scale());
    if (m_zoom->state().row >= scene().rowCount() || m_zoom->state().column >= scene().columnCount())
        m_zoom->setCurrentCell(-1, -1);
    m_zoom->followSize();
    updateVisible();
}

void HeatmapView::remeasure()
{
    forgetCells();
    updateGeometry();
    updateVisible();
}

void HeatmapView::updateVisible()
{
    m_zoom->apply();
    m_screen.forgetImage();
    fitToLevel();
}

void HeatmapView::fitToLevel()
{
    if (scene().tiles && !scene().visible.isEmpty() && m_content->showLevel(m_cells.pixels()))
        m_colors->setScale(m_colors->scale());
    fitNote();
}

void HeatmapView::fitNote()
{
    for (HeatmapView* view : {this, m_beside.data()})
        if (view && view->m_cells.growNote()) {
            view->m_screen.forgetImage();
            view->updateGeometry();
        }
    m_screen.forgetImage();
}

void HeatmapView::alignWith(HeatmapView* other)
{
    m_beside = other;
    other->m_beside = this;
    forgetCells();
}

void HeatmapView::forgetCells()
{
    m_cells.forgetRoom();
    if (m_beside) {
        m_beside->m_cells.forgetNote();
        m_beside->m_screen.forgetImage();
    }
}

void HeatmapView::setCellShape(CellShape shape)
{
    m_cells.setShape(shape);
    updateGeometry();
    updateVisible();
}

QVariant HeatmapView::inputMethodQuery(Qt::InputMethodQuery query) const
{
    if (query == Qt::ImCursorRectangle && !isEmpty() && m_zoom->state().row >= 0)
        return m_cells.rect(m_zoom->state().row, m_zoom->state().column).toAlignedRect();
    return QWidget::inputMethodQuery(query);
}

void HeatmapView::paintEvent(QPaintEvent* /*event*/)
{
    m_screen.paint();
}

void HeatmapView::resizeEvent(QResizeEvent* /*event*/)
{
    m_screen.forgetImage();
    forgetCells();
    fitToLevel();
}

void HeatmapView::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        remeasure();
    QWidget::changeEvent(event);
}

bool HeatmapView::event(QEvent* event)
{
    return m_pointer.handle(event) || QWidget::event(event);
}

void HeatmapView::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    if (isEmpty())
        return;
    HeatmapFigure figure(m_content, m_note, m_cells.shape());
    if (style.edits.selection)
        figure.markCell(m_zoom->state().row, m_zoom->state().column);
    figure.paint(painter, size, style, *this);
}

FigureParts HeatmapView::parts() const
{
    return {.valueTitle = m_content->valueTitle(), .hasSelection = m_zoom->state().row >= 0};
}

std::optional<QRectF> HeatmapView::dataArea(const QSizeF& size, const FigureStyle& style) const
{
    if (m_content->scene().isEmpty())
        return std::nullopt;
    return HeatmapFigure(m_content, m_note, m_cells.shape()).cellsOnPaper(size, style, *this);
}

QStringList HeatmapView::omissions(const QSizeF& size, const FigureStyle& style) const
{
    return isEmpty() ? QStringList()
                     : HeatmapFigure(m_content, m_note, m_cells.shape()).omissions(size, style, *this);
}

std::optional<FigureArray> HeatmapView::figureArray() const
{
    return heatmapArray(*m_content);
}

DataRows HeatmapView::detachedRows() const
{
    return heatmapRows(*m_content);
}

} // namespace headwise::ui
