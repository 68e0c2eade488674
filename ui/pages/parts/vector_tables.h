#pragma once

#include "ui/document/workspace.h"
#include "ui/pages/parts/direction_lists.h"

#include <QWidget>

#include <array>
#include <vector>

class QLabel;
class QStandardItem;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// Both sides of neighbouring directions: a direction a column, its strongest tokens at both ends as rows, coloured by their
/// scores. Where directions mean something only together, the tokens of their span stand in the place of those of each.
class VectorTables : public QWidget {
    Q_OBJECT

public:
    explicit VectorTables(Workspace* workspace, QWidget* parent = nullptr);

    void setScoresShown(bool on); ///< From the next show() on.
    /// Also the tokens of single directions that mean something only together, greyed out; from the next show() on.
    void setEachShown(bool on);
    /// \param chosen the selected direction, drawn with the sign that the workspace has for it
    void show(const CircuitDirections& directions, const std::shared_ptr<const DirectionLists>& lists,
              int chosen);
    void clear(const QString& message = {});

    TableFigure* table(std::size_t side) const { return m_tables[side]; }
    bool isEmpty() const;

signals:
    void directionClicked(int direction);

private:
    /// Everything the cells depend on; it stays the same on a move from one direction to the next.
    struct Contents {
        std::shared_ptr<const DirectionLists> lists;
        int turned = -1; ///< The direction with its sign turned; −1: none.
        int token = -1;  ///< The one that is marked.
        bool withScores = false;
        bool withEach = false;

        bool operator==(const Contents&) const = default;
    };
    struct Place {
        std::size_t column = 0; // a direction of the lists
        int rank = 0;
        bool ofTop = true;
    };
    void fill(std::size_t side, const CircuitDirections& directions, const DirectionLists& lists);
    void addRows(std::size_t side, const DirectionLists& lists, bool ofTop);
    void addCells(QList<QStandardItem*>& row, std::size_t side, const DirectionLists& lists,
                  const Place& place) const;
    QString headerOf(const CircuitDirections& directions, int index) const;
    bool showsSpan(const DirectionLists& lists,
                   std::size_t k) const;              ///< In place of the k-th column's own tokens.
    void mark();                                      ///< The column of the selected direction.
    int step() const { return m_withScores ? 2 : 1; } ///< Columns of one direction.

    Workspace* m_workspace;
    std::array<QLabel*, 2> m_headings;
    std::array<QStandardItemModel*, 2> m_models; // first side, second side
    std::array<TableFigure*, 2> m_tables;
    Contents m_contents;
    bool m_withScores = false;
    bool m_withEach = false;
    double m_largest = 0; // score of the table that is being filled
    int m_first = 0;
    int m_chosen = 0;
};

} // namespace headwise::ui
