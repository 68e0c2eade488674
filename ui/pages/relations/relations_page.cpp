#include "ui/pages/relations/relations_page.h"

#include "core/analysis/inputs/relation_file.h"
#include "core/analysis/tokens/relation_lists.h"
#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/head_metrics.h"
#include "ui/document/relation_store.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/head_grid.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/pages/relations/relation_pairs_table.h"
#include "ui/pictures/chart_titles.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/table_figure.h"

#include <QFileDialog>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr int lowestPairs = 190; // px: a title of three lines and a few rows

const std::string relationsPageFolder = "analyses/relations/";

/// Returns the workspace's inputs with other relations, without the token, pair and tokenizer that the selection adds.
AnalysisInputs inputsWith(const Workspace& workspace, std::vector<Relation> relations)
{
    AnalysisInputs inputs = workspace.runs()->inputs();
    inputs.relations = std::move(relations);
    inputs.token.reset();
    inputs.pair.reset();
    inputs.tokenizer.reset();
    return inputs;
}

/// Takes [layer, head] from [layer, head, relation].
Eigen::MatrixXf gridOf(const ResultArray& array, std::size_t relation, const ModelCard& card)
{
    Eigen::MatrixXf grid(card.nLayers, card.nHeads);
    for (int layer = 0; layer < card.nLayers; ++layer)
        for (int head = 0; head < card.nHeads; ++head) {
            const std::vector<double> series = headSeries(&array, {layer, head});
            grid(layer, head) = relation < series.size() ? static_cast<float>(series[relation]) : NAN;
        }
    return grid;
}

} // namespace

RelationsPage::RelationsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_list(new QListWidget(this))
    , m_save(new QPushButton(tr("Save as relation"), this))
    , m_state(new QLabel(this))
    , m_answer(new QStackedWidget(this))
    , m_question(new QLabel(m_answer))
    , m_tabs(new QTabWidget(this))
    , m_hits(createGrid(tr("Share of pairs raised")))
    , m_suppression(createGrid(tr("Share of pairs lowered")))
    , m_pairs(new RelationPairsTable(workspace, this))
    , m_builtIn(builtInRelations())
{
    createLayout();
    fillList();
    connectSignals();
    followInputs();
}

HeadGrid* RelationsPage::createGrid(const QString& name)
{
    auto* grid = new HeadGrid(workspace(), name, this);
    ColorScale scale = firstScale(false, ColorFit::Fixed);
    scale.low = 0;
    scale.high = 1;
    grid->view()->colors()->proposeScale(scale);
    return grid;
}

QWidget* RelationsPage::createLists()
{
    auto* box = new QWidget(this);
    auto* open = new QPushButton(tr("Open a file…"), box);
    open->setToolTip(
        tr("Pairs of words as CSV (source,target) or JSON; dropping the file on the window does the same"));
    connect(open, &QPushButton::clicked, this, &RelationsPage::openFile);
    m_list->setAccessibleName(tr("Relations"));
    m_list->setToolTip(tr("Click or press Enter to find the heads that turn the first word into the second"));
    m_save->setEnabled(false);
    m_save->setToolTip(tr("Keeps the list for later sessions and other models"));
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_list, 1);
    layout->addWidget(open);
    layout->addWidget(m_save);
    return box;
}

void RelationsPage::createLayout()
{
    m_state->setWordWrap(true);
    makeSecondary(m_state);
    m_tabs->setDocumentMode(true);
    m_tabs->addTab(m_hits, tr("Hits"));
    m_tabs->addTab(m_suppression, tr("Suppression"));
    m_pairs->setMinimumHeight(lowestPairs);
    makeSecondary(m_question);
    m_question->setAlignment(Qt::AlignCenter);
    m_question->setWordWrap(true);
    auto* right = new QSplitter(Qt::Vertical, this);
    right->setChildrenCollapsible(false);
    right->addWidget(m_tabs);
    right->addWidget(m_pairs);
    right->setSizes({320, 360});
    m_answer->addWidget(m_question);
    m_answer->addWidget(right);
    auto* columns = new QSplitter(this);
    columns->setChildrenCollapsible(false);
    columns->setHandleWidth(16);
    columns->addWidget(createLists());
    auto* answer = new QWidget(columns);
    auto* above = textAndJob(m_state, workspace()->runs()->job());
    above->addWidget(new TokenFilterButton(workspace(), TokenFilterButton::Role::Notice, this));
    auto* column = new QVBoxLayout(answer);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    column->addLayout(above);
    column->addWidget(m_answer, 1);
    columns->addWidget(answer);
    columns->setSizes({210, 600});
    columns->setStretchFactor(1, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addWidget(columns);
}

void RelationsPage::connectSignals()
{
    connectGrid(m_hits, QT_TR_NOOP("promotes the target most in %1 of the pairs"));
    connectGrid(m_suppression, QT_TR_NOOP("suppresses the target most in %1 of the pairs"));
    // The current row also moves with the focus and the arrow keys, which must not start a run.
    connect(m_list, &QListWidget::currentRowChanged, this, &RelationsPage::updateSave);
    connect(m_list, &QListWidget::itemClicked, this, &RelationsPage::choose);
    connect(m_list, &QListWidget::itemActivated, this, &RelationsPage::choose); // with Enter
    connect(m_save, &QPushButton::clicked, this, &RelationsPage::saveChosen);
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged,
                              &OpenModel::tokensChanged, &OpenModel::resultsChanged})
        connect(workspace()->model(), signal, this, &RelationsPage::refresh);
    connect(workspace()->runs(), &Runs::inputsChanged, this, &RelationsPage::followInputs);
    connect(workspace()->filteredTokens(), &FilteredTokens::changed, this, [this] {
        m_pairs->clear(); // so that the head's pairs are computed again
        refresh();
    });
    connect(workspace()->selection(), &Selection::headChanged, this, [this](HeadId head) {
        if (isVisible() && m_shown)
            showPairs(head);
        else
            refresh();
    });
}

