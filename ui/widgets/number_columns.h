#pragma once

#include <QHash>
#include <QObject>
#include <QPointer>
#include <QString>

class QAbstractItemModel;
class QAbstractItemView;
class QFontMetrics;
class QModelIndex;

namespace headwise::ui {

/// Returns where the part right of the decimal point begins, including the point: "−0.0234" → 2, "12 %" → 2. Text after a
/// number ends it.
qsizetype decimalPoint(const QString& number);

/// Tells whether the cell holds a number; numbers are right-aligned.
bool isNumberCell(const QModelIndex& index);

/// Aligns the decimal points in a table's number columns.
///
/// It measures the first rows of a table, and measures again only when the model reports other rows.
class NumberColumns : public QObject {
    Q_OBJECT

public:
    explicit NumberColumns(QAbstractItemView* view);

    /// Width in px of the column's longest part from the decimal point on.
    int roomAfterPoint(int column, const QFontMetrics& metrics);

private:
    void forget();
    QString longestTail(int column) const;

    QAbstractItemView* m_view;
    QPointer<QAbstractItemModel> m_model; // the model whose signals are connected
    QHash<int, QString> m_longest;        // by column, filled on request
};

} // namespace headwise::ui
