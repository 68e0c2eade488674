#include "ui/widgets/number_columns.h"

#include <QAbstractItemView>
#include <QFontMetrics>

#include <algorithm>

namespace headwise::ui {

namespace {
constexpr int numberColumnsMeasuredRows = 300; // Enough to tell what a column holds.
}

qsizetype decimalPoint(const QString& number)
{
    const auto isOfInteger = [](QChar c) {
        return c.isDigit() || c == u'+' || c == u'-' || c == u'\u2212'
            || c == u'\u2009'; // thin spaces from count()
    };
    const auto end = std::find_if_not(number.begin(), number.end(), isOfInteger);
    const bool isNumber = std::any_of(number.begin(), end, [](QChar c) { return c.isDigit(); });
    return isNumber ? end - number.begin() : number.size();
}

bool isNumberCell(const QModelIndex& index)
{
    return index.data(Qt::TextAlignmentRole).toInt() & Qt::AlignRight;
}

NumberColumns::NumberColumns(QAbstractItemView* view)
    : QObject(view)
    , m_view(view)
{
}

void NumberColumns::forget()
{
    m_longest.clear();
}

QString NumberColumns::longestTail(int column) const
{
    QString longest;
    for (int row = 0; row < std::min(numberColumnsMeasuredRows, m_model->rowCount()); ++row) {
        const QString shown = m_model->index(row, column).data().toString();
        if (const qsizetype point = decimalPoint(shown); shown.size() - point > longest.size())
            longest = shown.sliced(point);
    }
    return longest;
}

int NumberColumns::roomAfterPoint(int column, const QFontMetrics& metrics)
{
    if (m_model != m_view->model()) {
        if (m_model)
            m_model->disconnect(this);
        m_model = m_view->model();
        forget();
        for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved,
                                  &QAbstractItemModel::columnsInserted, &QAbstractItemModel::columnsRemoved})
            connect(m_model, signal, this, &NumberColumns::forget);
        connect(m_model, &QAbstractItemModel::modelReset, this, &NumberColumns::forget);
        connect(m_model, &QAbstractItemModel::layoutChanged, this, &NumberColumns::forget);
        connect(m_model, &QAbstractItemModel::dataChanged, this, &NumberColumns::forget);
    }
    auto known = m_longest.find(column);
    if (known == m_longest.end())
        known = m_longest.insert(column, longestTail(column));
    return metrics.horizontalAdvance(*known);
}

} // namespace headwise::ui