void RelationsPage::connectGrid(HeadGrid* grid, const char* verb)
{
    connect(grid, &HeadGrid::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(grid, &HeadGrid::headHovered, this, [this, grid, verb](HeadId head) {
        emit readOutChanged(
            QStringLiteral("%1   %2").arg(text(head), tr(verb).arg(percent(grid->value(head)))));
    });
}

void RelationsPage::fillList()
{
    const QSignalBlocker quiet(m_list);
    m_list->addItem(tr("All %1 built-in lists").arg(m_builtIn.size()));
    for (const Relation& relation : m_builtIn)
        addRelation(relation, true);
    for (const Relation& relation : savedRelations())
        addRelation(relation, true);
}

void RelationsPage::addRelation(const Relation& relation, bool isSaved)
{
    m_entries.push_back({relation, isSaved});
    const QString name = text(relation.name);
    m_list->addItem(isSaved ? name : tr("%1 (not saved)").arg(name));
    m_list->item(m_list->count() - 1)->setToolTip(tr("%1 pairs").arg(relation.pairs.size()));
}

void RelationsPage::updateSave()
{
    const int row = m_list->currentRow();
    m_save->setEnabled(row > 0 && !m_entries[static_cast<std::size_t>(row - 1)].isSaved);
}

void RelationsPage::choose(QListWidgetItem* item)
{
    const int row = m_list->row(item);
    if (row < 0 || !workspace()->model()->isOpen())
        return;
    std::vector<Relation> asked;
    if (row > 0)
        asked.push_back(m_entries[static_cast<std::size_t>(row - 1)].relation);
    const bool isShown =
        m_shown && asked == m_shownRelations && asked == workspace()->runs()->inputs().relations;
    if (!isShown) // a double click is two clicks and an activation
        ask(std::move(asked));
}

void RelationsPage::openFile()
{
    const QString file = QFileDialog::getOpenFileName(this, tr("Pairs of words"), {},
                                                      tr("Relations (*.csv *.json);;All files (*)"));
    if (file.isEmpty())
        return;
    const auto read = readRelations(file.toStdString());
    if (!read)
        return say(text(read.error()));
    ask(*read);
}

void RelationsPage::ask(std::vector<Relation> relations)
{
    workspace()->runs()->setInputs(inputsWith(*workspace(), std::move(relations)));
    workspace()->runs()->runAnalysis("relations");
}

void RelationsPage::saveChosen()
{
    const int row = m_list->currentRow();
    if (row <= 0)
        return;
    Entry& entry = m_entries[static_cast<std::size_t>(row - 1)];
    const auto saved = saveRelation(entry.relation);
    if (!saved)
        return say(text(saved.error()));
    entry.isSaved = true;
    m_list->item(row)->setText(text(entry.relation.name));
    m_save->setEnabled(false);
}

void RelationsPage::followInputs()
{
    const std::vector<Relation> asked = workspace()->runs()->inputs().relations;
    int row = asked.empty() ? 0 : -1;
    const QSignalBlocker quiet(m_list);
    for (const Relation& relation : asked) {
        auto found = std::find_if(m_entries.begin(), m_entries.end(),
                                  [&](const Entry& entry) { return entry.relation == relation; });
        if (found == m_entries.end()) {
            addRelation(relation, false);
            found = std::prev(m_entries.end());
        }
        row = static_cast<int>(found - m_entries.begin()) + 1;
    }
    if (m_list->currentRow() >= 0 || !asked.empty())
        m_list->setCurrentRow(row);
    updateSave();
}

void RelationsPage::say(const QString& message)
{
    m_state->setText(message);
    m_state->setVisible(!message.isEmpty());
}

const std::vector<Relation>& RelationsPage::shownRelations() const
{
    return m_shownRelations.empty() ? m_builtIn : m_shownRelations;
}

QString RelationsPage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    if (!model.isOpen() || model.results()->find(relationsPageFolder + "by_head"))
        return {};
    if (!model.hasModel())
        return tr("Relations need the model's files; use File → Locate model…");
    return model.tokenizer()
        ? QString()
        : tr("Relations are pairs of words and need a tokenizer; add one to this model.");
}

