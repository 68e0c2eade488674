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

/// An arrow from a head to a later one.
struct DiagramEdge {
    HeadId from, to;
    double value = 0;
    int kind = 0; ///< Index among several kinds that are drawn together.

    bool operator==(const DiagramEdge&) const = default;
};

/// Classes and kinds that colour nodes and edges.
struct DiagramClasses {
    enum class Edges { Kind, Writer, Reader }; ///< Kind: or by sign, if there is only one kind.

    std::vector<int>
        ofHeads; ///< [layer · heads + head], 0: no class, else 1 + index in `names`. Empty: no head has one.
    QStringList names;
    QStringList kinds; ///< Kinds of edges; empty: one kind.
    Edges edges = Edges::Kind;

    bool operator==(const DiagramClasses&) const = default;
};

/// Heads as nodes, one row per layer with layer 0 at the top, and edges between them; stronger edges are wider.
///
/// Nodes have the shape and the colour of their class. Hovering a head shows only its edges; a click selects it.
class DiagramView : public QWidget, public FigureSource {
    Q_OBJECT

public:
    explicit DiagramView(QWidget* parent = nullptr);

    void setHeads(int layers, int headsInLayer);
    void setEdges(const std::vector<DiagramEdge>& edges); ///< The strongest first.
    void setValueTitle(const QString& title)
    {
        m_valueTitle = title;
    } ///< Name and unit of the edges' values.
    const std::vector<DiagramEdge>& edges() const { return m_edges; }
    void setClasses(const DiagramClasses& classes);
    const DiagramClasses& classes() const { return m_classes; }
    QColor classColor(int headClass, const ThemeColors& colors) const; ///< \param headClass  from 1
    QRectF legendRect(int headClass) const; ///< In widget coordinates; empty if no head has the class.
    QColor edgeColor(const DiagramEdge& edge, const ThemeColors& colors) const;
    void setCurrent(HeadId head);
    std::optional<HeadId> hovered() const { return m_hovered; } ///< The head under the mouse.
    void setLit(std::optional<HeadId> head); ///< A thin ring around a head that is hovered elsewhere.
    void setMessage(const QString& message); ///< Shown while there are no edges.
    QPointF positionOf(HeadId head) const;   ///< In widget coordinates.
    std::optional<HeadId> headAt(const QPointF& position) const; ///< In widget coordinates.

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    FigureParts parts() const override { return {.hasSelection = true}; }
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

    QSize sizeHint() const override { return {480, 320}; }

signals:
    void headClicked(headwise::HeadId head);
    void classClicked(int headClass);      ///< In the legend, from 1.
    void headHovered(const QString& text); ///< Text on its strongest edges; empty when the mouse has left.

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    QPointF place(HeadId head, const QRectF& area) const;
    struct Look {
        QFont font;
        const ThemeColors& colors;
        double lineWidth; ///< 1: the strongest edge is 3.6 units wide.
        bool hasLabels;
        bool hasSelection; ///< Marks the selected head and the hovered one.
    };
    void paint(QPainter& painter, const QRectF& all, const Look& look) const;
    void paintEdges(QPainter& painter, const QRectF& area, const Look& look) const;
    void paintNodes(QPainter& painter, const QRectF& area, const Look& look) const;
    void paintLabels(QPainter& painter, const QRectF& all, const QRectF& area, const Look& look) const;
    void paintLegend(QPainter& painter, const QRectF& all, const Look& look) const;
    QRectF nodesArea(const QRectF& all, const QFontMetricsF& metrics) const;
    bool hasLegend() const;
    /// One kind of edge or one class of heads in the legend.
    struct LegendEntry {
        int kind = -1;     ///< −1: a class.
        int headClass = 0; ///< From 1; 0: this is a kind.
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
    std::optional<HeadId> m_hovered, m_lit;
    QString m_message;
    QString m_valueTitle;
};

} // namespace headwise::ui
