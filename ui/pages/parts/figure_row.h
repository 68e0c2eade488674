#pragma once

#include "ui/figures/figure_export.h"

#include <QObject>
#include <QPointer>

#include <vector>

namespace headwise::ui {

class LineChart;
class PictureCard;

/// Several charts as one figure with lettered panels, side by side if they are then wide enough.
class FigureRow : public QObject, public FigureSource {
    Q_OBJECT

public:
    struct Panel {
        QPointer<const LineChart> chart;
        QString title;
    };
    FigureRow(std::vector<Panel> panels, QObject* parent);

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    /// Rows are panel, curve, x, y.
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

private:
    std::vector<Panel> m_panels;
};

/// Makes a row of three pictures of the six terms, T^p, T^pp and the softmax of both, as in figure 3 of Kamoda et al.
/// 2025.
/// \returns null unless all three exist
FigureRow* positionFigure(const std::vector<PictureCard*>& cards, QObject* parent);

} // namespace headwise::ui
