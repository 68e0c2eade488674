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

    bool operator==(const TokenRow&) const = default;
};

/// Read-only table over immutable rows: rank, token, id, value, z-score and share of the row. Sorting and filtering belong to a proxy.
class TokenTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    using Rows = std::shared_ptr<const std::vector<TokenRow>>;
    enum Column { RankColumn, TokenColumn, IdColumn, ValueColumn, ZColumn, ShareColumn, ColumnCount };
    enum Role {
        SortRole = Qt::UserRole, ///< The number itself; DisplayRole is text for people.
        IdRole,
        IsSpecialRole,
        IsSourceRole,
        IsTokenRole, ///< Whether this cell is drawn as a chip.
        BarRole,     ///< Where a bar under the number begins and ends, QPointF in shares of the width.
    };

    explicit TokenTableModel(QObject* parent = nullptr);

    void setRows(Rows rows); ///< Replaces the contents. Null means empty.
    const Rows& rows() const { return m_rows; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QVariant display(int row, int column) const;
    QVariant sortKey(int row, int column) const;

    Rows m_rows; // Null when empty.
};

} // namespace headwise::ui
