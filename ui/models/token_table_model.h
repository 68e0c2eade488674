#pragma once

#include <QAbstractTableModel>
#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace headwise::ui {

/// One line of a token table.
struct TokenRow {
    int token = 0;
    QString shown; ///< As everything shows it.
    double value = 0;
    bool isSpecial = false;
    bool isSource = false;             ///< The token the table belongs to.
    std::optional<double> zScore = {}; ///< Within its row or column.
    std::optional<double> share = {};  ///< value²/‖row‖²
    std::optional<double> biased = {}; ///< The same entry with the biases of both sides.
    QString quoted = {};               ///< Its own text, "\" the\"".
    bool isGlitch = false;             ///< Hardly trained: it is drawn muted.

    bool operator==(const TokenRow&) const = default;
};

/// Read-only table over immutable rows: rank, token, id, value, z-score and share of the row, value with biases. Sorting and
/// filtering belong to a proxy.
class TokenTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    using Rows = std::shared_ptr<const std::vector<TokenRow>>;
    enum Column {
        RankColumn,
        TokenColumn,
        IdColumn,
        ValueColumn,
        ZColumn,
        ShareColumn,
        BiasedColumn,
        ColumnCount
    };
    enum Role {
        SortRole = Qt::UserRole, ///< The number itself; DisplayRole is text for people.
        IdRole,
        IsSpecialRole,
        IsSourceRole,
        IsTokenRole, ///< Whether this cell is drawn as a chip.
        BarRole,     ///< Where a bar under the number begins and ends, QPointF in shares of the width.
        IsMutedRole, ///< Whether this cell is greyed out: it is there, and means nothing by itself.
        HeatRole, ///< The number over the largest magnitude of its table, −1 … 1: the cell's colour. Of a token: its number's.
    };

    explicit TokenTableModel(QObject* parent = nullptr);

    /// Replaces the contents. Null means empty.
    /// \param largest the magnitude that gets the strongest colour; 0: the largest of these rows
    void setRows(Rows rows, double largest = 0);
    double largest() const { return m_largest; } ///< 0 of an empty table.
    const Rows& rows() const { return m_rows; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QVariant display(int row, int column) const;
    QVariant sortKey(int row, int column) const;

    Rows m_rows; // Null when empty.
    double m_largest = 0;
};

} // namespace headwise::ui
