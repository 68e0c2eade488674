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

/// Where the part of a number begins that stands right of the decimal point, the point with it: "−0.0234" → 2, "12 %" → 2;
/// words end at it.
qsizetype decimalPoint(const QString& number);

/// Whether the cell holds a number: those stand at the right.
bool isNumberCell(const QModelIndex& index);

/// How much room a table's columns of numbers keep right of the decimal point, so that the points stand below one another.
///
/// Of the rows that a table begins with: measured anew only when its model says that they are others.
class NumberColumns : public QObject {
    Q_OBJECT

public:
    explicit NumberColumns(QAbstractItemView* view);

    /// px that the longest part from the decimal point on takes in that column.
    int roomAfterPoint(int column, const QFontMetrics& metrics);

private:
    void forget();
    QString longestTail(int column) const;

    QAbstractItemView* m_view;
    QPointer<QAbstractItemModel> m_model; // that it listens to
    QHash<int, QString> m_longest;        // by column, of those asked for
};

} // namespace headwise::ui
