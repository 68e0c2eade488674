#include "ui/pages/overview/composition_panel.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/compute_button.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QHeaderView>
#include <QLabel>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr std::size_t rowsShown = 16;

struct Link {
    QString words;
    HeadId other, earlier, later;
    double score, excess;
};

/// Adds every pair of one kind that `head` belongs to.
void addLinks(std::vector<Link>& links, const ResultArray& array, HeadId head, const QString& kind)
{
    const double null = array.nullMean.value_or(0);
    const std::size_t heads = array.shape[1], all = array.shape[0] * heads;
    const ArrayPart values = wholeArray(array);
    const auto own = static_cast<std::size_t>(head.layer) * heads + static_cast<std::size_t>(head.head);
    for (std::size_t i = 0; i < all; ++i) {
        const HeadId other{static_cast<int>(i / heads), static_cast<int>(i % heads)};
        const double from = values.at(i * all + own), to = values.at(own * all + i);
        if (std::isfinite(from))
            links.push_back({CompositionPanel::tr("%1 ← %2").arg(kind, text(other)), other, other, head, from,
                             from - null});
        if (std::isfinite(to))
            links.push_back({CompositionPanel::tr("→ %1 of %2").arg(kind, text(other)), other, head, other,
                             to, to - null});
    }
}

} // namespace

CompositionPanel::CompositionPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_message(new QLabel(this))
    , m_model(new QStandardItemModel(this))
    , m_table(new TableFigure(this))
{
    makeSecondary(m_message);
    m_message->setWordWrap(true);
    m_message->setAlignment(Qt::AlignCenter);
    m_table->setSource(m_model, TokenTableModel::SortRole);
    m_table->setAccessibleName(tr("Composition of the head"));
    m_table->setToolTip(tr(
        "K ←: this head's keys read the other head's output. → K: the other head's keys read this head's output. A click marks the other head as the reference"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_message);
    layout->addWidget(new ComputeButton(workspace, "composition", this), 0, Qt::AlignHCenter | Qt::AlignTop);
    layout->addWidget(m_table, 1);
    connect(workspace->model(), &OpenModel::opened, this, &CompositionPanel::refresh);
    connect(workspace->model(), &OpenModel::closed, this, &CompositionPanel::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &CompositionPanel::refresh);
    connect(workspace->model(), &OpenModel::resultsChanged, this, &CompositionPanel::refresh);
    connect(m_table, &TableFigure::rowChosen, this, [this](int row) {
        this->workspace()->selection()->setReference(m_heads[static_cast<std::size_t>(row)]);
    });
}

void CompositionPanel::recompute()
{
    m_model->clear();
    m_heads.clear();
    std::vector<Link> links;
    for (const char* kind : {"k", "q", "v"}) {
        const ResultArray* array = workspace()->model()->isOpen()
            ? workspace()->model()->results()->find(std::string("composition/") + kind)
            : nullptr;
        if (array && array->shape.size() == 4)
            addLinks(links, *array, workspace()->selection()->head(), text(kind).toUpper());
    }
    m_message->setVisible(links.empty());
    m_table->setVisible(!links.empty());
    m_message->setText(workspace()->model()->isOpen() && workspace()->model()->card().nLayers < 2
                           ? tr("Composition needs two layers; this model has one.")
                           : tr("Composition is not computed yet."));
    if (links.empty())
        return;
    std::stable_sort(links.begin(), links.end(),
                     [](const Link& a, const Link& b) { return a.excess > b.excess; });
    links.resize(std::min(links.size(), rowsShown));
    m_model->setHorizontalHeaderLabels({tr("Link"), tr("Score"), tr("−\u00a0null")});
    for (const Link& link : links) {
        m_heads.push_back(link.other);
        const QList<QStandardItem*> row{wordCell(link.words), numberCell(link.score),
                                        signedNumberCell(link.excess)};
        for (QStandardItem* cell : row)
            cell->setData(QVariant::fromValue(QList<HeadId>{link.earlier, link.later}),
                          TokenTableModel::HeadsRole);
        m_model->appendRow(row);
    }
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    fitColumns();
}

void CompositionPanel::fitColumns()
{
    constexpr int scoreColumn = 1;
    const QAbstractItemView* cells = m_table; // sizeHint is public in the base class
    const QHeaderView* header = m_table->horizontalHeader();
    int wanted = 0;
    for (int column = 0; column < m_model->columnCount(); ++column)
        wanted +=
            std::max(cells->sizeHintForColumn(column), column > 0 ? header->sectionSizeHint(column) : 0);
    // The head and its excess over the baseline matter most.
    m_table->setColumnHidden(scoreColumn, wanted > m_table->viewport()->width());
}

void CompositionPanel::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    layout()->activate(); // gives the table its new width
    if (m_model->columnCount() > 0)
        fitColumns();
}

QList<FigureSource*> CompositionPanel::figures()
{
    if (m_model->rowCount() == 0)
        return {};
    describe(m_table,
             tr("%1 composition in and out, %2")
                 .arg(text(workspace()->selection()->head()), text(workspace()->model()->card().name)));
    return {m_table};
}

} // namespace headwise::ui
