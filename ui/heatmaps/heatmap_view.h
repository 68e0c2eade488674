#pragma once

#include "ui/figures/figure_recording.h"
#include "ui/heatmaps/heatmap_colors.h"
#include "ui/heatmaps/heatmap_content.h"
#include "ui/heatmaps/heatmap_layout.h"
#include "ui/heatmaps/heatmap_note.h"
#include "ui/heatmaps/heatmap_pointer.h"
#include "ui/heatmaps/heatmap_screen.h"
#include "ui/heatmaps/heatmap_zoom.h"

#include <QPointer>
#include <QWidget>

#include <memory>
#include <optional>

namespace headwise::ui {

/// Shows a matrix as coloured cells that can be zoomed, read and chosen. It owns the appearance, never the content.
///
/// Wheel: zoom at the cursor, with Ctrl columns only, with Shift rows only. Drag: pan. Double-click: reset the zoom, or
/// activate the cell if there is none to reset. Arrows or hjkl move the current cell, Enter activates it, + − 0 zoom, F
/// centres the current cell, L locks the scale, I inverts it, Z centres it on zero, Ctrl+C copies the current cell.
class HeatmapView : public QWidget, public DetachableRows {
    Q_OBJECT

public:
    using Matrix = std::shared_ptr<const Eigen::MatrixXf>;
    using CellShape = HeatmapCellShape;

    explicit HeatmapView(QWidget* parent = nullptr);
    ~HeatmapView() override;

    HeatmapContent* content() const { return m_content; }  ///< The numbers and axes shown.
    HeatmapZoom* zoom() const { return m_zoom; }           ///< The visible part and the current cell.
    HeatmapColors* colors() const { return m_colors; }     ///< The colour scale.
    const HeatmapLayout& cells() const { return m_cells; } ///< Where the cells are.
    HeatmapPointer& pointer() { return m_pointer; }        ///< Mouse and keyboard.
    const HeatmapNote& note() const { return m_note; }     ///< The note below the cells.
    HeatmapScreen& onScreen() { return m_screen; }         ///< Marks, messages and dimming, not on paper.
    const HeatmapScene& scene() const { return m_content->scene(); }

    /// Null: an empty view. Keeps the scale, and the zoom if the size is the same; refits limits that follow the data.
    void setMatrix(Matrix matrix) { m_content->setMatrix(std::move(matrix)); }
    const Matrix& matrix() const { return scene().matrix; }
    bool isEmpty() const { return scene().isEmpty(); }
    void fitNote(); ///< Gives the note more room if its words have become longer.
    /// Gives both notes the same room, so that cells that are compared have the same size.
    void alignWith(HeatmapView* other);
    void setCellShape(CellShape shape);

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    FigureParts parts() const override;
    QStringList omissions(const QSizeF& size, const FigureStyle& style) const override;
    std::optional<QRectF> dataArea(const QSizeF& size, const FigureStyle& style) const override;
    DataRows detachedRows() const override;
    std::optional<FigureArray> figureArray() const override;

    QSize sizeHint() const override { return {400, 400}; }
    QSize minimumSizeHint() const override { return {120, 120}; }
    /// The current cell: the Menu key opens its menu there.
    QVariant inputMethodQuery(Qt::InputMethodQuery query) const override;

signals:
    void cellHovered(int row, int column, float value); ///< With the mouse, or reached by a key.
    void hoverLeft();
    void cellClicked(int row, int column);
    void cellReferenced(int row, int column); ///< Shift+click or Shift+Enter, to compare with.
    void cellActivated(int row, int column);  ///< Enter, or double-click at full view.

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    void takeNumbers();   ///< Shows another matrix or circuit.
    void remeasure();     ///< The space of the labels has changed.
    void updateVisible(); ///< Fits the visible part to the matrix and paints again.
    void forgetCells();   ///< Their places depend on something that has changed.
    void fitToLevel();    ///< For tiles: refits the limits to the level shown, whose numbers differ.

    HeatmapContent* m_content;
    HeatmapZoom* m_zoom;
    HeatmapColors* m_colors;
    HeatmapLayout m_cells;
    HeatmapNote m_note;
    HeatmapPointer m_pointer;
    HeatmapScreen m_screen;
    QPointer<HeatmapView> m_beside; // null: compared with none
};

} // namespace headwise::ui
