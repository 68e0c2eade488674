#pragma once

#include <QImage>
#include <QList>
#include <QPoint>
#include <QRect>
#include <QString>
#include <QTimer>

class QPainter;

namespace headwise::ui {

class HeatmapView;

/// Paints a heatmap in its widget: the same painters as on paper, plus the frame, the current cell and the note.
class HeatmapScreen {
public:
    explicit HeatmapScreen(HeatmapView* view);

    void paint();
    void forgetImage(); ///< The cells have changed.
    /// A new matrix is being computed: dims the old one after 200 ms.
    void setPending(bool pending);
    void setMessage(const QString& message); ///< Shown instead of an empty matrix: a hint or an error.
    void setReferenceCell(int row, int column);
    /// Thin rings around columns and rows: a head hovered elsewhere.
    void setLitCells(const QList<QRect>& areas);

private:
    void paintCells(QPainter& painter);
    void paintOverlays(QPainter& painter) const;
    void paintNothing(QPainter& painter) const;

    HeatmapView* m_view;
    QImage m_image; // The visible cells in device pixels; null when out of date.
    QString m_message;
    QPoint m_reference{-1, -1}; // (column, row)
    QList<QRect> m_lit;         // columns and rows
    QTimer m_dimTimer;
    bool m_dimmed = false;
};

} // namespace headwise::ui
