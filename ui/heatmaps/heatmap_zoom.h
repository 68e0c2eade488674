#pragma once

#include "ui/heatmaps/heatmap_content.h"

#include <QObject>
#include <QPointF>
#include <QSize>

namespace headwise::ui {

/// The visible part of a heatmap, in fractions of the matrix.
struct HeatmapState {
    double zoomX = 1; ///< 1: all columns are visible.
    double zoomY = 1;
    double centerX = 0.5; ///< Centre of the visible part, 0 … 1.
    double centerY = 0.5;
    int row = -1; ///< The current cell; −1: none.
    int column = -1;

    bool operator==(const HeatmapState&) const = default;
};

/// The visible part and the current cell of a heatmap. It knows cells and fractions, but no pixels.
class HeatmapZoom : public QObject {
    Q_OBJECT

public:
    HeatmapZoom(HeatmapContent* content, QObject* parent);

    const HeatmapState& state() const { return m_state; }
    void setState(const HeatmapState& state);
    void apply(); ///< Adapts the visible part to the size of the matrix.
    void fit();   ///< Shows the whole matrix.
    /// Shows the whole matrix if it has another size than the last one: the old part would be a random cut-out of it.
    void followSize();
    void forgetSize()
    {
        m_size = {};
    } ///< The next matrix keeps the zoom, whatever its size: a session restored it.
    /// Zooms about a point that stays in place. \param part fractions of the visible part, 0 … 1
    void zoomAt(const QPointF& part, double factorX, double factorY);
    void pan(double partX, double partY); ///< Moves the content by fractions of the visible part.

    void setCurrentCell(int row, int column); ///< (−1, −1): none.
    void moveCurrent(int rows,
                     int columns); ///< Makes a cell current if none is; else the current cell stays visible.
    void centerCurrent();

signals:
    void stateChanged(const headwise::ui::HeatmapState& state); ///< Zoom, pan or current cell changed.
    void currentCellChanged(int row, int column);

private:
    void showCurrent(); ///< Pans just enough to make the current cell visible.

    HeatmapContent* m_content;
    HeatmapState m_state;
    QSize m_size; // of the last matrix: columns, rows; invalid: none yet
};

} // namespace headwise::ui
