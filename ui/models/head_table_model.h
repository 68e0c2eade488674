#pragma once

#include "core/model/head_id.h"

#include <QAbstractTableModel>
#include <QString>

#include <memory>
#include <vector>

namespace headwise::ui {

/// One head and the score it is ranked by.
struct HeadScore {
    HeadId head;
    double value = 0;
    double z = 0; ///< Distance from the null in standard deviations; NaN if the null is unknown.
};

/// Read-only table heads × (label, score, and z if any is known). A proxy sorts and filters.
class HeadTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    using Scores = std::shared_ptr<const std::vector<HeadScore>>;
    enum Column { HeadColumn, ValueColumn, ZColumn, ColumnCount };
    enum Role { SortRole = Qt::UserRole }; ///< The number itself; NaN sorts below all others.

    explicit HeadTableModel(QObject* parent = nullptr);

    void setScores(Scores scores,
                   const QString& title); ///< Null means empty; `title` is the header of the score column.
    HeadId headAt(int row) const;
    int rowOf(HeadId head) const; ///< −1 if it is not in the table.

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    Scores m_scores; // Null when empty.
    QString m_title;
    bool m_hasZ = false;
};

} // namespace headwise::ui
