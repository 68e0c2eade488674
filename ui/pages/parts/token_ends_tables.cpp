#include "ui/pages/parts/token_ends_tables.h"

#include "ui/base/theme.h"
#include "ui/widgets/row_opening.h"
#include "ui/widgets/table_copy.h"
#include "ui/widgets/token_delegate.h"

#include <QHeaderView>
#include <QLabel>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

// Tokens of so many characters are never cut off.
constexpr int readableCharacters = 12;
constexpr int readableWhenCompact = 8;
constexpr int widestTable = 640; // px: a value stays near its token on the widest screen

constexpr int allColumns[] = {TokenTableModel::RankColumn, TokenTableModel::IdColumn,
                              TokenTableModel::BiasedColumn, TokenTableModel::ZColumn,
                              TokenTableModel::ShareColumn};

/// Width in px of a shown column, for its title and its first rows.
int wantedWidth(const QTableView* table, int column)
{
    const QAbstractItemView* cells = table; // sizeHint is public in the base class
    const QHeaderView* header = table->horizontalHeader();
    return std::max(header->isHidden() ? header->minimumSectionSize() : header->sectionSizeHint(column),
                    cells->sizeHintForColumn(column));
}

} // namespace

TokenEndsTables::TokenEndsTables(QWidget* parent)
    : QWidget(parent)
    , m_top(new TokenTableModel(this))
    , m_bottom(new TokenTableModel(this))
    , m_topTable(makeTable(m_top))
    , m_bottomTable(makeTable(m_bottom))
    , m_layout(new QBoxLayout(QBoxLayout::LeftToRight, this))
{
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(8);
    m_layout->addWidget(captioned(tr("largest"), m_topTable), 1000);
    m_bottomEnd = captioned(tr("smallest"), m_bottomTable);
    m_layout->addWidget(m_bottomEnd, 1000);
    m_layout->addStretch(1); // what the tables leave
    arrange();
}

void TokenEndsTables::setRows(TokenTableModel::Rows top, TokenTableModel::Rows bottom, double largest)
{
    m_top->setRows(std::move(top), largest);
    m_bottom->setRows(std::move(bottom), largest);
    arrange(); // The widths of the columns have changed.
}

void TokenEndsTables::clear()
{
    m_top->setRows(nullptr);
    m_bottom->setRows(nullptr);
}

void TokenEndsTables::setColumns(const Columns& columns)
{
    m_columns = columns;
    arrange();
}

void TokenEndsTables::setFilter(const QString& text)
{
    for (QTableView* table : {m_topTable, m_bottomTable})
        static_cast<QSortFilterProxyModel*>(table->model())->setFilterFixedString(text);
}

QTableView* TokenEndsTables::makeTable(TokenTableModel* model)
{
    auto* table = new QTableView(this);
    auto* filtered = new QSortFilterProxyModel(table);
    filtered->setSourceModel(model);
    filtered->setFilterKeyColumn(TokenTableModel::TokenColumn);
    filtered->setFilterCaseSensitivity(Qt::CaseInsensitive);
    table->setModel(filtered);
    table->setItemDelegate(new TokenDelegate(table));
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    copyRowsByKey(table, TokenTableModel::SortRole);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(24);
    table->setShowGrid(false);
    table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    table->setWordWrap(false);
    QHeaderView* header = table->horizontalHeader();
    header->setMinimumSectionSize(24);
    header->setResizeContentsPrecision(50);
    header->setSectionResizeMode(QHeaderView::ResizeToContents);
    header->setSectionResizeMode(TokenTableModel::TokenColumn, QHeaderView::Stretch);
    header->moveSection(TokenTableModel::BiasedColumn, TokenTableModel::ValueColumn + 1); // beside the score
    whenOpened(table, [this](const QModelIndex& index) {
        emit tokenActivated(index.data(TokenTableModel::IdRole).toInt());
    });
    table->setMouseTracking(true);
    connect(table, &QTableView::entered, this, [this, model, filtered](const QModelIndex& index) {
        emit rowHovered((*model->rows())[static_cast<std::size_t>(filtered->mapToSource(index).row())]);
    });
    return table;
}

QWidget* TokenEndsTables::captioned(const QString& caption, QTableView* table)
{
    auto* box = new QWidget(this);
    box->setMaximumWidth(widestTable);
    auto* label = new QLabel(caption, box);
    makeSecondary(label);
    table->setAccessibleName(caption);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(label);
    layout->addWidget(table, 1);
    return box;
}

void TokenEndsTables::setCompact(bool on)
{
    m_isCompact = on;
    arrange();
}

void TokenEndsTables::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
}

int TokenEndsTables::widthOf(int column) const
{
    return std::max(wantedWidth(m_topTable, column), wantedWidth(m_bottomTable, column));
}

int TokenEndsTables::widthBeside() const
{
    return 2 * m_topTable->frameWidth() + m_topTable->verticalScrollBar()->sizeHint().width();
}

int TokenEndsTables::leastWidth() const
{
    return TokenDelegate::tokenWidth(m_isCompact ? readableWhenCompact : readableCharacters)
        + widthOf(TokenTableModel::ValueColumn) + widthBeside();
}

std::vector<int> TokenEndsTables::wantedColumns() const
{
    std::vector<int> columns;
    if (m_isCompact)
        return columns;
    if (m_columns.ids) // still shown on hover
        columns.push_back(TokenTableModel::IdColumn);
    if (m_columns.ranks)
        columns.push_back(TokenTableModel::RankColumn);
    if (m_columns.biased)
        columns.push_back(TokenTableModel::BiasedColumn);
    columns.push_back(m_columns.scores ? TokenTableModel::ZColumn : TokenTableModel::ShareColumn);
    return columns;
}

void TokenEndsTables::arrange()
{
    for (QTableView* table : {m_topTable, m_bottomTable})
        table->horizontalHeader()->setVisible(!m_isCompact);
    const int least = leastWidth();
    const int half = (width() - m_layout->spacing()) / 2;
    m_bottomEnd->setVisible(!m_isCompact || half >= least);
    const bool isStacked = !m_isCompact && half < least;
    m_layout->setDirection(isStacked ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    int room = (isStacked ? width() : half) - least;
    const std::vector<int> wanted = wantedColumns();
    for (const int column : allColumns) {
        const bool isWanted = std::ranges::find(wanted, column) != wanted.end();
        for (QTableView* table : {m_topTable, m_bottomTable})
            table->setColumnHidden(column, !isWanted);
    }
    // The tokens come first: columns that leave them too little space are hidden, the least important ones first.
    for (const int column : wanted) {
        room -= widthOf(column);
        for (QTableView* table : {m_topTable, m_bottomTable})
            table->setColumnHidden(column, room < 0);
    }
}

} // namespace headwise::ui
