#include "ui/pages/heads/heads_page.h"

#include "core/analysis/inputs/relation_file.h"
#include "core/results/layer_null.h"
#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/compared_model.h"
#include "ui/document/head_metrics.h"
#include "ui/document/relation_store.h"
#include "ui/document/whats_this.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/heatmaps/heatmap_subjects.h"
#include "ui/models/head_table_model.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/head_grid.h"
#include "ui/pages/parts/linked_hover.h"
#include "ui/pages/parts/model_line.h"
#include "ui/pictures/chart_titles.h"
#include "ui/widgets/row_opening.h"
#include "ui/widgets/table_figure.h"
#include "ui/widgets/wrapped_header.h"

#include <QComboBox>
#include <QCompleter>
#include <QDropEvent>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QShortcut>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>

#include <cmath>

namespace headwise::ui {

HeadsPage::HeadsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_card(new QLabel(this))
    , m_metric(new QComboBox(this))
    , m_definition(new QLabel(this))
    , m_panel(new HeatmapPanel(this, Qt::Horizontal))
    , m_model(new HeadTableModel(this))
    , m_table(new TableFigure(this))
{
    createLayout();
    connectSignals();
}

void HeadsPage::createLayout()
{
    m_metric->setToolTip(
        tr("The score the heads are coloured and ranked by (Ctrl+M); type a part of its name"));
    m_metric->setAccessibleName(tr("Score of the heads"));
    m_metric->setEditable(true);
    m_metric->setInsertPolicy(QComboBox::NoInsert);
    m_metric->completer()->setCompletionMode(QCompleter::PopupCompletion);
    m_metric->completer()->setFilterMode(Qt::MatchContains);
    m_metric->completer()->setCaseSensitivity(Qt::CaseInsensitive);
    wearTheme(*m_metric->completer()->popup());
    setAcceptDrops(true);
    for (QLabel* label : {m_card, m_definition}) {
        makeSecondary(label);
        label->setWordWrap(true);
    }
    m_card->setAccessibleName(tr("Model"));
    HeatmapView* view = m_panel->view();
    view->pointer().setLettersMove(true);
    view->setCellShape(HeatmapView::CellShape::Square);
    view->content()->setRowAxis({tr("layer"), {}});
    view->content()->setColumnAxis({tr("head"), {}});
    view->setAccessibleName(tr("Heads"));
    setHeadSubjects(view);
    m_table->setHorizontalHeader(new WrappedHeader(m_table));
    m_table->setSource(m_model, HeadTableModel::SortRole);
    m_sorted = qobject_cast<QSortFilterProxyModel*>(m_table->model());
    m_table->setAccessibleName(tr("Heads by their score"));
    m_table->sortByColumn(HeadTableModel::ValueColumn, Qt::DescendingOrder);
    m_table->setAlternatingRowColors(false);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->verticalHeader()->setDefaultSectionSize(22);
    QHeaderView* header = m_table->horizontalHeader();
    header->setResizeContentsPrecision(50); // The heads of one or two layers are as wide as all.
    header->setSectionResizeMode(QHeaderView::ResizeToContents);
    header->setSectionResizeMode(HeadTableModel::ValueColumn,
                                 QHeaderView::Stretch); // It has the longest title.
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(m_card);
    layout->addWidget(m_metric);
    layout->addWidget(m_panel);
    layout->addWidget(m_definition);
    layout->addWidget(m_table, 1);
}

void HeadsPage::connectSignals()
{
    HeatmapView* view = m_panel->view();
    for (const auto signal : {&OpenModel::opened, &OpenModel::circuitsChanged})
        connect(workspace()->model(), signal, this, [this] {
            m_card->setText(modelLine(*workspace()));
            m_card->setToolTip(text(workspace()->model()->card().source));
        });
    connect(workspace()->model(), &OpenModel::opened, this, [this] {
        m_firstHead = this->workspace()->selection()->head();
        refreshMetrics();
    });
    connect(workspace()->model(), &OpenModel::closed, this, &HeadsPage::refreshMetrics);
    connect(workspace()->model(), &OpenModel::resultsChanged, this, &HeadsPage::refreshMetrics);
    connect(workspace()->firstNorms(), &FirstNorms::changed, this, &HeadsPage::refreshMetrics);
    connect(workspace()->selection(), &Selection::headChanged, this, [this](HeadId head) {
        if (head != m_firstHead) // which is announced when a model opens
            m_firstHead.reset();
        markHead();
        emit readOutChanged(readOutOf(head)); // as if it were under the mouse
    });
    connect(workspace()->selection(), &Selection::referenceChanged, this, &HeadsPage::markHead);
    connect(view, &HeatmapView::cellReferenced, this, [this](int row, int column) {
        workspace()->selection()->setReference(HeadId{row, column});
    });
    connect(view, &HeatmapView::cellActivated, this,
            [this] { emit pageRequested(QStringLiteral("overview")); });
    whenOpened(m_table, [this](const QModelIndex&) { emit pageRequested(QStringLiteral("tokens")); });
    connect(m_metric, &QComboBox::activated, this, &HeadsPage::chooseMetric);
    connect(m_metric->lineEdit(), &QLineEdit::returnPressed, this, &HeadsPage::findMetric);
    auto* toMetric = new QShortcut(QKeySequence(tr("Ctrl+M")), this);
    connect(toMetric, &QShortcut::activated, this, [this] {
        m_metric->setFocus();
        m_metric->lineEdit()->selectAll();
    });
    connect(view->zoom(), &HeatmapZoom::currentCellChanged, this, [this](int row, int column) {
        if (row >= 0)
            workspace()->selection()->setHead({row, column});
    });
    connect(view, &HeatmapView::cellClicked, this, [this](int row, int column) {
        workspace()->selection()->askForHead({row, column});
    });
    connect(m_table, &QAbstractItemView::clicked, this, [this](const QModelIndex& index) {
        workspace()->selection()->askForHead(m_model->headAt(m_sorted->mapToSource(index).row()));
    });
    linkHover(view, workspace()->selection());
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this, [this](int row, int column, float) {
        emit readOutChanged(readOutOf({row, column}));
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& index) {
                if (index.isValid())
                    workspace()->selection()->setHead(m_model->headAt(m_sorted->mapToSource(index).row()));
            });
}

