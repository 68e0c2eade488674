#pragma once

#include <QPointF>

#include <optional>

class QEvent;
class QHelpEvent;
class QKeyEvent;
class QMouseEvent;
class QWheelEvent;

namespace headwise::ui {

class HeatmapView;

/// Mouse and keyboard in a heatmap: reads out, chooses and copies cells, zooms, pans and changes the scale.
class HeatmapPointer {
public:
    explicit HeatmapPointer(HeatmapView* view);

    /// For a grid of heads: h, j, k, l move the current cell, so only Shift+L locks; PgUp and PgDn move by one row, a
    /// layer.
    void setLettersMove(bool move) { m_lettersMove = move; }
    bool handle(QEvent* event); ///< \return whether nothing else should handle the event

private:
    bool handleInput(QEvent* event);
    void move(const QMouseEvent& event);
    void press(const QMouseEvent& event);
    void release(const QMouseEvent& event);
    void doubleClick(const QMouseEvent& event);
    void wheel(QWheelEvent& event);
    bool key(const QKeyEvent& event);
    bool takesKey(const QKeyEvent& event) const; ///< Before the window's shortcuts see it.
    bool handleZoomKey(int key);
    bool handleScaleKey(const QKeyEvent& event);
    bool handleMoveKey(const QKeyEvent& event);
    void moveCurrent(int rows, int columns);
    void zoomAt(const QPointF& position, double factorX, double factorY);
    void copyCurrent() const;
    bool showToolTip(const QHelpEvent& event) const;

    HeatmapView* m_view;
    bool m_lettersMove = false;
    std::optional<QPointF> m_pressed; // Where the left button went down.
    QPointF m_lastDrag;
    bool m_dragging = false;
};

} // namespace headwise::ui
