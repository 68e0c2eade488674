#pragma once

#include "ui/heatmaps/color_bar_painter.h"

#include <QWidget>

#include <optional>

namespace headwise::ui {

class HeatmapView;

/// The colour scale beside a heatmap: colours, ticks, the mark at zero.
///
/// The bar stands over a histogram of the values. Dragging an end changes that limit (both, symmetrically, on a signed
/// map), double-click fits the data again, the context menu has maps and fits, Enter asks for exact limits.
class ColorBar : public QWidget {
    Q_OBJECT

public:
    explicit ColorBar(Qt::Orientation orientation, QWidget* parent = nullptr);

    void setScale(const ColorScale& scale);
    const ColorScale& scale() const { return m_scale; }

    /// Keeps this bar and `view` at the same scale from now on.
    void follow(HeatmapView* view);
    HeatmapView* heatmap() const { return m_view; } ///< The heatmap it follows, a sibling; null: none.
    /// Makes the bar as long as the cells of the view it follows, which must be beside it.
    void setAlongCells(bool on);

    void invert();
    void toggleLock(); ///< Switches between fixed limits and limits that follow the data.
    void setFit(ColorFit fit);
    void setLimits(float low, float high); ///< Sets fixed limits, low < high.
    void setPercentile(double percentile); ///< Percentage of the values within the limits.
    void setTransform(ColorTransform transform);
    void centerOnZero();
    void setMap(ColorMap map);
    void askLimits(); ///< Opens a dialog for exact limits.

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

signals:
    void scaleChanged(const headwise::ColorScale& scale); ///< Changed by the user; setScale() emits nothing.

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    enum class End { Low, High };

    void change(const ColorScale& scale);
    QRectF extent() const; ///< The area of the bar, its ends and its title.
    QRectF bar() const;
    /// 0 at the low end, 1 at the high end, outside that range beyond them.
    double fractionAt(const QPointF& position) const;
    std::optional<End> endAt(const QPointF& position) const;
    ColorScale shownScale() const;
    bool isEdited() const { return m_dragged || m_isAtEnd; }
    void setAtEnd(bool on);

    Qt::Orientation m_orientation;
    HeatmapView* m_view = nullptr;
    ColorScale m_scale;
    bool m_isAlongCells = false;
    std::optional<End> m_dragged;
    bool m_isAtEnd = false; // the mouse is where a drag would begin
    ColorScale m_atPress;   // The scale at the start of a drag.
};

} // namespace headwise::ui
