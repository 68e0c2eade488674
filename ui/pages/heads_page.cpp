#include "ui/pages/heads_page.h"

#include "ui/head_metrics.h"
#include "ui/models/head_table_model.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/heatmap_panel.h"
#include "ui/views/table_copy.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>

#include <cmath>

namespace headwise::ui {

HeadsPage::HeadsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_metric(new QComboBox(this))
    , m_definition(new QLabel(this))
    , m_panel(new HeatmapPanel(this, Qt::Horizontal))
    , m_model(new HeadTableModel(this))
    , m_sorted(new QSortFilterProxyModel(this))
    , m_table(new QTableView(this))
{
    createLayout();
    connectSignals();
}

void HeadsPage::createLayout()
{
    m_metric->setToolTip(tr("The score the heads are coloured and ranked by"));
    makeSecondary(m_definition);
    m_definition->setWordWrap(true);
    HeatmapView* view = m_panel->view();
    view->setLettersMove(true);
    view->setCellShape(HeatmapView::CellShape::Square);
    view->setRowAxis({tr("layer"), {}});
    view->setColumnAxis({tr("head"), {}});
    view->setAccessibleName(tr("Heads"));
    view->setProperty("rightClickIsReference", true);
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(HeadTableModel::SortRole);
    m_table->setModel(m_sorted);
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(HeadTableModel::ValueColumn, Qt::DescendingOrder);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    copyRowsByKey(m_table, HeadTableModel::SortRole);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(22);
    m_table->setShowGrid(false);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(m_metric);
    layout->addWidget(m_panel);
    layout->addWidget(m_definition);
    layout->addWidget(m_table, 1);
}

void HeadsPage::connectSignals()
{
    HeatmapView* view = m_panel->view();
    connect(workspace(), &Workspace::opened, this, &HeadsPage::refreshMetrics);
    connect(workspace(), &Workspace::closed, this, &HeadsPage::refreshMetrics);
    connect(workspace(), &Workspace::resultsChanged, this, &HeadsPage::refreshMetrics);
    connect(workspace(), &Workspace::headChanged, this, &HeadsPage::markHead);
    connect(workspace(), &Workspace::referenceChanged, this, &HeadsPage::markHead);
    connect(view, &HeatmapView::cellReferenced, this, [this](int row, int column) {
        workspace()->setReference(HeadId{row, column});
    });
    connect(m_metric, &QComboBox::activated, this, [this] {
        m_wanted = m_metric->currentData().toString();
        showMetric();
    });
    connect(view, &HeatmapView::currentCellChanged, this, [this](int row, int column) {
        if (row >= 0)
            workspace()->setHead({row, column});
    });
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this, [this](int row, int column, float) {
        const ResultArray* shown = metric();
        if (!shown)
            return emit readOutChanged(text(HeadId{row, column}));
        const double value = metricAt(*shown, {row, column});
        QString words =
            QStringLiteral("%1   %2 %3").arg(text(HeadId{row, column}), metricTitle(*shown), number(value));
        if (const double z = zScore(*shown, value); std::isfinite(z))
            words += tr("   null %1   z %2").arg(number(*shown->nullMean), signedNumber(z));
        emit readOutChanged(words);
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& index) {
                if (index.isValid())
                    workspace()->setHead(m_model->headAt(m_sorted->mapToSource(index).row()));
            });
}

const ResultArray* HeadsPage::metric() const
{
    return workspace()->results()->find(m_metric->currentData().toString().toStdString());
}

void HeadsPage::refreshMetrics()
{
    const QSignalBlocker quiet(m_metric);
    m_metric->clear();
    if (workspace()->isOpen())
        for (const ResultArray* array : headMetrics(*workspace()->results(), workspace()->card()))
            m_metric->addItem(metricTitle(*array), text(array->path));
    m_metric->setCurrentIndex(std::max(m_metric->count() > 0 ? 0 : -1, m_metric->findData(m_wanted)));
    m_metric->setEnabled(m_metric->count() > 0);
    showMetric();
}

