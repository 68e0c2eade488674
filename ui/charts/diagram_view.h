#pragma once

#include "core/model/head_id.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export.h"

#include <QFont>
#include <QFontMetricsF>
#include <QStringList>
#include <QWidget>

#include <optional>
#include <vector>

namespace headwise::ui {

/// One arrow from a head to a later one.
struct DiagramEdge {
    HeadId from, to;
    double value = 0;
    int kind = 0; ///< Of several that are drawn together.

    bool operator==(const DiagramEdge&) const = default;
};

/// What nodes and edges are coloured by.
struct DiagramClasses {
    enum class Edges { Kind, Writer, Reader }; ///< Kind: or sign, where there is but one.

    std::vector<int>
        ofHeads; ///< [layer · heads + head], 0: none, else 1 + place in `names`. Empty: none has one.
    QStringList names;
    QStringList kinds; ///< Of edges; empty: one.
    Edges edges = Edges::Kind;

    bool operator==(const DiagramClasses&) const = default;
};

/// Heads as nodes, a row per layer with layer 0 at the top, and the given edges between them, the stronger the wider.
///
/// Nodes have the shape and the colour of their class. Hovering a head shows its edges alone; a click chooses it.
class DiagramView : public QWidget, public FigureSource {
    Q_OBJECT

public:
    explicit DiagramView(QWidget* parent = nullptr);

    void setHeads(int layers, int headsInLayer);
    void setEdges(const std::vector<DiagramEdge>& edges); ///< The strongest first.
    const std::vector<DiagramEdge>& edges() const { return m_edges; }
    void setClasses(const DiagramClasses& classes);
    const DiagramClasses& classes() const { return m_classes; }
    QColor classColor(int headClass, const ThemeColors& colors) const; ///< \param headClass  from 1
    QRectF legendRect(int headClass) const; ///< In widget coordinates; empty: no head is of it.
    QColor edgeColor(const DiagramEdge& edge, const ThemeColors& colors) const;
    void setCurrent(HeadId head);
    void setMessage(const QString& message); ///< Shown while there are no edges.
    QPointF positionOf(HeadId head) const;   ///< In widget coordinates.

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

    QSize sizeHint() const override { return {480, 320}; }

signals:
    void headClicked(headwise::HeadId head);
    void classClicked(int headClass);      ///< In the legend, from 1.
    void headHovered(const QString& text); ///< Its strongest edges; empty when the mouse has left.

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    QPointF place(HeadId head, const QRectF& area) const;
    std::optional<HeadId> headAt(const QPointF& position) const;
    struct Look {
        QFont font;
        const ThemeColors& colors;
        double lineWidth; ///< 1: the strongest edge is 3.6 units wide.
        bool hasLabels;
    };
    void paint(QPainter& painter, const QRectF& all, const Look& look) const;
    void paintEdges(QPainter& painter, const QRectF& area, const Look& look) const;
    void paintNodes(QPainter& painter, const QRectF& area, const Look& look) const;
    void paintLabels(QPainter& painter, const QRectF& all, const QRectF& area, const Look& look) const;
    void paintLegend(QPainter& painter, const QRectF& all, const Look& look) const;
    QRectF nodesArea(const QRectF& all, const QFontMetricsF& metrics) const;
    bool hasLegend() const;
    /// One kind of edge or one class of heads in the line over the heads.
    struct LegendEntry {
        int kind = -1;     ///< −1: a class.
        int headClass = 0; ///< From 1; 0: a kind.
        QString words;
        QRectF area;
    };
    std::vector<LegendEntry> legend(const QRectF& all, const QFontMetricsF& metrics) const;
    int classOf(HeadId head) const; ///< 0: none.
    QString describe(HeadId head) const;

    int m_layers = 0;
    int m_heads = 0;
    std::vector<DiagramEdge> m_edges;
    DiagramClasses m_classes;
    HeadId m_current;
    std::optional<HeadId> m_hovered;
    QString m_message;
};

} // namespace headwise::ui
