#pragma once

#include "ui/figures/composed_figure.h"

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
    QStringList omissions(const QSizeF& size, const FigureStyle& style) const override;
    FigureParts parts() const override; ///< The parts of all panels.
    double leastHeight(double width, const FigureStyle& style) const override;
    /// Rows are panel, curve, x, y.
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

private:
    /// The part of a page below the title, and how many panels stand abreast in it.
    struct Places {
        double top = 0;
        QSizeF room;
        int columns = 1;
    };
    Places placesIn(QPainter& painter, const QSizeF& size, const FigureStyle& style) const;
    ComposedFigure composed(const Places& places) const;
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
