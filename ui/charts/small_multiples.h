#pragma once

#include "core/model/head_id.h"
#include "core/results/color_scale.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/charts/tile_grid.h"

#include <QPixmap>

#include <optional>

namespace headwise::ui {

struct ThemeColors;

/// The curves of one head among others.
struct HeadCurves {
    HeadId head;
    std::vector<ChartSeries> series;
};

/// The cells of one head among others.
struct HeadCells {
    HeadId head;
    Eigen::MatrixXf cells; ///< [rows, columns], of one size in all heads
};

/// The same curves of many heads, a small chart for each, all on one pair of axes, or the same matrices of many heads on one
/// scale of colours.
///
/// A click or the arrow keys choose a head. Series of one place in their lists have one colour.
class SmallMultiples : public QWidget, public FigureSource {
    Q_OBJECT

public:
    explicit SmallMultiples(QWidget* parent = nullptr);

    /// \param columns  how many stand side by side  \param heads  in the order in which they are drawn, row by row
    void setCurves(const ChartLook& look, std::vector<HeadCurves> heads, int columns);
    /// In the place of curves. \param scale  with its limits  \param axes  what rows and columns are
    void setCells(const ColorScale& scale, const std::pair<QString, QString>& axes,
                  std::vector<HeadCells> heads, int columns);
    const std::vector<HeadCurves>& curves() const { return m_heads; }
    const std::vector<Eigen::MatrixXf>& cells() const { return m_cells; } ///< As `curves`; empty: curves.
    const ColorScale& scale() const { return m_scale; }
    void setCurrent(HeadId head);
    QRectF tileRect(HeadId head) const;             ///< In widget coordinates; empty: not shown.
    const QRectF& range() const { return m_range; } ///< Of all; y logarithmic on a log axis.

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

signals:
    void headChosen(headwise::HeadId head);
    void headHovered(headwise::HeadId head);
    void hoverLeft();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    struct Look {
        QFont font;
        const ThemeColors& colors;
        double lineWidth;
        bool hasLabels;
    };
    TileGrid tilesIn(const QRectF& all, const Look& look, const QPaintDevice* device) const;
    QRectF tileOf(const TileGrid& tiles, std::size_t index) const;
    std::optional<std::size_t> indexAt(const QPointF& position) const;
    std::optional<std::size_t> indexOf(HeadId head) const;
    int rows() const;
    void measure(); ///< The range of all curves.
    void paint(QPainter& painter, const QRectF& all, const Look& look) const;
    void paintTile(QPainter& painter, const QRectF& tile, std::size_t index, const Look& look) const;
    void paintCurves(QPainter& painter, const QRectF& plot, const HeadCurves& head, const Look& look) const;
    void paintCells(QPainter& painter, const QRectF& plot, const Eigen::MatrixXf& cells,
                    const Look& look) const;
    void paintScale(QPainter& painter, const QRectF& all, const Look& look) const;
    void paintLabels(QPainter& painter, const QRectF& all, const TileGrid& tiles, const Look& look) const;
    Look onScreen() const;

    ChartLook m_look;
    std::vector<HeadCurves> m_heads;
    std::vector<Eigen::MatrixXf> m_cells; // as m_heads; empty: curves
    ColorScale m_scale;
    int m_columns = 1;
    QRectF m_range{0, 0, 1, 1};
    HeadId m_current;
    QPixmap m_drawn; // without the mark of the current head; null: out of date
};

} // namespace headwise::ui
