#include "ui/pages/numbers_table.h"

#include "ui/array_part.h"
#include "ui/head_metrics.h"
#include "ui/text.h"
#include "ui/views/table_figure.h"

#include <QHeaderView>
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
                     .arg(i < array.axes.size() ? text(array.axes[i]) : QString());
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
    layout->addWidget(new QLabel(tr("<b>Numbers</b>"), this));
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
    for (const ResultArray* array : arrays) {
        const auto part = cutAtHeads(*array, workspace);
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
    setVisible(!arrays.empty());
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    m_table->setFixedHeight(std::clamp(m_model->rowCount() * 24 + 40, 70, 320));
}

} // namespace headwise::ui
