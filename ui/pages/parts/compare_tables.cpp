#include "ui/pages/parts/compare_tables.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/row_opening.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QStandardItemModel>

namespace headwise::ui {

CompareTables::CompareTables(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
{
    auto* columns = new QHBoxLayout(this);
    columns->setContentsMargins(0, 0, 0, 0);
    columns->setSpacing(8);
    const std::array names{tr("Only in the selected head"), tr("In both heads"), tr("Only in the reference")};
    for (std::size_t i = 0; i < m_tables.size(); ++i) {
        m_models[i] = new QStandardItemModel(this);
        m_tables[i] = new TableFigure(this);
        m_captions[i] = new QLabel(this);
        makeSecondary(m_captions[i]);
        m_tables[i]->setAccessibleName(names[i]);
        m_tables[i]->setSource(m_models[i], TokenTableModel::SortRole);
        auto* box = new QVBoxLayout;
        box->setSpacing(4);
        box->addWidget(m_captions[i]);
        box->addWidget(m_tables[i], 1);
        columns->addLayout(box, i == 1 ? 3 : 2); // This table has both ranks and their change.
        whenOpened(m_tables[i], [this, i](const QModelIndex& index) {
            m_workspace->selection()->setToken(tokenOf(*m_models[i], m_tables[i]->sourceRow(index), 0));
        });
    }
}

void CompareTables::show(const TableDifference& difference, const QString& first, const QString& second)
{
    const std::array lists{&difference.onlyFirst, &difference.both, &difference.onlySecond};
    const std::array captions{tr("only in %1").arg(first), tr("in both"), tr("only in %1").arg(second)};
    for (std::size_t i = 0; i < lists.size(); ++i) {
        m_captions[i]->setText(QStringLiteral("%1 · %2").arg(captions[i]).arg(lists[i]->size()));
        QStandardItemModel* model = m_models[i];
        model->clear();
        model->setHorizontalHeaderLabels(
            {tr("Token"), tr("# %1").arg(first), tr("# %1").arg(second), tr("Change"), first, second});
        for (const ChangedEntry& entry : *lists[i]) {
            const int change = entry.firstRank - entry.secondRank;
            QStandardItem* moved = countCell(change);
            moved->setText(change == 0 ? QStringLiteral("=")
                                       : QStringLiteral("%1 %2")
                                             .arg(change > 0 ? QStringLiteral("▲") : QStringLiteral("▼"))
                                             .arg(count(std::abs(change))));
            moved->setToolTip(tr("Rank change from %1 to %2").arg(first, second));
            model->appendRow(
                {tokenCell(*m_workspace, entry.id, entry.id == m_workspace->selection()->token()),
                 countCell(entry.firstRank + 1), countCell(entry.secondRank + 1), moved,
                 signedNumberCell(entry.first), signedNumberCell(entry.second)});
        }
        // Hides columns that are constant in a table or repeated from another; the export has them.
        const std::array<std::array<int, 3>, 3> hidden{{{1, 2, 3}, {1, 4, 5}, {1, 2, 3}}};
        for (const int column : hidden[i])
            m_tables[i]->setColumnHidden(column, true);
        m_tables[i]->setColumnHidden(i == 0 ? 5 : 4, true);
        fitColumns(m_tables[i]);
        // Side by side there is little space: long tokens shrink before numbers do.
        m_tables[i]->horizontalHeader()->setStretchLastSection(false);
        m_tables[i]->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    }
}

void CompareTables::clear()
{
    for (std::size_t i = 0; i < m_models.size(); ++i) {
        m_models[i]->clear();
        m_captions[i]->clear();
    }
}

QString CompareTables::caption(int index) const
{
    return m_captions[static_cast<std::size_t>(index)]->text();
}

bool CompareTables::isEmpty() const
{
    return m_captions.front()->text().isEmpty();
}

} // namespace headwise::ui
