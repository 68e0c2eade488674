#pragma once

#include "ui/document/array_part.h"
#include "ui/models/token_table_model.h"

#include <QAbstractTableModel>

#include <memory>
#include <optional>

namespace headwise::ui {

/// Read-only table over parts of result arrays: a row per entry of their first dimension, a column per number of the rest; numbers
/// that have bounds with a bar each. Nothing is copied. Sorting and filtering belong to a proxy.
class ArrayTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Role {
        SortRole = TokenTableModel::SortRole,       ///< The number itself, NaN below all others.
        IsTokenRole = TokenTableModel::IsTokenRole, ///< Whether this cell is drawn as a chip.
        IdRole = TokenTableModel::IdRole,           ///< Token id of such a cell.
        BarRole = TokenTableModel::BarRole,
        IsMutedRole = TokenTableModel::IsMutedRole, ///< Whether a direction means something only with others.
        HeatRole =
            TokenTableModel::HeatRole, ///< Colour of unbounded numbers in token tables, one scale per array.
    };

    explicit ArrayTableModel(QObject* parent = nullptr);

    /// `results` keeps the parts' arrays. Parts of different length: as many rows as the longest has.
    void setParts(std::shared_ptr<const ResultSet> results, const std::vector<ArrayPart>& parts,
                  const PictureContext& context);
    void clear();

    std::optional<int> tokenAt(int row) const; ///< That the row speaks of; none if it speaks of none.
    /// The heads that the row speaks of, in the order of its columns.
    std::vector<HeadId> headsAt(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    enum class Kind { Name, Number, Whole, Token, Head };
    enum class Form {
        Digits,
        Count,
        Percent,
        YesNo
    }; ///< How the numbers of a column are written, all alike.
    struct Column {
        QString title;
        QString definition;
        Kind kind = Kind::Number;
        Form form = Form::Digits;
        int firstRow = 0; // of names without a name: ranks begin with 1
        ArrayPart part;
        std::size_t place = 0;            // in a row
        std::size_t stride = 1;           // numbers in a row
        ArrayPart layers;                 // of a Head, whose part is the head in its layer
        double longestBar = 0;            // the largest magnitude; 0: no bars
        double hottest = 0;               // the largest magnitude of its array; 0: no colours
        std::function<QString(int)> name; // of a Name's rows
    };
    void addColumns(const std::vector<ArrayPart>& alike, const PictureContext& context, bool alone);
    void addRowNames(const ArrayPart& part, const PictureContext& context);
    void numberRowsOfTokens(); ///< By their places, where a column holds the tokens that name them.
    void pairHeads();          ///< "earlier_layer" and "earlier_head" become one column.
    void chooseForms();
    void measureBars();
    void measureHeat();
    bool isOfTokens() const; ///< Whether rows or cells are tokens.
    std::optional<HeadId> headIn(const Column& column, int row) const;
    QVariant sortKey(const Column& column, int row) const;
    QVariant bar(const Column& column, int row) const;
    QVariant heat(const Column& column, int row) const;
    double value(const Column& column, int row) const;
    QVariant display(const Column& column, int row) const;
    QVariant toolTip(const Column& column, int row) const;
    /// How many directions share the block of the row's; 1 where rows are no directions.
    int sharersAt(int row) const;
    bool isOfBlock(const Column& column,
                   int row) const; ///< Whether the number is of one direction of several.
    QVariant tokenId(const Column& column, int row) const; ///< Invalid where the cell is no token.

    std::shared_ptr<const ResultSet> m_results;
    std::vector<Column> m_columns;
    int m_rows = 0;
    int m_headsInLayer = 0; // not 0: the rows are the heads
    std::function<int(int)> m_rowTokens;
    std::function<QString(int)> m_tokenText;
};

} // namespace headwise::ui
