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
    QString shown; ///< The token as shown (␣the).
    double value = 0;
    bool isSpecial = false;
    bool isSource = false;             ///< True for the token the table is about.
    std::optional<double> zScore = {}; ///< Within its row or column of the circuit.
    std::optional<double> share = {};  ///< value²/‖row‖²
    std::optional<double> biased = {}; ///< The same entry with the biases of both sides.
    QString quoted = {};               ///< Its raw text in quotes, "\" the\"".
    bool isGlitch = false;             ///< Untrained token; drawn muted.

    bool operator==(const TokenRow&) const = default;
};

/// Read-only table over immutable rows: rank, token, id, value, z-score and share of the row, value with biases. A proxy
/// sorts and filters.
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
        BarRole,     ///< Begin and end of a bar under the number, QPointF in fractions of the width.
        IsMutedRole, ///< Whether this cell is greyed out because it is meaningless by itself.
        /// The number over the largest magnitude of its table, −1 … 1, for the cell's colour. A token uses its number's.
        HeatRole,
        HeadsRole, ///< The heads the row is about, the earlier first: QList<HeadId>.
    };

    explicit TokenTableModel(QObject* parent = nullptr);

    /// Replaces the contents. Null means empty.
    /// \param largest magnitude of the strongest colour; 0: the largest of these rows
    void setRows(Rows rows, double largest = 0);
    double largest() const { return m_largest; } ///< 0 for an empty table.
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