void RelationsPage::recompute()
{
    const std::shared_ptr<const ResultSet> results = workspace()->model()->results();
    const bool isThere = workspace()->model()->isOpen() && results->find(relationsPageFolder + "by_head");
    const QString never = isThere ? QString() : whyNot(*workspace());
    m_list->parentWidget()->setVisible(never.isEmpty()); // lists that cannot be asked for hide why not
    if (!isThere) {
        m_shown.reset();
        m_pairs->clear();
        for (HeadGrid* panel : {m_hits, m_suppression})
            panel->setValues(nullptr);
        say({});
        m_answer->setCurrentIndex(0);
        return m_question->setText(
            never.isEmpty() ? tr(
                "Choose a list or drop a CSV file of pairs on the window, to find heads that turn the first word into the second.")
                            : never);
    }
    const auto with = workspace()->runs()->inputsOf("relations");
    const std::vector<Relation> asked = with ? with->relations : std::vector<Relation>();
    // Results of other analyses do not change the head whose pairs are shown.
    const bool isNew =
        !m_shown || asked != m_shownRelations || (m_pairs->isEmpty() && !m_pairs->isComputing());
    m_shownRelations = asked;
    m_shown = results;
    m_answer->setCurrentIndex(1);
    showGrids();
    if (isNew)
        showPairs(std::exchange(m_beginsWithSelected, false) ? workspace()->selection()->head() : bestHead());
}

void RelationsPage::showGrids()
{
    const ModelCard& card = workspace()->model()->card();
    const bool isOne = shownRelations().size() == 1;
    const auto show = [&](HeadGrid* panel, const char* one, const char* best) {
        const ResultArray* array = m_shown->find(relationsPageFolder + (isOne ? one : best));
        panel->view()->content()->setValueTitle(array ? valueTitle(*array) : QString());
        panel->setValues(array ? std::make_shared<const Eigen::MatrixXf>(isOne ? gridOf(*array, 0, card)
                                                                               : metricGrid(*array))
                               : nullptr);
    };
    show(m_hits, "by_head", "best");
    show(m_suppression, "suppression", "best_suppression");
    const ResultArray* null = m_shown->find(relationsPageFolder + "best");
    say(tr("%1: share of pairs (s, t) with t among the outputs that head raises (lowers) most for s%2")
            .arg(isOne ? text(shownRelations().front().name)
                       : tr("The best of %1 lists").arg(shownRelations().size()),
                 null && null->nullMean
                     ? tr("; by chance %1 ± %2")
                           .arg(number(*null->nullMean), number(null->nullDeviation.value_or(0)))
                     : QString()));
}

HeadId RelationsPage::bestHead() const
{
    return m_hits->largest().value_or(workspace()->selection()->head());
}

std::size_t RelationsPage::relationOf(HeadId head) const
{
    const ResultArray* best = m_shown->find(relationsPageFolder + "best_relation");
    if (shownRelations().size() < 2 || !best)
        return 0;
    return static_cast<std::size_t>(std::max(0.0, metricAt(*best, head)));
}

QString RelationsPage::rankOf(HeadId head) const
{
    if (head != bestHead())
        return {};
    return m_hits->value(head) > 0 ? tr(" (the best head)") : tr(" (no head hits any pair)");
}

void RelationsPage::showPairs(HeadId head)
{
    RelationPairsTable::Asked asked{head, m_shownRelations, relationOf(head), {}, rankOf(head)};
    const std::vector<double> hits = headSeries(m_shown->find(relationsPageFolder + "hits"), head);
    if (asked.relation < hits.size())
        asked.hits = hits[asked.relation];
    m_pairs->show(asked);
}

ViewFields RelationsPage::viewFields()
{
    return ViewFields()
        .add("tab", m_tabs)
        .add(
            "ofSelected", [this] { return m_pairs->head() == workspace()->selection()->head(); },
            [this](const QJsonValue& ofSelected) { m_beginsWithSelected = ofSelected.toBool(); });
}

QList<FigureSource*> RelationsPage::figures()
{
    if (!m_shown || !m_hits->view()->matrix() || !m_suppression->view()->matrix())
        return {};
    QList<FigureSource*> all;
    const auto add = [&](FigureSource* figure, const QString& what, std::optional<HeadId> head = {}) {
        describe(figure, QStringLiteral("%1, %2").arg(what, text(workspace()->model()->card().name)));
        setSubject(figure, head);
        all << figure;
    };
    const QString of = shownRelations().size() == 1 ? text(shownRelations().front().name)
                                                    : tr("best of %1 relations").arg(shownRelations().size());
    add(m_hits->view(), tr("Share of pairs raised, %1").arg(of));
    add(m_suppression->view(), tr("Share of pairs lowered, %1").arg(of));
    if (!m_pairs->isEmpty())
        add(m_pairs->table(), tr("%1 pairs, %2").arg(text(m_pairs->head()), of), m_pairs->head());
    return all;
}

} // namespace headwise::ui