void HeadsPage::showMetric()
{
    fitGrid();
    HeatmapView* view = m_panel->view();
    const ResultArray* shown = workspace()->isOpen() ? metric() : nullptr;
    if (!shown) {
        m_model->setScores(nullptr, tr("Score"));
        m_definition->clear();
        if (!workspace()->isOpen())
            return view->setMatrix(nullptr);
        // The heads can be chosen before the first score is there.
        view->setMatrix(std::make_shared<Eigen::MatrixXf>(
            Eigen::MatrixXf::Zero(workspace()->card().nLayers, workspace()->card().nHeads)));
        return markHead();
    }
    auto grid = std::make_shared<Eigen::MatrixXf>(metricGrid(*shown));
    const bool hasNegative = (grid->array() < 0).any();
    ColorScale scale = fitted(
        hasNegative || shown->range == std::pair(-1.0, 1.0) ? ColorMap::Signed : ColorMap::Viridis, *grid);
    if (shown->range) {
        scale.low = static_cast<float>(shown->range->first);
        scale.high = static_cast<float>(shown->range->second);
        scale.fit = ColorFit::Fixed;
    }
    view->setColorScale(scale);
    view->setMatrix(grid);
    m_definition->setText(text(shown->definition));
    auto scores = std::make_shared<std::vector<HeadScore>>();
    for (int layer = 0; layer < workspace()->card().nLayers; ++layer) {
        for (int head = 0; head < workspace()->card().nHeads; ++head) {
            const double value = metricAt(*shown, {layer, head});
            scores->push_back({{layer, head}, value, zScore(*shown, value)});
        }
    }
    m_model->setScores(std::move(scores), metricTitle(*shown));
    m_table->setColumnHidden(HeadTableModel::ZColumn, !shown->nullDeviation);
    markHead();
}

void HeadsPage::fitGrid()
{
    constexpr int aroundCells = 90; // titles, labels and the colour bar
    constexpr int largestCell = 34;
    if (!workspace()->isOpen())
        return;
    const int layers = workspace()->card().nLayers;
    const int cell = std::clamp((width() - 80) / workspace()->card().nHeads, 8, largestCell);
    m_panel->setFixedHeight(std::min(layers * cell + aroundCells, height() * 3 / 5));
}

void HeadsPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    fitGrid();
}

void HeadsPage::markHead()
{
    if (!workspace()->isOpen() || !m_panel->view()->matrix())
        return;
    const HeadId head = workspace()->head();
    const QSignalBlocker quietView(m_panel->view());
    m_panel->view()->setCurrentCell(head.layer, head.head);
    const HeadId reference = workspace()->reference().value_or(HeadId{-1, -1});
    m_panel->view()->setReferenceCell(reference.layer, reference.head);
    const int row = m_model->rowOf(head);
    if (row < 0)
        return;
    const QSignalBlocker quiet(m_table->selectionModel());
    const QModelIndex index = m_sorted->mapFromSource(m_model->index(row, 0));
    m_table->selectionModel()->setCurrentIndex(
        index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    m_table->scrollTo(index);
    m_table->viewport()->update();
}

QJsonObject HeadsPage::viewState() const
{
    return {{QStringLiteral("metric"), m_wanted}};
}

void HeadsPage::setViewState(const QJsonObject& state)
{
    m_wanted = state[QStringLiteral("metric")].toString(m_wanted);
    refreshMetrics();
}

QList<FigureSource*> HeadsPage::figures()
{
    const ResultArray* shown = metric();
    if (!shown || !m_panel->view()->matrix())
        return {};
    describe(m_panel->view(), tr("%1, %2").arg(metricTitle(*shown), text(workspace()->card().name)));
    return {m_panel->view()};
}

} // namespace headwise::ui