QString HeadsPage::readOutOf(HeadId head) const
{
    const ResultArray* shown = workspace()->model()->isOpen() ? shownMetric() : nullptr;
    if (!shown)
        return text(head);
    const double value = metricAt(*shown, head);
    QString words = QStringLiteral("%1   %2 %3").arg(text(head), titleOf(*shown), number(value));
    const LayerNull null = layerNull(*shown, head.layer);
    if (const double z = null.zScore(value); std::isfinite(z))
        words += tr("   null %1   z %2").arg(number(*null.mean), signedNumber(z));
    return words;
}

QString HeadsPage::titleOf(const ResultArray& metric) const
{
    const QString title = metricTitle(metric);
    const auto with = workspace()->runs()->inputsOf("relations");
    if (!with || with->relations.size() != 1 || !metric.path.starts_with("analyses/relations/"))
        return title;
    return QStringLiteral("%1: %2").arg(title, text(with->relations.front().name));
}

const ResultArray* HeadsPage::shownMetric() const
{
    const std::string path = m_metric->currentData().toString().toStdString();
    if (const ResultArray* found = workspace()->model()->results()->find(path))
        return found;
    const ResultArray* first = workspace()->firstNorms()->array();
    return first && first->path == path ? first : nullptr;
}

void HeadsPage::chooseMetric()
{
    m_wanted = m_metric->currentData().toString();
    showMetric();
    emit readOutChanged(readOutOf(workspace()->selection()->head()));
    m_panel->view()->setFocus(); // where the arrow keys move through the heads
}

void HeadsPage::findMetric()
{
    // The text may be part of a name.
    const QString typed = m_metric->lineEdit()->text().trimmed();
    int found = typed.isEmpty() ? -1 : m_metric->findText(typed, Qt::MatchFixedString);
    if (found < 0 && !typed.isEmpty())
        found = m_metric->findText(typed, Qt::MatchContains);
    m_metric->setCurrentIndex(found < 0 ? m_metric->findData(m_wanted) : found);
    chooseMetric();
}

