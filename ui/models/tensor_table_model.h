#pragma once

#include "core/checkpoint/tensor_statistics.h"
#include "core/model/load_report.h"

#include <QAbstractTableModel>

#include <memory>
#include <optional>
#include <vector>

namespace headwise::ui {

/// Read-only table of the tensors of a checkpoint as they are stored. A proxy sorts and filters.
///
/// Names, shapes and uses are known at once; statistics arrive later, row by row.
class TensorTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column {
        NameColumn,
        ShapeColumn,
        DtypeColumn,
        BytesColumn,
        MinimumColumn,
        MaximumColumn,
        MeanColumn,
        DeviationColumn,
        NanColumn,
        InfinityColumn,
        UseColumn,
        ColumnCount
    };
    enum Role { SortRole = Qt::UserRole }; ///< Numbers as numbers; unknown ones sort below all others.

    explicit TensorTableModel(QObject* parent = nullptr);

    void
    setWeights(std::shared_ptr<const ModelWeights> weights); ///< Null means empty. Forgets the statistics.
    void setFile(std::shared_ptr<const WeightMap> file);     ///< The same without a model: no use is known.
    /// \param statistics nothing: the dtype cannot be decoded
    void setStatistics(int tensor, const std::optional<TensorStatistics>& statistics);
    bool isKnown(int tensor) const { return m_rows[static_cast<std::size_t>(tensor)].isKnown; }
    const std::optional<TensorStatistics>& statistics(int tensor) const
    {
        return m_rows[static_cast<std::size_t>(tensor)].statistics;
    }
    QString useText(int tensor) const; ///< "W_Q of layer 3", or why it is ignored.

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    struct Row {
        bool isKnown = false;
        std::optional<TensorStatistics> statistics;
    };

    void reset(std::shared_ptr<const WeightMap> file, LoadReport report);
    std::optional<double> numberAt(int tensor, int column) const; ///< Nothing if unknown or not a number.
    QString shown(int tensor, int column) const;
    QString toolTip(int tensor, int column) const;

    std::shared_ptr<const WeightMap> m_file; // Null when empty.
    LoadReport m_report;
    std::vector<Row> m_rows;
};

} // namespace headwise::ui
