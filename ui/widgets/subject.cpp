#include "ui/widgets/subject.h"

#include "ui/models/token_table_model.h"
#include "ui/widgets/table_copy.h"

#include <QTableView>

#include <cmath>
#include <utility>

namespace headwise::ui {

namespace {

/// A child of the view that knows what is at its places.
class SubjectFinder : public QObject {
public:
    SubjectFinder(QWidget* view, std::function<Subject(const QPoint&)> at)
        : QObject(view)
        , m_at(std::move(at))
    {
    }

    Subject at(const QPoint& position) const { return m_at(position); }

private:
    std::function<Subject(const QPoint&)> m_at;
};

SubjectFinder* finderOf(const QWidget* view)
{
    for (QObject* child : view->children())
        if (auto* finder = dynamic_cast<SubjectFinder*>(child))
            return finder;
    return nullptr;
}

/// Finds the cell in a table, or in a view that contains tables.
QModelIndex cellAt(QWidget* view, const QPoint& position)
{
    if (const auto* table = qobject_cast<QTableView*>(view))
        return table->indexAt(position);
    for (QWidget* part = view->childAt(position); part && part != view; part = part->parentWidget())
        if (const auto* table = qobject_cast<QTableView*>(part))
            return table->indexAt(table->viewport()->mapFrom(view, position));
    return {};
}

std::optional<int> tokenIn(const QModelIndex& cell)
{
    const QVariant id = cell.data(TokenTableModel::IdRole);
    const bool isToken = cell.data(TokenTableModel::IsTokenRole).toBool() && id.isValid();
    return isToken ? std::optional(id.toInt()) : std::nullopt;
}

/// The token of the cell, else the only one of its row.
std::optional<int> tokenAt(const QModelIndex& cell)
{
    std::optional<int> only = tokenIn(cell);
    if (only)
        return only;
    for (int column = 0; column < cell.model()->columnCount(); ++column) {
        const std::optional<int> token = tokenIn(cell.siblingAtColumn(column));
        if (token && only)
            return {};
        if (token)
            only = token;
    }
    return only;
}

Subject subjectOf(const QModelIndex& cell)
{
    Subject subject;
    subject.heads = cell.data(TokenTableModel::HeadsRole).value<QList<HeadId>>();
    subject.token = tokenAt(cell);
    const QVariant number = cell.data(TokenTableModel::SortRole);
    const bool isNumber = number.typeId() == QMetaType::Double && std::isfinite(number.toDouble());
    if (isNumber && !tokenIn(cell))
        subject.value = takenCell(cell, TokenTableModel::SortRole);
    return subject;
}

} // namespace

void setSubjects(QWidget* view, std::function<Subject(const QPoint&)> at)
{
    delete finderOf(view);
    new SubjectFinder(view, std::move(at));
}

Subject subjectAt(QWidget* view, const QPoint& position)
{
    if (const QModelIndex cell = cellAt(view, position); cell.isValid())
        return subjectOf(cell);
    for (QWidget* part = view->childAt(position); part && part != view; part = part->parentWidget())
        if (const SubjectFinder* finder = finderOf(part))
            return finder->at(part->mapFrom(view, position));
    const SubjectFinder* finder = finderOf(view);
    return finder ? finder->at(position) : Subject{};
}

} // namespace headwise::ui
