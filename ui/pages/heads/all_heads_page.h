#pragma once

#include "ui/pages/parts/page.h"

#include <array>

class QLabel;
class QScrollArea;
class QSplitter;

namespace headwise::ui {

class ArrayTableModel;
class FillButton;
class PictureCard;
class TableFigure;

/// A table of all heads with every computed score, and a scatter plot of any two scores.
class AllHeadsPage : public Page {
    Q_OBJECT

public:
    explicit AllHeadsPage(Workspace* workspace, QWidget* parent = nullptr);

    ViewFields viewFields() override; ///< The scores of the plot.
    QList<FigureSource*> figures() override;

signals:
    void viewMade(QWidget* view); ///< The scatter plot, which can be exported.

private:
    void recompute() override;
    void showPlane(const std::vector<const ResultArray*>& scores);
    void markHead();
    QString
    shownScore(std::size_t part) const; ///< The path of the score on an axis of the plot, or of its colours.

    QLabel* m_message;
    FillButton* m_fill;
    ArrayTableModel* m_model;
    TableFigure* m_table;
    QSplitter* m_parts;
    PictureCard* m_plane = nullptr; // exists once there are two scores
    QScrollArea* m_planeScroll = nullptr;
    std::array<QString, 3> m_wanted; // paths of the scores for x, y and colour when it is made; empty: any
};

} // namespace headwise::ui
