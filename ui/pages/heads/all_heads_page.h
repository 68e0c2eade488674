#pragma once

#include "ui/pages/parts/page.h"

class QLabel;
class QSplitter;

namespace headwise::ui {

class ArrayTableModel;
class PictureCard;
class TableFigure;

/// Every head in a row with every score that was computed of it, and any two of the scores as a plane of heads.
class AllHeadsPage : public Page {
    Q_OBJECT

public:
    explicit AllHeadsPage(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

signals:
    void viewMade(QWidget* view); ///< The plane, which can be exported.

private:
    void recompute() override;
    void showPlane(const std::vector<const ResultArray*>& scores);
    void markHead();

    QLabel* m_message;
    ArrayTableModel* m_model;
    TableFigure* m_table;
    QSplitter* m_parts;
    PictureCard* m_plane = nullptr; // once there are two scores
};

} // namespace headwise::ui
