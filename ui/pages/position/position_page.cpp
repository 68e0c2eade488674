#include "ui/pages/position/position_page.h"

#include "core/analysis/position/rotary_kernel.h"
#include "core/circuits/position_scores.h"
#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/about_model.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/pages/parts/kernel_panel.h"
#include "ui/pages/position/offset_table.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headwise::ui {

namespace {

bool hasLearnedPositions(const ModelConfig& config)
{
    return config.positional == Positional::Learned;
}

/// Puts `picture` under a heading, to be shown and hidden together.
QWidget* titled(const QString& title, QWidget* picture)
{
    auto* box = new QWidget(picture->parentWidget());
    auto* heading = new QLabel(title, box);
    makeHeading(heading);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(heading);
    layout->addWidget(picture, 1);
    return box;
}

/// Groups the map with its controls and heading, to be shown and hidden together.
QWidget* mapBox(const HeatmapPanel* panel)
{
    return panel->parentWidget()->parentWidget();
}

/// Limits the map to 2048: beyond, a map of doubles takes hundreds of megabytes.
Eigen::Index positionsOnMap(const ModelConfig& config)
{
    return std::min(config.nCtx, 2048);
}

} // namespace

struct PositionPage::Question {
    std::shared_ptr<const Circuits> circuits;
    std::shared_ptr<const TokenSide> tokens; // for rotary positions
    HeadId head;
    bool isAttention = false;
    KeysSeen seen = {};
};

struct PositionPage::Answer {
    std::vector<double> byOffset;
    std::vector<double> deviations;                 // their deviations over queries, for learned positions
    std::shared_ptr<const Eigen::MatrixXf> picture; // null for rotary positions
    bool isAttention = false;                       // the picture shows attention, not scores
    std::vector<double> frequencies;                // radians per position, for rotary positions
    RotaryEnergies energies;
};

PositionPage::Answer PositionPage::answerTo(const Question& question)
{
    const Circuits& circuits = *question.circuits;
    const ModelConfig& config = circuits.config();
    const HeadId head = question.head;
    Answer answer;
    if (!hasLearnedPositions(config)) {
        answer.byOffset = scoresByOffset(circuits, question.tokens.get(), head,
                                         std::min<Eigen::Index>(config.nCtx, longestKernel));
        answer.frequencies = rotaryFrequencies(config.rotaryOf(head.layer));
        answer.energies = rotaryEnergies(circuits.weights(), head);
        return answer;
    }
    const Matrix<double> scores = positionScores(
        circuits.weights(), head, positionVectors(circuits.weights(), head.layer, positionsOnMap(config)));
    PositionKernel kernel = positionKernel(scores);
    answer.byOffset = std::move(kernel.centred);
    answer.deviations = std::move(kernel.centredDeviation);
    answer.isAttention = question.isAttention;
    answer.picture = std::make_shared<const Eigen::MatrixXf>(question.isAttention
                                                                 ? positionPattern(scores, question.seen)
                                                                 : positionPicture(scores, question.seen));
    return answer;
}

PositionPage::PositionPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_explanation(new QLabel(this))
    , m_shown(new QComboBox(this))
    , m_mask(new QCheckBox(tr("Causal mask"), this))
    , m_chart(new LineChart(this))
    , m_energies(new LineChart(this))
    , m_panel(new HeatmapPanel(this))
    , m_offsets(new OffsetTable(workspace, this))
{
    makeSecondary(m_explanation);
    m_explanation->setWordWrap(true);
    auto* splitter = new QSplitter(this);
    splitter->setChildrenCollapsible(false);
    splitter->setHandleWidth(16);
    splitter->addWidget(createMap());
    auto* charts = new QSplitter(Qt::Vertical, this);
    charts->setChildrenCollapsible(false);
    charts->addWidget(titled(tr("Mean score by offset"), m_chart));
    charts->addWidget(titled(tr("Energy of every frequency"), m_energies));
    splitter->addWidget(charts);
    splitter->addWidget(m_offsets);
    m_offsets->hide();
    connect(m_offsets, &Page::readOutChanged, this, &Page::readOutChanged);
    splitter->setSizes({500, 460, 420});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(splitter, 1);
    layout->addWidget(m_explanation);
    createKernel();
    createEnergies();
    for (const auto signal : {&OpenModel::circuitsChanged, &OpenModel::tokensChanged, &OpenModel::closed})
        connect(workspace->model(), signal, this, &PositionPage::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &PositionPage::refresh);
}

