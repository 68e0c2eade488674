#include "ui/pages/training/training_page.h"

#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/small_multiples.h"
#include "ui/document/head_metrics.h"
#include "ui/document/training_series.h"
#include "ui/document/whats_this.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/empty_place.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/head_grid.h"
#include "ui/pages/parts/linked_hover.h"
#include "ui/pages/training/head_timeline.h"
#include "ui/pages/training/series_pictures.h"
#include "ui/pages/training/training_frames.h"
#include "ui/pictures/chart_titles.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QSplitter>
#include <QStandardItemModel>

#include <algorithm>
#include <utility>

namespace headwise::ui {

TrainingPage::TrainingPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_series(TrainingSeries::of(workspace))
    , m_empty(new EmptyPlace(this))
    , m_body(new QWidget(this))
    , m_score(new QComboBox(m_body))
    , m_log(new QCheckBox(tr("Log steps"), m_body))
    , m_frames(new QPushButton(tr("Export frames…"), m_body))
    , m_problems(new QLabel(m_body))
    , m_multiples(new SmallMultiples(m_body))
    , m_changeModel(new QStandardItemModel(this))
    , m_changes(new TableFigure(m_body))
    , m_grid(new HeadGrid(workspace, tr("Heads at this step"), m_body))
    , m_stepLabel(new QLabel(m_body))
    , m_step(new QSlider(Qt::Horizontal, m_body))
    , m_open(new QPushButton(tr("Open this step"), m_body))
    , m_compare(new QPushButton(tr("Compare with this step"), m_body))
    , m_shown(new QComboBox(m_body))
    , m_head(new HeadTimeline(workspace, m_body))
    , m_export(new TrainingFrames(
          m_series, m_grid->view(), [this] { return score(); }, this))
{
    createControls();
    createLayout();
    connectSignals();
    connectPictures();
}

QString TrainingPage::whyNot(const Workspace& workspace)
{
    return TrainingSeries::isOpenIn(workspace)
        ? QString()
        : tr("No series is open. File → Open series… opens one, and Open series folder… computes one.");
}

void TrainingPage::createControls()
{
    m_score->setAccessibleName(tr("Score over training"));
    m_log->setChecked(true);
    m_log->setToolTip(tr("Logarithmic axis of steps, which leaves out step 0"));
    m_frames->setToolTip(tr("Writes the grid of heads at every step: one file a step, or an animated SVG"));
    m_step->setAccessibleName(tr("Training step"));
    m_step->setToolTip(tr("The step of the grid of heads; the arrow keys go to the next checkpoint"));
    m_step->setPageStep(1);
    m_multiples->setAccessibleName(tr("Every head over training"));
    m_multiples->setMinimumSize(200, 140);
    m_shown->setAccessibleName(tr("Curves over training"));
    m_shown->setToolTip(tr(
        "Draws the score over the steps, the singular values of each head by index, or the singular vectors of the selected head followed by overlap"));
    m_shown->addItem(tr("Score"), QString());
    m_shown->addItem(tr("QK spectrum"), QStringLiteral("qk"));
    m_shown->addItem(tr("OV spectrum"), QStringLiteral("ov"));
    m_shown->addItem(tr("QK query vectors"), QStringLiteral("qk_query"));
    m_shown->addItem(tr("QK key vectors"), QStringLiteral("qk_key"));
    m_shown->addItem(tr("OV input vectors"), QStringLiteral("ov_in"));
    m_shown->addItem(tr("OV output vectors"), QStringLiteral("ov_out"));
    m_changes->setSource(m_changeModel, TokenTableModel::SortRole);
    m_changes->setAccessibleName(tr("Changes of heads"));
    m_changes->setSelectionMode(QAbstractItemView::SingleSelection);
    m_problems->setWordWrap(true);
    makeSecondary(m_problems);
}

void TrainingPage::createLayout()
{
    auto* top = new QHBoxLayout;
    top->setSpacing(8);
    top->addWidget(m_score, 1);
    top->addWidget(m_shown);
    top->addWidget(m_log);
    top->addWidget(m_frames);
    auto* atStep = new QWidget(m_body);
    auto* column = new QVBoxLayout(atStep);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    column->addWidget(m_grid, 1);
    column->addWidget(m_stepLabel);
    column->addWidget(m_step);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(m_open);
    buttons->addWidget(m_compare);
    column->addLayout(buttons);
    const auto stacked = [this](QWidget* above, QWidget* below) {
        auto* parts = new QSplitter(Qt::Vertical, m_body);
        parts->setChildrenCollapsible(false);
        parts->addWidget(above);
        parts->addWidget(below);
        parts->setSizes({360, 200});
        return parts;
    };
    auto* sides = new QSplitter(m_body);
    sides->setChildrenCollapsible(false);
    sides->setHandleWidth(16);
    sides->addWidget(stacked(m_multiples, m_changes));
    sides->addWidget(stacked(atStep, m_head));
    sides->setSizes({560, 360});
    auto* layout = new QVBoxLayout(m_body);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(top);
    layout->addWidget(m_problems);
    layout->addWidget(sides, 1);
    // A grid, so that the window adds no button for the model's files: only a series can fill this page.
    auto* outer = new QGridLayout(this);
    outer->setContentsMargins(12, 12, 12, 12);
    outer->addWidget(m_empty, 0, 0);
    outer->addWidget(m_body, 0, 0);
}

void TrainingPage::connectSignals()
{
    connect(m_series, &TrainingSeries::changed, this, &TrainingPage::refresh);
    connect(m_series, &TrainingSeries::stepChanged, this, [this] {
        if (isVisible())
            showStep();
        else
            refresh();
    });
    connect(m_score, &QComboBox::activated, this, [this] {
        m_wanted = m_score->currentData().toString();
        showScore();
    });
    connect(m_log, &QCheckBox::toggled, this, &TrainingPage::showScore);
    connect(m_shown, &QComboBox::activated, this, &TrainingPage::showScore);
    connect(m_frames, &QPushButton::clicked, m_export, &TrainingFrames::askForFile);
    connect(m_step, &QSlider::valueChanged, m_series, &TrainingSeries::setStep);
    const auto member = [this] { return text(m_series->member(m_series->step()).string()); };
    connect(m_open, &QPushButton::clicked, this, [this, member] { emit stepWanted(member()); });
    connect(m_compare, &QPushButton::clicked, this, [this, member] { emit stepCompared(member()); });
    for (const auto signal : {&OpenModel::circuitsChanged, &OpenModel::opened})
        connect(workspace()->model(), signal, this, [this] {
            if (m_series->isOpen() && isVisible())
                showStep(); // there is a model to compare with
        });
    connect(workspace()->selection(), &Selection::headChanged, this, [this] {
        if (m_series->isOpen() && isVisible())
            showHead();
        else
            refresh();
    });
    connect(m_changes, &TableFigure::rowChosen, this, &TrainingPage::chooseChange);
    connect(m_export, &TrainingFrames::exported, this, &Page::readOutChanged);
}

void TrainingPage::connectPictures()
{
    Selection* selection = workspace()->selection();
    linkHover(m_multiples, selection);
    linkHover(m_changes, selection);
    connect(m_multiples, &SmallMultiples::headChosen, selection, &Selection::setHead);
    connect(m_multiples, &SmallMultiples::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_multiples, &SmallMultiples::headHovered, this,
            [this](HeadId head) { emit readOutChanged(readOut(head)); });
    connect(m_grid, &HeadGrid::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_grid, &HeadGrid::headHovered, this,
            [this](HeadId head) { emit readOutChanged(readOut(head)); });
    connect(m_head, &HeadTimeline::readOutChanged, this, &Page::readOutChanged);
    connect(m_head, &HeadTimeline::leadingRead, this, &TrainingPage::showMultiples);
}

void TrainingPage::recompute()
{
    const bool isOpen = m_series->isOpen();
    m_empty->explain(whyNot(*workspace()), {FillButton::Lack::Series, FillButton::Lack::SeriesFolder});
    m_empty->setVisible(!isOpen);
    m_body->setVisible(isOpen);
    if (!isOpen)
        return;
    showProblems();
    {
        const QSignalBlocker quiet(m_step);
        m_step->setRange(0, static_cast<int>(m_series->series().steps.size()) - 1);
    }
    fillScores();
    fillChanges();
    showScore();
}

void TrainingPage::showProblems()
{
    const Series& series = m_series->series();
    const QString words = sentencesOf(series);
    setPlain(m_problems, words);
    m_problems->setVisible(!words.isEmpty());
    m_problems->setToolTip(problemsOf(series).join(u'\n'));
}

void TrainingPage::fillScores()
{
    const QSignalBlocker quiet(m_score);
    m_score->clear();
    for (const SeriesScore& score : m_series->series().scores)
        m_score->addItem(axisTitle(score), text(score.name));
    m_score->setCurrentIndex(std::max(m_score->count() > 0 ? 0 : -1, m_score->findData(m_wanted)));
}

void TrainingPage::fillChanges()
{
    m_changeModel->clear();
    m_changeModel->setHorizontalHeaderLabels({tr("Change"), tr("Evidence"), tr("Head"), tr("Step")});
    const Series& series = m_series->series();
    for (const SeriesChange& change : series.changes) {
        QStandardItem* words = wordCell(text(change.text));
        words->setData(change.after, TokenTableModel::SortRole); // in order of steps
        words->setData(QVariant::fromValue(QList<HeadId>{change.head}), TokenTableModel::HeadsRole);
        m_changeModel->appendRow({words, numberCell(change.evidence), wordCell(text(change.head)),
                                  countCell(series.steps[static_cast<std::size_t>(change.after)])});
    }
    fitColumns(m_changes);
    m_changes->setVisible(!series.changes.empty());
}

const SeriesScore* TrainingPage::score() const
{
    const auto shown = static_cast<std::size_t>(m_score->currentIndex()); // -1 is beyond all scores
    return m_series->isOpen() && shown < m_series->series().scores.size() ? &m_series->series().scores[shown]
                                                                          : nullptr;
}

void TrainingPage::showScore()
{
    const SeriesScore* shown = score();
    m_frames->setEnabled(shown != nullptr);
    if (!shown)
        return;
    const Series& series = m_series->series();
    showMultiples();
    m_grid->view()->colors()->proposeScale(scaleOfSteps(*shown));
    const ResultArray array = scoreAt(series, *shown, m_series->step());
    m_grid->view()->content()->setValueTitle(valueTitle(array));
    for (QWidget* part :
         std::initializer_list<QWidget*>{m_score, m_multiples, m_grid->view(), m_head->chart()})
        part->setWhatsThis(explanationOf(array));
    showHead();
    showStep();
}

CurveChoice TrainingPage::choice() const
{
    return curveChoice(m_shown->currentData().toString());
}

void TrainingPage::showMultiples()
{
    const Series& series = m_series->series();
    std::vector<HeadCurves> heads = curvesOfHeads(series, *score());
    const CurveChoice shown = choice();
    if (!shown.circuit.empty()) {
        const std::vector<HeadSpectra> leading = m_head->leading(shown.circuit);
        for (std::size_t i = 0; i < heads.size(); ++i)
            heads[i].series = leading.size() == heads.size()
                ? curvesOfSpectra(series, leading[i], m_log->isChecked())
                : std::vector<ChartSeries>();
    }
    m_multiples->setCurves(lookOfCurves(*score(), shown, m_log->isChecked()), std::move(heads),
                           series.nHeads);
}

bool TrainingPage::hasHead() const
{
    // A model of other heads has just been opened, and the series closes in a moment.
    const OpenModel* model = workspace()->model();
    return model->isOpen() && m_series->opened()->hasHeadsOf(model->card());
}

void TrainingPage::showHead()
{
    m_multiples->setCurrent(workspace()->selection()->head());
    m_head->stop();
    if (score() && hasHead())
        m_head->draw(*score(), choice(), m_log->isChecked());
}

QList<FigureSource*> TrainingPage::figures()
{
    const SeriesScore* shown = score();
    if (!shown)
        return {};
    const Series& series = m_series->series();
    const ChartLook look = lookOfCurves(*shown, choice(), m_log->isChecked());
    const QString head = text(workspace()->selection()->head());
    describeSeries(m_multiples, tr("%1 over training").arg(look.yTitle), *m_series);
    describeSeries(m_grid->view(), atStep(series, *shown, m_series->step()), *m_series);
    describeSeries(m_head->chart(), tr("%1 %2 over training").arg(head, look.yTitle), *m_series);
    describeSeries(m_changes, tr("Changes of heads"), *m_series);
    QList<FigureSource*> all{m_multiples, m_grid->view(), m_head->chart()};
    if (!series.changes.empty())
        all << m_changes;
    for (FigureSource* figure : all)
        setView(figure, pageViewName(this, *figure));
    return all;
}

void TrainingPage::showStep()
{
    const Series& series = m_series->series();
    const int step = m_series->step();
    const QSignalBlocker quiet(m_step);
    m_step->setValue(step);
    const bool isGood = series.problems[static_cast<std::size_t>(step)].empty();
    const QString name = nameOfStep(series, step);
    setPlain(m_stepLabel, isGood ? name : tr("%1: could not be read").arg(name));
    const QString member = text(m_series->member(step).string());
    const bool canOpen = isGood && !member.isEmpty();
    m_open->setEnabled(canOpen);
    m_compare->setEnabled(canOpen && workspace()->model()->hasModel());
    const QString lost = !isGood ? text(series.problems[static_cast<std::size_t>(step)])
                                 : tr("%1 was found neither where it was nor beside %2")
                                       .arg(text(series.members[static_cast<std::size_t>(step)]),
                                            text(m_series->file().filename().string()));
    m_open->setToolTip(canOpen ? tr("Opens %1 as the model; the series stays open").arg(member) : lost);
    m_compare->setToolTip(!canOpen                     ? lost
                              : m_compare->isEnabled() ? tr("Compares the open model with %1").arg(member)
                                                       : tr("Open a step first, then go to another"));
    const SeriesScore* shown = score();
    if (!shown)
        return;
    m_grid->setValues(std::make_shared<Eigen::MatrixXf>(metricGrid(scoreAt(series, *shown, step))));
    if (hasHead())
        m_head->lightStep();
}

void TrainingPage::chooseChange(int row)
{
    const SeriesChange& change = m_series->series().changes[static_cast<std::size_t>(row)];
    if (const int index = m_score->findData(text(change.score)); index >= 0) {
        m_score->setCurrentIndex(index);
        m_wanted = text(change.score);
        showScore();
    }
    workspace()->selection()->setHead(change.head);
    m_series->setStep(change.after);
}

QString TrainingPage::readOut(HeadId head) const
{
    const SeriesScore* shown = score();
    if (!shown)
        return text(head);
    const ResultArray array = scoreAt(m_series->series(), *shown, m_series->step());
    return QStringLiteral("%1   %2 %3   %4")
        .arg(text(head), valueTitle(array), number(metricAt(array, head)),
             nameOfStep(m_series->series(), m_series->step()));
}

ViewFields TrainingPage::viewFields()
{
    return ViewFields()
        .add(
            "score", [this] { return m_wanted; },
            [this](const QJsonValue& score) { m_wanted = score.toString(m_wanted); })
        .add("log", m_log, true)
        .addData("curve", m_shown)
        .then([this] { refresh(); });
}

} // namespace headwise::ui
