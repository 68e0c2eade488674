#pragma once

#include "ui/document/array_part.h"
#include "ui/models/array_table_model.h"

#include <QAbstractTableModel>

#include <memory>
#include <utility>

namespace headwise::ui {

/// Read-only table of head pairs: one row per pair, one column per array [layer, head, layer, head], and the random
/// baseline of the first array. Rows are sorted by magnitude in the first array. The numbers stay in their arrays.
class PairTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    static constexpr std::size_t mostRows = 20000; ///< Only this many of the largest are shown.

    explicit PairTableModel(QObject* parent = nullptr);

    /// Skips pairs whose entry in the first array is NaN, and pairs of a head with itself.
    /// \param results keeps the arrays alive  \param arrays of one model, all over the same heads
    void setArrays(std::shared_ptr<const ResultSet> results, std::vector<const ResultArray*> arrays);
    void clear() { setArrays(nullptr, {}); }

    std::pair<HeadId, HeadId> pairAt(int row) const; ///< The earlier head first.
    std::size_t pairCount() const { return m_all; }  ///< Includes the pairs past mostRows.

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    enum class Kind { From, To, Value, Null };
    struct Column {
        Kind kind = Kind::Value;
        const ResultArray* array = nullptr;
    };
    double value(const Column& column, int row) const;

    std::shared_ptr<const ResultSet> m_results;
    std::vector<Column> m_columns;
    std::vector<std::size_t> m_rows; // indices into the arrays
    std::size_t m_all = 0;
    std::size_t m_heads = 0; // in the model
    std::size_t m_headsOfLayer = 1;
};

} // namespace headwise::ui
