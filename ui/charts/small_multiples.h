#pragma once

#include "core/model/head_id.h"
#include "core/results/color_scale.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/charts/tile_grid.h"

#include <QPixmap>

#include <optional>

namespace headwise::ui {

struct ThemeColors;

/// The curves of one head.
struct HeadCurves {
    HeadId head;
    std::vector<ChartSeries> series;
};

/// The matrix of one head.
struct HeadCells {
    HeadId head;
    Eigen::MatrixXf cells; ///< [rows, columns], the same size for all heads
};

/// Small multiples of many heads: charts of the same curves on one pair of axes, or matrices on one colour scale.
///
/// A click or the arrow keys select a head. Series with the same index in their lists have the same colour.
class SmallMultiples : public QWidget, public FigureSource {
    Q_OBJECT

public:
    explicit SmallMultiples(QWidget* parent = nullptr);

    /// \param columns  tiles per row  \param heads  in the order in which they are drawn, row by row
    void setCurves(const ChartLook& look, std::vector<HeadCurves> heads, int columns);
    /// Shows matrices instead of curves. \param scale  with its limits  \param axes  names of rows and columns
    void setCells(const ColorScale& scale, const std::pair<QString, QString>& axes,
                  std::vector<HeadCells> heads, int columns);
    /// Name and unit of the matrices' numbers, beside the colour scale.
    void setValueTitle(const QString& title);
    const std::vector<HeadCurves>& curves() const { return m_heads; }
    /// In the order of the heads; empty if curves are shown.
    const std::vector<Eigen::MatrixXf>& cells() const { return m_cells; }
    const ColorScale& scale() const { return m_scale; }
    void setCurrent(HeadId head);
    void setLit(std::optional<HeadId> head);        ///< A thin ring around a head that is hovered elsewhere.
    QRectF tileRect(HeadId head) const;             ///< In widget coordinates; empty: not shown.
    const QRectF& range() const { return m_range; } ///< Range of all curves; y is logarithmic on a log axis.

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
    void measure(); ///< Computes the range of all curves.
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
    std::vector<Eigen::MatrixXf> m_cells; // in the order of m_heads; empty if curves are shown
    ColorScale m_scale;
    QString m_valueTitle;
    int m_columns = 1;
    QRectF m_range{0, 0, 1, 1};
    HeadId m_current;
    std::optional<HeadId> m_lit;
    QPixmap m_drawn; // without the mark of the current head; null: out of date
};

} // namespace headwise::ui
