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

/// Both sides of consecutive directions: one column per direction, with its strongest tokens at both ends as rows,
/// coloured by their scores. For a degenerate block the tokens of its span replace those of its directions.
class VectorTables : public QWidget {
    Q_OBJECT

public:
    explicit VectorTables(Workspace* workspace, QWidget* parent = nullptr);

    void setScoresShown(bool on); ///< Takes effect at the next show().
    /// Also shows, greyed out, the tokens of single directions in a degenerate block; takes effect at the next show().
    void setEachShown(bool on);
    /// \param chosen the selected direction, drawn with the sign chosen in the workspace
    void show(const CircuitDirections& directions, const std::shared_ptr<const DirectionLists>& lists,
              int chosen);
    void clear(const QString& message = {});

    TableFigure* table(std::size_t side) const { return m_tables[side]; }
    bool isEmpty() const;

signals:
    void directionClicked(int direction);

private:
    /// Everything the cells depend on; unchanged when the selection moves to the next direction.
    struct Contents {
        std::shared_ptr<const DirectionLists> lists;
        int turned = -1; ///< The direction with its sign reversed; −1: none.
        int token = -1;  ///< The highlighted token.
        bool withScores = false;
        bool withEach = false;

        bool operator==(const Contents&) const = default;
    };
    struct Place {
        std::size_t column = 0; // index of a direction in the lists
        int rank = 0;
        bool ofTop = true;
    };
    void fill(std::size_t side, const CircuitDirections& directions, const DirectionLists& lists);
    void addRows(std::size_t side, const DirectionLists& lists, bool ofTop);
    void addCells(QList<QStandardItem*>& row, std::size_t side, const DirectionLists& lists,
                  const Place& place) const;
    QString headerOf(const CircuitDirections& directions, int index) const;
    bool showsSpan(const DirectionLists& lists,
                   std::size_t k) const;              ///< Span tokens that replace the k-th column's own.
    void mark();                                      ///< Highlights the column of the selected direction.
    int step() const { return m_withScores ? 2 : 1; } ///< Table columns per direction.

    Workspace* m_workspace;
    std::array<QLabel*, 2> m_headings;
    std::array<QStandardItemModel*, 2> m_models; // first side, second side
    std::array<TableFigure*, 2> m_tables;
    Contents m_contents;
    bool m_withScores = false;
    bool m_withEach = false;
    double m_largest = 0; // largest score of the table being filled
    int m_first = 0;
    int m_chosen = 0;
};

} // namespace headwise::ui
