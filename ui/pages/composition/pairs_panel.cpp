#include "ui/pages/composition/pairs_panel.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/models/pair_table_model.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QHeaderView>
#include <QLabel>
#include <QVBoxLayout>

namespace headwise::ui {

PairsPanel::PairsPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_model(new PairTableModel(this))
    , m_table(new TableFigure(this))
    , m_caption(new QLabel(this))
{
    m_table->setSource(m_model, ArrayTableModel::SortRole);
    m_table->setAccessibleName(tr("Composition of all pairs, sorted"));
    makeSecondary(m_caption);
    m_caption->setWordWrap(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 8, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_table, 1);
    layout->addWidget(m_caption);
    connect(m_table, &TableFigure::rowChosen, this, [this](int row) {
        const auto [earlier, later] = m_model->pairAt(row);
        this->workspace()->selection()->setReference(earlier);
        this->workspace()->selection()->setHead(later);
    });
    connect(workspace->model(), &OpenModel::closed, this, [this] {
        m_shown.reset();
        m_model->clear();
    });
}

std::vector<const ResultArray*> PairsPanel::arraysOf(const ResultSet& results) const
{
    std::vector<const ResultArray*> arrays;
    const std::string nulls = "analyses/composition_nulls/" + m_kind;
    for (const std::string& path :
         {"composition/" + m_kind, nulls + "_z", nulls + "_percentile", nulls + "_excess"})
        if (const ResultArray* array = results.find(path))
            arrays.push_back(array);
    return arrays;
}

void PairsPanel::showKind(const std::string& kind, const QString& title)
{
    const auto results = workspace()->model()->results();
    if (kind == m_kind && results == m_shown)
        return; // keeps scroll position, sorting and selection
    m_kind = kind;
    m_title = title;
    m_shown = results;
    const std::vector<const ResultArray*> arrays = arraysOf(*results);
    const bool isThere = !arrays.empty() && arrays.front()->path == "composition/" + kind;
    m_model->setArrays(results, isThere ? arrays : std::vector<const ResultArray*>());
    m_table->setVisible(isThere);
    fitColumns(m_table);
    const QString rows = m_model->pairCount() > static_cast<std::size_t>(m_model->rowCount())
        ? tr("The %1 largest of %2 pairs.")
              .arg(count(m_model->rowCount()), count(static_cast<qint64>(m_model->pairCount())))
        : m_model->rowCount() == 1 ? tr("1 pair.")
                                   : tr("%1 pairs.").arg(count(m_model->rowCount()));
    m_caption->setText(!isThere ? tr("Composition is not computed yet.")
                           : arrays.size() > 1
                           ? rows
                           : tr("%1 “Against chance” on the map adds z and the percentile.").arg(rows));
}

QList<FigureSource*> PairsPanel::figures()
{
    if (m_model->rowCount() == 0)
        return {};
    describe(m_table, tr("All pairs, %1, %2").arg(m_title, text(workspace()->model()->card().name)));
    setSubject(m_table, std::nullopt);
    return {m_table};
}

} // namespace headwise::ui
