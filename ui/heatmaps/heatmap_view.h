#pragma once

#include "ui/figures/figure_recording.h"
#include "ui/heatmaps/heatmap_painter.h"

#include <QImage>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <optional>

namespace headwise::ui {

class SharedScale;
struct ColorChoice;

/// Where a heatmap is looked at. Fractions of the matrix, so that it fits one of another size as well.
struct HeatmapState {
    double zoomX = 1; ///< 1: all columns are visible.
    double zoomY = 1;
    double centerX = 0.5; ///< Of the visible part, 0 … 1.
    double centerY = 0.5;
    int row = -1; ///< The current cell; −1: none.
    int column = -1;

    bool operator==(const HeatmapState&) const = default;
};

/// What of a scale its reader chose; the rest is the page's to say, anew with every matrix.
struct ScaleChoice {
    bool map = false;
    bool inverted = false;
    bool transform = false;
    bool fit = false; ///< With its percentile; where it is ColorFit::Fixed, with the limits: they are locked.

    bool operator==(const ScaleChoice&) const = default;
};

/// Shows a matrix as coloured cells that can be zoomed, read and chosen. Owns how it looks, never what it shows.
///
/// Wheel: zoom at the cursor, with Ctrl columns only, with Shift rows only. Drag: pan. Double-click: reset the zoom, or
/// activate the cell if there is none to reset. Arrows or hjkl move the current cell, Enter activates it, + − 0 zoom, F
/// centres the current cell, L locks the scale, I inverts it, Z centres it on zero, Ctrl+C copies the current cell.
class HeatmapView : public QWidget, public FigureSource, public DetachableRows {
    Q_OBJECT

public:
    using Matrix = std::shared_ptr<const Eigen::MatrixXf>;
    enum class CellShape { Stretched, Square };

    explicit HeatmapView(QWidget* parent = nullptr);
    ~HeatmapView() override;

    void setMatrix(
        Matrix matrix); ///< Null shows an empty view. Keeps scale and zoom; refits the limits if they follow.
    const Matrix& matrix() const { return m_scene.matrix; }
    /// Shows a circuit too large to be a matrix, from tiles that are computed as they come into view; null: an empty view.
    void setTiles(std::shared_ptr<const TiledCircuit> circuit);
    const std::shared_ptr<const TiledCircuit>& tiles() const { return m_scene.tiles; }
    bool isEmpty() const { return m_scene.isEmpty(); }
    TileLoader* tileLoader(); ///< Its scan has a progress and can be cancelled.

    void setAggregate(Aggregate aggregate); ///< What a pixel shows that covers several cells.
    Aggregate aggregate() const { return m_scene.aggregate; }
    void setNormBars(bool shown); ///< The norms of rows and columns as bars at the right and bottom edge.
    bool hasNormBars() const { return m_normBars; }
    /// A grid of heads: h, j, k, l move the current cell, so that only Shift+L locks; PgUp and PgDn move by one row, a layer.
    void setLettersMove(bool move);
    void setRowAxis(const HeatmapAxis& axis);
    void setColumnAxis(const HeatmapAxis& axis);
    void setCellShape(CellShape shape);
    /// Name and unit of the numbers, beside the colour bar of a figure.
    void setValueTitle(const QString& title) { m_valueTitle = title; }
    void setNanIsAbsent(
        bool absent); ///< Cells that are not finite are nothing rather than a finding: no hatch, no count.

    /// Fits it to the matrix unless it is fixed. What differs from the scale before counts as chosen by the reader.
    void setColorScale(const ColorScale& scale);
    /// What a page finds right for the numbers that come next: applies to what the reader has not chosen. Nothing while the scale
    /// is shared.
    void proposeScale(const ColorScale& scale);
    const ScaleChoice& scaleChoice() const { return m_choice; }
    void setScaleChoice(const ScaleChoice& choice);
    bool isLocked() const; ///< The limits stay, by the reader's will.
    const ColorScale& colorScale() const { return m_scene.scale; }
    const HeatmapAxis& rowAxis() const { return m_scene.rows; }
    const HeatmapAxis& columnAxis() const { return m_scene.columns; }
    Eigen::Index rowCount() const { return m_scene.rowCount(); }
    Eigen::Index columnCount() const { return m_scene.columnCount(); }
    float valueAt(int row, int column) const { return m_scene.at(row, column); } ///< Exact.

    const ValueStatistics& statistics() const { return m_statistics; } ///< Of all finite values.
    void setSharedScale(SharedScale* shared) { m_shared = shared; }    ///< SharedScale calls it.
    SharedScale* sharedScale() const { return m_shared; }              ///< Null: a scale of its own.
    void showScale(const ColorScale& scale);                           ///< As it is, for this view alone.
    void toggleLock(); ///< Limits that stay ↔ limits that follow the data, or the page, as before.
    void invertColors();
    void centerOnZero();           ///< Limits symmetric about zero, on a map with a neutral middle.
    ColorScale shownScale() const; ///< The same with the map of the window's theme.

