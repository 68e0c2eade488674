#include "ui/pages/model/names_table.h"

#include "core/model/names/names_map.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QComboBox>
#include <QHeaderView>
#include <QJsonArray>
#include <QLineEdit>

#include <algorithm>

namespace headwise::ui {

namespace {

enum NamesColumn { TensorsColumn, ShapeColumn, PartColumn, AxesColumn, NamesColumnCount };

constexpr QLatin1String roleSeparator(" + ");

} // namespace

QString joinedRoles(const QJsonValue& is)
{
    QStringList names;
    for (const QJsonValue name : is.isArray() ? is.toArray() : QJsonArray{is})
        names << name.toString();
    return names.join(roleSeparator);
}

QStringList rolesIn(const QString& joined)
{
    return joined == notAWeight || joined == unknownPart ? QStringList() : joined.split(roleSeparator);
}

NamesTable::NamesTable(std::shared_ptr<const WeightMap> file, QWidget* parent)
    : QTableWidget(0, NamesColumnCount, parent)
    , m_file(std::move(file))
{
    setHorizontalHeaderLabels({tr("Tensors"), tr("Shape"), tr("Part"), tr("Axes")});
    setAccessibleName(tr("Tensors and their parts of the transformer"));
    setShowGrid(false);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setTabKeyNavigation(false);
    verticalHeader()->hide();
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    horizontalHeader()->setStretchLastSection(true);
}

void NamesTable::addRow(const QJsonObject& proposed)
{
    const QString name = proposed[QLatin1String("name")].toString();
    const int at = rowCount();
    insertRow(at);
    m_proposed << proposed;
    for (const int column : {TensorsColumn, ShapeColumn}) {
        auto* cell = new QTableWidgetItem(column == TensorsColumn ? name : QString());
        cell->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
        cell->setToolTip(proposed[QLatin1String("comment")].toString());
        setItem(at, column, cell);
    }
    if (const StoredTensor* tensor = first(at))
        item(at, ShapeColumn)->setText(text(shapeText(tensor->shape)));
    m_parts << createParts(name, joinedRoles(proposed[QLatin1String("is")]));
    m_axes << createAxes(name, proposed[QLatin1String("axes")].toString());
    setCellWidget(at, PartColumn, m_parts.back());
    setCellWidget(at, AxesColumn, m_axes.back());
    selectOnChoice(m_parts.back(), at);
    selectOnChoice(m_axes.back(), at);
}

QComboBox* NamesTable::createParts(const QString& name, const QString& roles)
{
    auto* parts = new QComboBox(this);
    parts->setAccessibleName(tr("Part of %1").arg(name));
    parts->addItem(tr("Choose…"), QString(unknownPart));
    parts->addItem(tr("Not a weight"), QString(notAWeight));
    for (const NamedRole& role : namedRoles())
        parts->addItem(text(role.name), text(role.name));
    if (parts->findData(roles) < 0)
        parts->addItem(roles, roles); // several parts in one tensor
    parts->setCurrentIndex(parts->findData(roles));
    connect(parts, &QComboBox::currentIndexChanged, this, &NamesTable::changed);
    return parts;
}

QComboBox* NamesTable::createAxes(const QString& name, const QString& axes)
{
    auto* box = new QComboBox(this);
    box->setAccessibleName(tr("Axes of %1").arg(name));
    box->setEditable(true);
    box->addItems({QString(), QStringLiteral("transposed"), QStringLiteral("heads, d_model, d_head"),
                   QStringLiteral("heads, d_head, d_model"), QStringLiteral("d_model, heads, d_head"),
                   QStringLiteral("heads*parts*d_head, d_model")});
    box->lineEdit()->setPlaceholderText(tr("as stored"));
    box->setCurrentText(axes);
    connect(box, &QComboBox::currentTextChanged, this, &NamesTable::changed);
    return box;
}

void NamesTable::selectOnChoice(const QComboBox* box, int row)
{
    connect(box, &QComboBox::activated, this, [this, row] { selectRows({row}); });
}

QString NamesTable::tensors(int row) const
{
    return item(row, TensorsColumn)->text();
}

QString NamesTable::roles(int row) const
{
    return m_parts[row]->currentData().toString();
}

QString NamesTable::axes(int row) const
{
    return m_axes[row]->currentText().trimmed();
}

const StoredTensor* NamesTable::first(int row) const
{
    const std::string pattern = tensors(row).toStdString();
    const auto found =
        std::find_if(m_file->tensors().begin(), m_file->tensors().end(),
                     [&](const StoredTensor& tensor) { return matchName(pattern, tensor.name).has_value(); });
    return found == m_file->tensors().end() ? nullptr : &*found;
}

QString NamesTable::doubt(int row) const
{
    const QJsonObject& proposed = m_proposed[row];
    const bool isAsProposed = roles(row) == joinedRoles(proposed[QLatin1String("is")])
        && axes(row) == proposed[QLatin1String("axes")].toString();
    return isAsProposed && roles(row) != unknownPart ? proposed[QLatin1String("comment")].toString()
                                                     : QString();
}

void NamesTable::answer(int row, const QString& roles, const QString& axes)
{
    QComboBox* parts = m_parts[row];
    if (parts->findData(roles) < 0)
        parts->addItem(roles, roles);
    parts->setCurrentIndex(parts->findData(roles));
    m_axes[row]->setCurrentText(axes);
}

void NamesTable::mark(int row, Mark mark)
{
    const ThemeColors& colors = themeColors(palette());
    item(row, TensorsColumn)
        ->setForeground(mark == Mark::Open              ? colors.warning
                            : mark == Mark::Contradicts ? colors.bad
                                                        : colors.good);
}

QList<int> NamesTable::selectedRows() const
{
    QList<int> rows;
    for (const QModelIndex& index : selectionModel()->selectedRows())
        rows << index.row();
    std::sort(rows.begin(), rows.end());
    return rows;
}

void NamesTable::selectRows(const QList<int>& rows)
{
    QItemSelection selection;
    for (const int row : rows)
        selection.select(model()->index(row, 0), model()->index(row, NamesColumnCount - 1));
    if (!rows.isEmpty())
        selectionModel()->setCurrentIndex(model()->index(rows.front(), 0), QItemSelectionModel::NoUpdate);
    selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    if (!rows.isEmpty())
        scrollTo(model()->index(rows.front(), 0));
}

} // namespace headwise::ui
