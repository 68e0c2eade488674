#pragma once

#include "core/analysis/color_scale.h"
#include "ui/theme.h"

#include <QFont>
#include <QWidget>

#include <optional>

class QMenu;

namespace headwise::ui {

class HeatmapView;

/// The scale of a heatmap, always beside it: colours, ticks, the mark at zero.
///
/// Dragging an end changes that limit (both, symmetrically, on a signed map), double-click fits the data again, the
/// context menu has maps and fits.
class ColorBar : public QWidget {
    Q_OBJECT

public:
    explicit ColorBar(Qt::Orientation orientation, QWidget* parent = nullptr);

    void setScale(const ColorScale& scale);
    const ColorScale& scale() const { return m_scale; }
    void setTitle(const QString& title); ///< What the colours are: "OV logit".

    /// Keeps this bar and `view` at the same scale from now on.
    void follow(HeatmapView* view);

    void invert();
    void toggleLock(); ///< Fixed limits ↔ limits that follow the data.
    void setFit(ColorFit fit);
    void setPercentile(double percentile); ///< Percent that the limits are to contain.
    void setTransform(ColorTransform transform);
    void centerOnZero();
    void setMap(ColorMap map);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

signals:
    void scaleChanged(const headwise::ColorScale& scale); ///< By the user; setScale() is silent.

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    enum class End { Low, High };

    void change(const ColorScale& scale);
    void addMaps(QMenu* menu);
    void addFits(QMenu* menu);
    void addPercentiles(QMenu* menu);
    void askPercentile();
    void addTransforms(QMenu* menu);
    void addPixels(
        QMenu*
            menu); ///< What the heatmap shows of several cells, its norms, and whom it shares its scale with.
    QRectF bar() const;
    double
    fractionAt(const QPointF& position) const; ///< 0 at the low end, 1 at the high one, beyond outside.
    std::optional<End> endAt(const QPointF& position) const;
    ColorScale shownScale() const;

    Qt::Orientation m_orientation;
    HeatmapView* m_view = nullptr; // The one it follows, a sibling.
    ColorScale m_scale;
    QString m_title;
    std::optional<End> m_dragged;
    ColorScale m_atPress; // A drag is measured on the scale it began with.
};

/// How wide (upright) or high (lying) a bar with its ticks is.
double colorBarExtent(const ColorScale& scale, Qt::Orientation orientation, const QFont& font,
                      const QPaintDevice* device);
/// The bar, its ticks and the mark at zero within `area`, in the painter's font, lines as wide as its pen; an upright bar has the high
/// end on top.
void paintColorBar(QPainter& painter, const QRectF& area, const ColorScale& scale,
                   Qt::Orientation orientation, const ThemeColors& colors);
QString mapTitle(ColorMap map);

} // namespace headwise::ui