void HeadsPage::followQuestion()
{
    // Whoever asks for relations, or compares models, wants to see the heads by the answer.
    const auto with = workspace()->runs()->inputsOf("relations");
    if (with && with->relations != m_relations) {
        m_relations = with->relations;
        m_wanted = QStringLiteral("analyses/relations/best");
    }
    if (const QString newer = comparedWith(*workspace()->model()->results()); newer != m_newer) {
        m_newer = newer;
        if (!newer.isEmpty())
            m_wanted = workspace()->model()->results()->find("comparison/match/best")
                ? QStringLiteral("comparison/match/best")
                : QStringLiteral("comparison/ov/relative_change");
        else if (m_wanted.startsWith(QLatin1String("comparison/")))
            m_wanted = QStringLiteral("scores/copying");
    }
}

void HeadsPage::askRelations(const QString& file)
{
    const auto relations = readRelations(file.toStdString());
    if (!relations)
        return emit problemFound(text(relations.error()));
    AnalysisInputs inputs = workspace()->runs()->inputs();
    inputs.relations = *relations;
    inputs.token.reset();
    inputs.pair.reset();
    inputs.tokenizer.reset();
    workspace()->runs()->setInputs(inputs);
    workspace()->runs()->runAnalysis("relations");
    emit relationsAsked();
}

void HeadsPage::dragEnterEvent(QDragEnterEvent* event)
{
    const QMimeData* dragged = event->mimeData();
    if (workspace()->model()->hasModel() && dragged->hasUrls()
        && isRelationFile(dragged->urls().first().toLocalFile()))
        event->acceptProposedAction();
}

void HeadsPage::dropEvent(QDropEvent* event)
{
    event->acceptProposedAction();
    askRelations(event->mimeData()->urls().first().toLocalFile());
}

void HeadsPage::refreshMetrics()
{
    followQuestion();
    const QSignalBlocker quiet(m_metric);
    QLineEdit* edit = m_metric->lineEdit();
    const QString before = m_metric->currentData().toString();
    const QString typed = edit->hasFocus() && edit->isModified() ? edit->text() : QString();
    m_metric->clear();
    if (workspace()->model()->isOpen())
        for (const ResultArray* array :
             headMetrics(*workspace()->model()->results(), workspace()->model()->card()))
            m_metric->addItem(titleOf(*array), text(array->path));
    if (const ResultArray* first = workspace()->firstNorms()->array(); first && m_metric->count() == 0)
        m_metric->addItem(titleOf(*first), text(first->path));
    m_metric->setCurrentIndex(std::max(m_metric->count() > 0 ? 0 : -1, m_metric->findData(m_wanted)));
    m_metric->setEnabled(m_metric->count() > 0);
    showMetric();
    if (m_metric->currentData().toString() != before)
        emit readOutChanged(workspace()->model()->isOpen() ? readOutOf(workspace()->selection()->head())
                                                           : QString());
    if (!typed.isEmpty()) { // the name being typed outlives a score that arrives meanwhile
        edit->setText(typed);
        edit->setModified(true);
    }
}

