#pragma once

#include "ui/figures/figure_export.h"

#include <QObject>
#include <QPointer>

#include <vector>

namespace headwise::ui {

class LineChart;
class PictureCard;

/// Several charts as one figure with lettered panels, as many side by side as can be read; the rest go below.
class FigureRow : public QObject, public FigureSource {
    Q_OBJECT

public:
    struct Panel {
        QPointer<const LineChart> chart;
        QString title;
    };
    FigureRow(std::vector<Panel> panels, QObject* parent);

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    double leastHeight(double width, const FigureStyle& style) const override;
    /// Rows are panel, curve, x, y.
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

private:
    QSizeF panelSize(const QSizeF& room, int columns) const;
    /// Returns how many panels abreast come closest to the size that can be read. \param line height of a panel's title
    int columnsIn(const QSizeF& room, double line) const;

    std::vector<Panel> m_panels;
};

/// Makes a row of three pictures of the six terms, T^p, T^pp and the softmax of both, as in figure 3 of Kamoda et al.
/// 2025.
/// \returns null unless all three exist
FigureRow* positionFigure(const std::vector<PictureCard*>& cards, QObject* parent);

} // namespace headwise::ui
