#pragma once

#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/view_fields.h"

#include <QWidget>

#include <QTimer>

#include <array>

class QLabel;
class QStackedWidget;

namespace headwise::ui {

class HeatmapPanel;
class SplitBar;

/// Two matrices of one size with one zoom: side by side on one scale, in one picture with a divider, as difference or as
/// ratio.
class ComparePictures : public QWidget {
    Q_OBJECT

public:
    explicit ComparePictures(QWidget* parent = nullptr);

    /// Names of the two ("L1H5", "L0H1"), of their circuit ("OV"), and of the second one's role ("reference").
    struct Names {
        QString first, second, circuit, role;
        QString unit = {}; ///< Unit of the entries; empty: none.
    };
    void setMatrices(const HeatmapView::Matrix& first, const HeatmapView::Matrix& second, const Names& names);
    void clear();
    bool isEmpty() const { return !m_a; }
    void setAxes(const HeatmapAxis& rows, const HeatmapAxis& columns);
    void setPending(bool pending);
    enum class Way { Beside, Split, Difference, Ratio };
    void setWay(Way way);
    Way way() const;
    void setFlashing(bool on); ///< Shows the second matrix in place of the first.

    double first(int row, int column) const; ///< NaN outside.
    double second(int row, int column) const;
    /// The pictures on screen with their titles.
    std::vector<std::pair<HeatmapView*, QString>> shown() const;

    ViewFields viewFields();

signals:
    void cellHovered(int row, int column);
    void hoverLeft();
    void cellClicked(int row, int column);

private:
    QWidget* titled(QLabel* title, HeatmapPanel* panel, const QString& name);
    void connectPanel(HeatmapPanel* panel);
    void shareScale(HeatmapView* view); ///< Applies a change of scale in it to all of alike().
    void fitBoth();                     ///< Fits one scale to both matrices, except for what the user chose.
    void titlePictures();
    void fill(); ///< Fills the pictures on screen from the two matrices.
    void put(HeatmapPanel* panel, const HeatmapView::Matrix& matrix); ///< Keeps the common zoom.
    void fillSplit();
    void fillRatio();
    void placeDivider(); ///< Keeps its position as a fraction of the columns.
    std::array<HeatmapPanel*, 5> panels() const { return {m_first, m_second, m_split, m_between, m_ratio}; }
    /// The panels that show the values themselves.
    std::array<HeatmapPanel*, 3> alike() const { return {m_first, m_second, m_split}; }

    QStackedWidget* m_pages; // indexed by Way
    QLabel* m_firstTitle;
    QLabel* m_secondTitle;
    QLabel* m_splitTitle;
    QLabel* m_differenceTitle;
    QLabel* m_ratioTitle;
    HeatmapPanel* m_first;
    HeatmapPanel* m_second;
    HeatmapPanel* m_split;
    HeatmapPanel* m_between;
    HeatmapPanel* m_ratio;
    SplitBar* m_divider;
    double m_dividedAt = 0.5; // fraction of the columns left of the divider
    QTimer m_dragged;         // limits redrawing to once a frame
    HeatmapView::Matrix m_a, m_b;
    HeatmapState m_state; // shared by all
    ColorScale m_scale;   // how the common limits follow the two matrices
    Names m_names;
    bool m_isFlashing = false;
};

} // namespace headwise::ui