QWidget* PositionPage::createMap()
{
    m_shown->addItem(tr("raw scores"));
    m_shown->addItem(tr("attention (softmax)"));
    m_shown->setAccessibleName(tr("Values of the map of positions"));
    m_panel->view()->setAccessibleName(tr("Scores of positions")); // until another map is chosen
    m_mask->setChecked(true);
    connect(m_shown, &QComboBox::currentIndexChanged, this, &PositionPage::refresh);
    connect(m_mask, &QCheckBox::toggled, this, &PositionPage::refresh);
    auto* box = new QWidget(this);
    auto* choices = new QHBoxLayout;
    choices->setSpacing(8);
    choices->addWidget(m_shown);
    choices->addWidget(m_mask);
    choices->addStretch();
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(choices);
    layout->addWidget(m_panel, 1);
    HeatmapView* view = m_panel->view();
    view->setCellShape(HeatmapView::CellShape::Square);
    view->content()->setNanIsAbsent(true); // entries hidden by the mask
    view->setRowAxis({tr("query position"), {}});
    view->setColumnAxis({tr("key position"), {}});
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        const QString shown = !m_seen.of(row, column) ? tr("not visible to it")
            : showsAttention()                        ? tr("attention %1").arg(number(value))
                                                      : tr("score %1").arg(signedNumber(value));
        emit readOutChanged(tr("query %1 → key %2   %3").arg(row).arg(column).arg(shown));
    });
    return titled(tr("Query and key positions"), box);
}

void PositionPage::createKernel()
{
    m_chart->setLook({.xTitle = tr("offset Δ = query − key position"), .yTitle = tr("mean score (logits)")});
    m_chart->setAccessibleName(tr("Mean score by offset"));
    connect(m_chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_chart, &LineChart::pointHovered, this, [this](const QString&, int index, QPointF point) {
        QString words = tr("Δ = %1   %2").arg(point.x()).arg(signedNumber(point.y()));
        if (const auto& errors = m_chart->series().front().errors; !errors.empty())
            words += tr("   deviation over queries %1").arg(number(errors[static_cast<std::size_t>(index)]));
        emit readOutChanged(words);
    });
}

bool PositionPage::showsAttention() const
{
    return m_shown->currentIndex() == 1;
}

void PositionPage::createEnergies()
{
    m_energies->setLook({.xTitle = tr("frequency m"), .yTitle = tr("‖Q_m K_mᵀ‖")});
    m_energies->setAccessibleName(tr("Energy of every frequency"));
    m_energies->parentWidget()->hide();
    connect(m_energies, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_energies, &LineChart::pointHovered, this, [this](const QString&, int m, QPointF) {
        const std::vector<ChartSeries>& shown = m_energies->series();
        emit readOutChanged(tr("frequency %1, a turn in %2 places   energy %3   unaligned %4")
                                .arg(m)
                                .arg(number(m_turns[static_cast<std::size_t>(m)]),
                                     number(shown[0].points[m].y()), number(shown[1].points[m].y())));
    });
}

void PositionPage::clear(const QString& message)
{
    m_job.cancel();
    m_chart->setSeries({});
    m_chart->setBaselines({});
    m_chart->setMessage(message);
    m_panel->view()->setMatrix(nullptr);
    mapBox(m_panel)->hide();
    m_offsets->hide();
    m_energies->parentWidget()->hide();
    m_explanation->clear();
}

void PositionPage::recompute()
{
    if (!workspace()->model()->isOpen())
        return clear({});
    const auto circuits = workspace()->model()->circuits();
    if (!circuits)
        return clear(tr("Scores by position need the model's files; use File → Locate model…"));
    const ModelConfig& config = circuits->config();
    if (const QString why = whyNoKernel(config); !why.isEmpty())
        return clear(why);
    if (!hasLearnedPositions(config) && !workspace()->model()->tokens())
        return clear(tr("Reading the embeddings…"));
    m_mask->setEnabled(!config.bidirectional);
    m_mask->setToolTip(config.bidirectional
                           ? tr("This model's attention has no mask: every position sees all.")
                           : tr("Only the keys that attention lets each query see"));
    m_seen = {m_mask->isChecked() && !config.bidirectional,
              config.windowOf(workspace()->selection()->head().layer)};
    const Question question{circuits, workspace()->model()->tokens(), workspace()->selection()->head(),
                            showsAttention(), m_seen};
    m_panel->view()->setPending(true);
    m_job.start(tr("Positions of %1").arg(text(workspace()->selection()->head())),
                aboutModel(workspace()->model()->circuits(),
                           [question](const Task&) -> Result<Answer> { return answerTo(question); }),
                [this](const Result<Answer>& answer) {
                    if (answer)
                        showAnswer(*answer);
                    else
                        clear(text(answer.error()));
                });
}

void PositionPage::showAnswer(const Answer& answer)
{
    m_panel->view()->setPending(false);
    mapBox(m_panel)->setVisible(answer.picture != nullptr);
    m_offsets->setVisible(!answer.picture);
    showMap(answer);
    showKernel(answer);
    showEnergies(answer);
    m_explanation->setText(words(answer));
}

