#pragma once

#include "core/analysis/singular_directions.h"
#include "core/analysis/token_table.h"
#include "ui/workspace.h"

#include <QWidget>

#include <array>
#include <vector>

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// The singular directions of one circuit of one head, and which of them mean something only together.
struct CircuitDirections {
    HeadId head;
    CircuitKind kind = CircuitKind::Ov;
    SingularDirections svd;
    std::vector<int> blocks; // [k], as degenerateBlocks

    int count() const { return static_cast<int>(svd.S.size()); }
    bool areTogether(int index, int other) const; ///< In one block; false where either is not there.
};

/// The tokens of neighbouring directions.
struct DirectionLists {
    int first = 0;                               ///< direction
    std::array<std::vector<TokenEnds>, 2> sides; ///< of each direction, signs as jointSign has them
};

/// The side of a circuit, as directionSides has them. \param side 0 or 1
const DirectionSide& directionSideOf(CircuitKind kind, std::size_t side);

/// Both sides of neighbouring directions: a direction a column, its strongest tokens at both ends as rows.
class VectorTables : public QWidget {
    Q_OBJECT

public:
    explicit VectorTables(Workspace* workspace, QWidget* parent = nullptr);

    void setScoresShown(bool on); ///< From the next show() on.
    /// \param chosen the selected direction, drawn with the sign that the workspace has for it
    void show(const CircuitDirections& directions, const std::shared_ptr<const DirectionLists>& lists,
              int chosen);
    void clear(const QString& message = {});

    TableFigure* table(std::size_t side) const { return m_tables[side]; }
    bool isEmpty() const;

signals:
    void directionClicked(int direction);

private:
    /// What the cells depend on; a move from one direction to the next leaves it as it is.
    struct Contents {
        std::shared_ptr<const DirectionLists> lists;
        int turned = -1; ///< The direction with its sign turned; −1: none.
        int token = -1;  ///< The one that is marked.
        bool withScores = false;

        bool operator==(const Contents&) const = default;
    };
    void fill(std::size_t side, const CircuitDirections& directions, const DirectionLists& lists);
    void addRows(std::size_t side, const DirectionLists& lists, bool ofTop);
    void mark();                                      ///< The column of the selected direction.
    int step() const { return m_withScores ? 2 : 1; } ///< Columns of one direction.

    Workspace* m_workspace;
    std::array<QLabel*, 2> m_headings;
    std::array<QStandardItemModel*, 2> m_models; // first side, second side
    std::array<TableFigure*, 2> m_tables;
    Contents m_contents;
    bool m_withScores = false;
    int m_first = 0;
    int m_chosen = 0;
};

} // namespace headwise::ui
