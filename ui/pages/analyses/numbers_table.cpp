#include "ui/pages/analyses/numbers_table.h"

#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/document/array_part.h"
#include "ui/document/head_metrics.h"
#include "ui/widgets/table_figure.h"
#include "ui/widgets/wrapped_header.h"

#include <QLabel>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

namespace {

QString shapeText(const ResultArray& array)
{
    QStringList parts;
    for (std::size_t i = 0; i < array.shape.size(); ++i)
        parts << QStringLiteral("%1 %2")
                     .arg(array.shape[i])
                     .arg(i < array.axes.size() ? text(array.axes[i].name()) : QString());
    return parts.isEmpty() ? NumbersTable::tr("one number") : parts.join(QStringLiteral(" × "));
}

} // namespace

NumbersTable::NumbersTable(QWidget* parent)
    : QWidget(parent)
    , m_table(new TableFigure(this))
    , m_model(new QStandardItemModel(this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 8);
    layout->setSpacing(4);
    auto* title = new QLabel(this);
    setMarkup(title, tr("<b>Numbers</b>"));
    layout->addWidget(title);
    layout->addWidget(m_table);
    m_table->setAccessibleName(tr("Numbers"));
    m_table->setSource(m_model, Qt::UserRole);
    hide();
}

bool NumbersTable::isEmpty() const
{
    return m_model->rowCount() == 0;
}

void NumbersTable::show(const std::vector<const ResultArray*>& arrays, const Workspace& workspace)
{
    m_model->clear();
    m_model->setHorizontalHeaderLabels(
        {tr("Array"), tr("Shape"), tr("This head"), tr("Null"), tr("Unit"), tr("Definition")});
    const PictureContext context = pictureContext(workspace);
    for (const ResultArray* array : arrays) {
        const auto part = cutAtHeads(*array, context);
        const QString value = part && part->shape.empty() ? number(part->at(0)) : QStringLiteral("–");
        QList<QStandardItem*> row;
        for (const QString& cell : {metricTitle(*array), shapeText(*array), value, nullText({array}),
                                    text(array->unit), text(array->definition)}) {
            row << new QStandardItem(cell);
            row.last()->setToolTip(cell);
            row.last()->setData(cell, Qt::UserRole);
        }
        m_model->appendRow(row);
    }
    for (int column = 0; column < m_model->columnCount(); ++column) {
        bool isEmpty = true; // no row has a null or a unit
        for (int row = 0; row < m_model->rowCount(); ++row)
            isEmpty = isEmpty && m_model->item(row, column)->text().isEmpty();
        m_table->setColumnHidden(column, isEmpty);
    }
    setVisible(!arrays.empty());
    fitColumns();
    m_table->setFixedHeight(std::clamp(m_model->rowCount() * 24 + 40, 70, 320));
}

void NumbersTable::fitColumns()
{
    constexpr int widest = 240, leastOfLast = 240; // px; hovering shows the whole text
    WrappedHeader* header = m_table->header();
    const QAbstractItemView* cells = m_table; // sizeHint is public in the base class
    header->setSectionResizeMode(QHeaderView::Interactive);
    header->setMinimumSectionSize(40);
    const int last = m_model->columnCount() - 1;
    int used = 0;
    for (int column = 0; column < last; ++column) {
        if (header->isSectionHidden(column))
            continue;
        const int width =
            std::max(std::min(cells->sizeHintForColumn(column), widest), header->widthOnLines(column, 1));
        header->resizeSection(column, width);
        used += width;
    }
    if (last >= 0)
        header->resizeSection(last, std::max(m_table->viewport()->width() - used, leastOfLast));
}

void NumbersTable::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    layout()->activate(); // gives the table its new width
    fitColumns();
}

} // namespace headwise::ui