void PositionPage::showMap(const Answer& answer)
{
    HeatmapView* view = m_panel->view();
    view->setAccessibleName(answer.isAttention ? tr("Attention of positions") : tr("Scores of positions"));
    ColorScale scale = firstScale(true, ColorFit::Robust); // the first position is often an outlier
    if (answer.isAttention) {
        scale.map = ColorMap::Attention;
        scale.low = 0;
        scale.high = 1;
        scale.fit = ColorFit::Fixed;
    }
    view->colors()->proposeScale(scale);
    view->setMatrix(answer.picture);
}

void PositionPage::showKernel(const Answer& answer)
{
    ChartSeries series{text(workspace()->selection()->head()), {}, SeriesStyle::Line};
    series.points.reserve(static_cast<qsizetype>(answer.byOffset.size()));
    for (std::size_t i = 0; i < answer.byOffset.size(); ++i)
        series.points << QPointF(static_cast<double>(i), answer.byOffset[i]);
    series.errors.assign(answer.deviations.begin(), answer.deviations.end());
    series.hasBand = !series.errors.empty();
    if (m_chart->series() == std::vector{series}) // another picture of the same head keeps the zoom
        return;
    m_chart->setBaselines(answer.picture ? std::vector{ChartBaseline{tr("null: the same at every offset"), 0}}
                                         : std::vector<ChartBaseline>{});
    m_chart->setSeries({series});
}

QString PositionPage::words(const Answer& answer) const
{
    QString all;
    if (answer.picture) {
        const Eigen::Index n = answer.picture->rows();
        const int context = workspace()->model()->card().nCtx;
        const QString places = n < context ? tr("the first %1 of %2 positions").arg(n).arg(context)
                                           : tr("all %1 positions").arg(n);
        all = answer.isAttention
            ? tr("Attention of LN(W_pos) alone over %1. ").arg(places)
            : tr("Scores (LN(p_i) W_Q + b_Q) (LN(p_j) W_K + b_K)ᵀ · scale of p = W_pos alone over %1; looking a fixed number of places back is a stripe along the diagonal. ")
                  .arg(places);
        all += tr(
            "Beside them the mean over queries of the score at each offset, every query's mean taken off, and one deviation over the queries to either side; the largest offsets have few.");
    } else {
        all = tr(
            "Score of the mean token with itself, rotated by the offset Δ. Below it how much of W_Q R_Δ W_Kᵀ each rotary frequency holds, the fastest first; dashed: of columns at right angles.");
    }
    if (workspace()->selection()->head().layer > 0)
        all += tr(" Layers above 0 read positions that earlier layers have changed: an approximation here.");
    return all;
}

void PositionPage::showEnergies(const Answer& answer)
{
    m_energies->parentWidget()->setVisible(!answer.frequencies.empty());
    m_turns.clear();
    ChartSeries energy{tr("energy"), {}, SeriesStyle::Bars},
        unaligned{tr("unaligned"), {}, SeriesStyle::Dashed};
    for (std::size_t m = 0; m < answer.frequencies.size(); ++m) {
        const auto at = static_cast<Eigen::Index>(m);
        energy.points << QPointF(static_cast<double>(m), answer.energies.energy(at));
        unaligned.points << QPointF(static_cast<double>(m), answer.energies.unaligned(at));
        m_turns.push_back(2 * std::numbers::pi / answer.frequencies[m]);
    }
    m_energies->setSeries(answer.frequencies.empty() ? std::vector<ChartSeries>{}
                                                     : std::vector{energy, unaligned});
}

QJsonObject PositionPage::viewState() const
{
    return {{QStringLiteral("heatmap"), m_panel->viewState()},
            {QStringLiteral("shown"), m_shown->currentIndex()},
            {QStringLiteral("mask"), m_mask->isChecked()},
            {QStringLiteral("offset"), m_offsets->offset()}};
}

void PositionPage::setViewState(const QJsonObject& state)
{
    m_shown->setCurrentIndex(state[QStringLiteral("shown")].toInt() == 1 ? 1 : 0);
    m_mask->setChecked(state[QStringLiteral("mask")].toBool(true));
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
    m_offsets->setOffset(state[QStringLiteral("offset")].toInt());
}

QList<FigureSource*> PositionPage::figures()
{
    if (m_explanation->text().isEmpty())
        return {};
    const QString of =
        tr("%1, %2").arg(text(workspace()->selection()->head()), text(workspace()->model()->card().name));
    QList<FigureSource*> all{m_chart};
    describe(m_chart, tr("Score by offset, %1").arg(of));
    if (m_panel->view()->matrix()) {
        describe(m_panel->view(),
                 showsAttention() ? tr("Positional attention, %1").arg(of)
                                  : tr("Positional scores, %1").arg(of));
        all.prepend(m_panel->view());
    }
    if (!m_turns.empty()) {
        describe(m_energies, tr("Energy by frequency, %1").arg(of));
        all << m_energies;
    }
    return all + m_offsets->figures();
}

} // namespace headwise::ui
