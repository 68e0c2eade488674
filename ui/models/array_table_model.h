#pragma once

#include "ui/document/array_part.h"
#include "ui/models/token_table_model.h"

#include <QAbstractTableModel>

#include <memory>
#include <optional>

namespace headwise::ui {

/// Read-only table over parts of result arrays: one row per entry of their first dimension, one column per number of the
/// rest. Numbers with known bounds have a bar. Nothing is copied. A proxy sorts and filters.
class ArrayTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Role {
        SortRole = TokenTableModel::SortRole,       ///< The number itself; NaN sorts below all others.
        IsTokenRole = TokenTableModel::IsTokenRole, ///< Whether this cell is drawn as a chip.
        IdRole = TokenTableModel::IdRole,           ///< Token id of such a cell.
        BarRole = TokenTableModel::BarRole,
        /// Whether a direction is meaningful only together with others.
        IsMutedRole = TokenTableModel::IsMutedRole,
        HeatRole =
            TokenTableModel::HeatRole, ///< Colour of unbounded numbers in token tables; one scale per array.
    };

    explicit ArrayTableModel(QObject* parent = nullptr);

    /// `results` keeps the parts' arrays alive. The longest part decides the number of rows.
    void setParts(std::shared_ptr<const ResultSet> results, const std::vector<ArrayPart>& parts,
                  const PictureContext& context);
    void clear();

    std::optional<int> tokenAt(int row) const; ///< The token the row is about, if any.
    /// The heads the row is about, in the order of its columns.
    std::vector<HeadId> headsAt(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    enum class Kind { Name, Number, Whole, Token, Head };
    enum class Form { Digits, Count, Percent, YesNo }; ///< Common format of a column's numbers.
    struct Column {
        QString title;
        QString definition;
        Kind kind = Kind::Number;
        Form form = Form::Digits;
        int firstRow = 0; // for unnamed rows: ranks begin with 1
        ArrayPart part;
        std::size_t place = 0;  // index in a row
        std::size_t stride = 1; // numbers in a row
        ArrayPart layers;       // for a Head, whose part is the head within its layer
        int headsInLayer = 1;   // for a Head without layers, whose part counts the heads of all layers
        double longestBar = 0;  // the largest magnitude; 0: no bars
        double hottest = 0;     // the largest magnitude in its array; 0: no colours
        std::function<QString(int)> name; // for the rows of a Name
    };
    void addColumns(const std::vector<ArrayPart>& alike, const PictureContext& context, bool alone);
    void addRowNames(const ArrayPart& part, const PictureContext& context);
    void numberRowsOfTokens(); ///< By their places, where a column holds the tokens that name them.
    void pairHeads();          ///< "earlier_layer" and "earlier_head" become one column.
    void chooseForms();
    void measureBars();
    void measureHeat();
    bool isOfTokens() const; ///< True if rows or cells are tokens.
    std::optional<HeadId> headIn(const Column& column, int row) const;
    QVariant sortKey(const Column& column, int row) const;
    QVariant bar(const Column& column, int row) const;
    QVariant heat(const Column& column, int row) const;
    double value(const Column& column, int row) const;
    QVariant display(const Column& column, int row) const;
    QVariant toolTip(const Column& column, int row) const;
    /// Number of directions in the block of the row's direction; 1 if rows are not directions.
    int sharersAt(int row) const;
    bool isOfBlock(const Column& column,
                   int row) const;                         ///< True for one direction of a block of several.
    QVariant tokenId(const Column& column, int row) const; ///< Invalid if the cell is not a token.

    std::shared_ptr<const ResultSet> m_results;
    std::vector<Column> m_columns;
    int m_rows = 0;
    int m_headsInLayer = 0; // if not 0, the rows are the heads
    std::function<int(int)> m_rowTokens;
    std::function<QString(int)> m_tokenText;
};

} // namespace headwise::ui
