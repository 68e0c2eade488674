#pragma once

#include "ui/views/heatmap_view.h"

#include <QJsonObject>
#include <QWidget>

#include <array>

class QLabel;
class QStackedWidget;

namespace headwise::ui {

class HeatmapPanel;

/// Two matrices of one size side by side with one scale and one zoom, or their difference in one picture.
class ComparePictures : public QWidget {
    Q_OBJECT

public:
    explicit ComparePictures(QWidget* parent = nullptr);

    /// What the two are called: "L1H5", "L0H1", and of what: "OV".
    struct Names {
        QString first, second, circuit;
    };
    void setMatrices(const HeatmapView::Matrix& first, const HeatmapView::Matrix& second, const Names& names);
    void clear();
    bool isEmpty() const { return !m_a; }
    void setAxes(const HeatmapAxis& rows, const HeatmapAxis& columns);
    void setPending(bool pending);
    void setDifferenceShown(bool on);
    void setFlashing(bool on); ///< The second in the place of the first.

    double first(int row, int column) const; ///< NaN outside.
    double second(int row, int column) const;
    /// The pictures on screen, with what each shows.
    std::vector<std::pair<HeatmapView*, QString>> shown() const;

    QJsonObject viewState() const;
    void setViewState(const QJsonObject& state);

signals:
    void cellHovered(int row, int column);
    void hoverLeft();
    void cellClicked(int row, int column);

private:
    QWidget* titled(QLabel* title, HeatmapPanel* panel, const QString& name);
    void connectPanel(HeatmapPanel* panel);
    void shareScale(HeatmapView* view, HeatmapView* other); ///< What is chosen in `view` holds in `other`.
    void fitBoth(); ///< One scale for both matrices, as far as the reader leaves it to us.
    void titlePictures();
    std::array<HeatmapPanel*, 3> panels() const { return {m_first, m_second, m_between}; }

    QStackedWidget* m_pages;
    QLabel* m_firstTitle;
    QLabel* m_secondTitle;
    QLabel* m_differenceTitle;
    HeatmapPanel* m_first;
    HeatmapPanel* m_second;
    HeatmapPanel* m_between;
    HeatmapView::Matrix m_a, m_b;
    ColorScale m_scale; // how the limits of both follow the two matrices
    Names m_names;
    bool m_isFlashing = false;
};

} // namespace headwise::ui