void HeadsPage::showMetric()
{
    fitGrid();
    HeatmapView* view = m_panel->view();
    const ResultArray* shown = workspace()->model()->isOpen() ? shownMetric() : nullptr;
    if (!shown) {
        m_model->setScores(nullptr, tr("Score"));
        m_definition->clear();
        if (!workspace()->model()->isOpen())
            return view->setMatrix(nullptr);
        // The heads can be chosen before the first score is there.
        view->setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Zero(
            workspace()->model()->card().nLayers, workspace()->model()->card().nHeads)));
        return markHead();
    }
    auto grid = std::make_shared<Eigen::MatrixXf>(metricGrid(*shown));
    const bool hasNegative = (grid->array() < 0).any();
    ColorScale scale = fitted(firstScale(hasNegative || shown->range == std::pair(-1.0, 1.0)), *grid);
    if (shown->range) {
        scale.low = static_cast<float>(shown->range->first);
        scale.high = static_cast<float>(shown->range->second);
        scale.fit = ColorFit::Fixed;
    }
    view->colors()->proposeScale(scale);
    view->content()->setValueTitle(valueTitle(*shown));
    view->setMatrix(grid);
    m_definition->setText(text(shown->definition));
    for (QWidget* part : std::initializer_list<QWidget*>{view, m_metric, m_definition, m_table})
        part->setWhatsThis(explanationOf(*shown));
    auto scores = std::make_shared<std::vector<HeadScore>>();
    for (int layer = 0; layer < workspace()->model()->card().nLayers; ++layer) {
        const LayerNull null = layerNull(*shown, layer);
        for (int head = 0; head < workspace()->model()->card().nHeads; ++head) {
            const double value = metricAt(*shown, {layer, head});
            scores->push_back({{layer, head}, value, null.zScore(value)});
        }
    }
    m_model->setScores(std::move(scores), titleOf(*shown));
    m_table->setMinimumWidth(leastListWidth());
    markHead();
}

int HeadsPage::leastListWidth() const
{
    const auto* header = qobject_cast<const WrappedHeader*>(m_table->horizontalHeader());
    const QAbstractItemView* cells = m_table; // sizeHintForColumn is public in the base class
    int width = 2 * m_table->frameWidth() + style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, m_table)
        + style()->pixelMetric(QStyle::PM_HeaderMarkSize, nullptr, header);
    for (int column = 0; column < header->count(); ++column)
        width += std::max(cells->sizeHintForColumn(column),
                          header->widthOnLines(column, WrappedHeader::mostLines));
    return width;
}

void HeadsPage::fitGrid()
{
    constexpr int aroundCells = 90; // px for titles, labels and the colour bar
    constexpr int largestCell = 34;
    if (!workspace()->model()->isOpen())
        return;
    const int layers = workspace()->model()->card().nLayers;
    const int cell = std::clamp((width() - 80) / workspace()->model()->card().nHeads, 8, largestCell);
    m_panel->setFixedHeight(std::min(layers * cell + aroundCells, height() * 3 / 5));
    layout()->activate(); // or the text below would keep its place
}

void HeadsPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    fitGrid();
}

void HeadsPage::markHead()
{
    if (!workspace()->model()->isOpen() || !m_panel->view()->matrix())
        return;
    const HeadId head = workspace()->selection()->head();
    const QSignalBlocker quietView(m_panel->view());
    m_panel->view()->zoom()->setCurrentCell(head.layer, head.head);
    const HeadId reference = workspace()->selection()->reference().value_or(HeadId{-1, -1});
    m_panel->view()->onScreen().setReferenceCell(reference.layer, reference.head);
    const int row = m_model->rowOf(head);
    if (row < 0)
        return;
    const QSignalBlocker quiet(m_table->selectionModel());
    const QModelIndex index = m_sorted->mapFromSource(m_model->index(row, 0));
    m_table->selectionModel()->setCurrentIndex(
        index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    if (head == m_firstHead)
        m_table->scrollToTop(); // the top heads are the most interesting
    else
        m_table->scrollTo(index);
    m_table->viewport()->update();
}

ViewFields HeadsPage::viewFields()
{
    return ViewFields()
        .add(
            "metric", [this] { return m_wanted; },
            [this](const QJsonValue& metric) { m_wanted = metric.toString(m_wanted); })
        .addPart("heatmap", m_panel)
        .then([this] { refreshMetrics(); });
}

QList<FigureSource*> HeadsPage::figures()
{
    const ResultArray* shown = shownMetric();
    if (!shown || !m_panel->view()->matrix())
        return {};
    const QString model = text(workspace()->model()->card().name);
    describe(m_panel->view(), tr("%1, %2").arg(titleOf(*shown), model));
    setSubject(m_panel->view(), std::nullopt);
    describe(m_table, tr("Heads by %1, %2").arg(titleOf(*shown), model));
    setSubject(m_table, std::nullopt);
    return {m_panel->view(), m_table};
}

} // namespace headwise::ui