    void setState(const HeatmapState& state);
    const HeatmapState& state() const { return m_state; }
    void setCurrentCell(int row, int column); ///< (−1, −1): none.
    void setReferenceCell(int row, int column);
    void resetZoom();

    void setPending(bool pending);           ///< A newer matrix is on its way: dims the old one after 200 ms.
    void setMessage(const QString& message); ///< Shown instead of an empty matrix: a hint or an error.

    QRectF cellsArea() const;                   ///< Where the cells are, in widget coordinates.
    QRectF cellRect(int row, int column) const; ///< In widget coordinates.
    std::optional<QPoint> cellAt(const QPointF& position) const; ///< (column, row)
    /// The most that square cells need of each side while the other is as it is; QWIDGETSIZE_MAX of others.
    QSize usableSize() const;
    qint64 notFiniteCount() const { return m_notFinite; }
    QString note()
        const; ///< What the corner says: what a pixel stands for, how many values are out of range or not finite.

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;
    DataRows detachedRows() const override;
    std::optional<FigureArray> figureArray() const override;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void cellHovered(int row, int column, float value); ///< By the mouse, or moved to by a key.
    void hoverLeft();
    void cellClicked(int row, int column);
    void cellReferenced(int row, int column); ///< Shift+click, Shift+Enter, right click: to compare with.
    void cellActivated(int row, int column);  ///< Enter, or double-click at full view.
    void currentCellChanged(int row, int column);
    void stateChanged(const headwise::ui::HeatmapState& state); ///< Zoom, pan or current cell.
    void aggregateChanged(headwise::Aggregate aggregate);
    void normBarsChanged(bool shown);
    void colorScaleChanged(const headwise::ColorScale& scale); ///< Set, or refitted to a new matrix.
    void scaleChoiceChanged(const headwise::ui::ScaleChoice& choice);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    void followColorChoice(const ColorChoice& before);
    void contentChanged();
    void fitScale(const ColorScale& scale);
    void updateNorms();
    void fitToLevel(); ///< Tiles: the limits follow what is shown, which at another level are other numbers.
    QImage picture(const HeatmapScene& scene, const QSize& size);
    QString normAt(const QPointF& position) const;
    QString noteOf(const QSize& pixels) const; ///< Of a picture of so many device pixels.
    QString aggregateNote(const QSize& pixels) const;
    QString beyondNote() const;
    QRectF noteArea() const; ///< Of the chip in the corner; empty: there is none.
    void paintNote(QPainter& painter) const;
    void lookUnderNote(const QEvent& event);     ///< A move of the mouse, or its leaving.
    bool takesKey(const QKeyEvent& event) const; ///< Before the window's shortcuts.
    bool handleScaleKey(const QKeyEvent& event);
    HeatmapFonts fonts() const;
    const HeatmapRoom& room() const;
    void forgetRoom();    ///< What it was measured for has changed.
    void updateVisible(); ///< m_scene.visible from m_state; asks for a repaint.
    void zoomAt(const QPointF& position, double factorX, double factorY);
    void moveCurrent(int rows, int columns);
    void showCurrent(); ///< Pans as little as makes the current cell visible.
    void centerCurrent();
    bool handleZoomKey(int key);
    bool handleMoveKey(QKeyEvent* event);
    void copyCurrent() const;
    void paintOverlays(QPainter& painter, const QRectF& cells) const;
    void paintNothing(QPainter& painter) const;

    QString m_valueTitle;
    HeatmapScene m_scene; // Its scale's map is the one that was set; painting uses shownScale().
    HeatmapState m_state;
    mutable std::optional<HeatmapRoom> m_room; // Of hundreds of labels measured; null when out of date.
    CellShape m_shape = CellShape::Stretched;
    std::unique_ptr<MatrixPyramid> m_pyramid;
    TileLoader* m_loader = nullptr; // Made when first asked for.
    int m_level = -1;               // Of the tiles shown; −1: not known yet.
    QPoint m_reference{-1, -1};     // (column, row)
    QImage m_image;                 // The visible cells in device pixels; null when out of date.
    qint64 m_notFinite = 0;
    bool m_normBars = false;
    bool m_lettersMove = false;
    ColorFit m_unlockedFit = ColorFit::Full; // What toggleLock() returns to…
    bool m_unlockedFitChosen = false;
    std::optional<ColorScale> m_proposed; // …or this, where that fit was not the reader's.
    ScaleChoice m_choice;
    ValueStatistics m_statistics;
    SharedScale* m_shared = nullptr; // The views that show one scale.
    QString m_message;
    QTimer m_dimTimer;
    bool m_dimmed = false;
    bool m_looksUnderNote = false;    // the mouse is where the note would be
    std::optional<QPointF> m_pressed; // Where the left button went down.
    QPointF m_lastDrag;
    bool m_dragging = false;
};

} // namespace headwise::ui
