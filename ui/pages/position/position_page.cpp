#include "ui/pages/position/position_page.h"

#include "core/analysis/position/rotary_kernel.h"
#include "core/circuits/position_scores.h"
#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/pages/parts/kernel_panel.h"
#include "ui/pages/parts/picture_panel.h"
#include "ui/pages/position/offset_table.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

namespace {

bool isRotary(const ModelConfig& config)
{
    return config.positional == Positional::Rotary;
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

/// A picture with its controls and heading, to be shown and hidden together.
QWidget* boxOf(const PicturePanel* panel)
{
    return panel->parentWidget();
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
    std::vector<double> deviations; // their deviations over queries, for learned positions; else empty
    std::shared_ptr<const Eigen::MatrixXf> picture; // null for rotary positions
    bool isAttention = false;                       // the picture shows attention, not scores
    std::vector<double> frequencies;                // radians per position, for rotary positions
    RotaryEnergies energies;
};

Result<PositionPage::Answer> PositionPage::answerTo(const Question& question, const Task& task)
{
    const Circuits& circuits = *question.circuits;
    const ModelConfig& config = circuits.config();
    const HeadId head = question.head;
    Answer answer;
    if (isRotary(config)) {
        auto scores = scoresByOffset(circuits, question.tokens.get(), head,
                                     std::min<Eigen::Index>(config.nCtx, longestKernel), task);
        if (!scores)
            return scores.error();
        answer.byOffset = std::move(scores).value();
        answer.frequencies = rotaryFrequencies(config.rotaryOf(head.layer));
        answer.energies = rotaryEnergies(circuits.weights(), head);
        return answer;
    }
    const Eigen::Index n = positionsOnMap(config);
    const ProcessedWeights& weights = circuits.weights();
    Matrix<double> scores;
    if (config.hasDistanceBias()) {
        scores = distanceScores(weights, head, n);
        answer.byOffset.assign(scores.row(0).begin(), scores.row(0).end());
    } else {
        scores = positionScores(weights, head, positionVectors(weights, head.layer, n));
        PositionKernel kernel = positionKernel(scores);
        answer.byOffset = std::move(kernel.centred);
        answer.deviations = std::move(kernel.centredDeviation);
    }
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
    , m_kernel(new PicturePanel(workspace, Picture::Kind::Lines, tr("Mean score by offset"), this))
    , m_energies(new PicturePanel(workspace, Picture::Kind::Bars, tr("Energy by frequency"), this))
    , m_map(new PicturePanel(workspace, Picture::Kind::Matrix, tr("Scores of positions"), this))
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
    charts->addWidget(titled(tr("Mean score by offset"), m_kernel));
    charts->addWidget(titled(tr("Energy by frequency"), m_energies));
    splitter->addWidget(charts);
    splitter->addWidget(m_offsets);
    m_offsets->hide();
    boxOf(m_energies)->hide();
    for (Page* part : std::initializer_list<Page*>{m_kernel, m_energies, m_map, m_offsets})
        connect(part, &Page::readOutChanged, this, &Page::readOutChanged);
    markOffset(m_kernel, workspace);
    splitter->setSizes({500, 460, 420});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(splitter, 1);
    layout->addWidget(m_explanation);
    for (const auto signal : {&OpenModel::circuitsChanged, &OpenModel::tokensChanged, &OpenModel::closed})
        connect(workspace->model(), signal, this, &PositionPage::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &PositionPage::refresh);
}

QWidget* PositionPage::createMap()
{
    m_shown->addItem(tr("raw scores"));
    m_shown->addItem(tr("attention (softmax)"));
    m_shown->setAccessibleName(tr("Values of the map of positions"));
    m_mask->setChecked(true);
    connect(m_shown, &QComboBox::currentIndexChanged, this, &PositionPage::refresh);
    connect(m_mask, &QCheckBox::toggled, this, &PositionPage::refresh);
    auto* choices = new QHBoxLayout;
    choices->setSpacing(8);
    choices->addWidget(m_shown);
    choices->addWidget(m_mask);
    choices->addStretch();
    QWidget* box = titled(tr("Query and key positions"), m_map);
    static_cast<QVBoxLayout*>(box->layout())->insertLayout(1, choices);
    return box;
}

bool PositionPage::showsAttention() const
{
    return m_shown->currentIndex() == 1;
}

void PositionPage::clear(const QString& message)
{
    m_job.cancel();
    m_kernel->showMessage(message);
    for (PicturePanel* panel : {m_map, m_energies}) {
        panel->showMessage({});
        boxOf(panel)->hide();
    }
    m_offsets->hide();
    m_explanation->clear();
}

std::vector<ConfigField> PositionPage::neededFields()
{
    return kernelFields();
}

QString PositionPage::whyNot(const Workspace& workspace)
{
    const auto circuits = workspace.model()->circuits();
    if (!workspace.model()->isOpen())
        return {};
    return circuits ? whyNoKernel(circuits->config())
                    : tr("Scores by position need the model's files; use File → Locate model…");
}

void PositionPage::recompute()
{
    if (!workspace()->model()->isOpen())
        return clear({});
    if (const QString why = whyNot(*workspace()); !why.isEmpty())
        return clear(why);
    const auto circuits = workspace()->model()->circuits();
    const ModelConfig& config = circuits->config();
    if (isRotary(config) && !workspace()->model()->tokens())
        return clear(tr("Reading the embeddings…"));
    m_mask->setEnabled(!config.bidirectional);
    m_mask->setToolTip(config.bidirectional
                           ? tr("This model's attention has no mask: every position sees all positions.")
                           : tr("Show only the keys each query can see"));
    const KeysSeen seen{m_mask->isChecked() && !config.bidirectional,
                        config.windowOf(workspace()->selection()->head().layer)};
    const Question question{circuits, workspace()->model()->tokens(), workspace()->selection()->head(),
                            showsAttention(), seen};
    m_map->setPending(true);
    m_job.start(tr("Positions of %1").arg(text(workspace()->selection()->head())),
                aboutModel(workspace()->model()->circuits(),
                           [question](const Task& task) { return answerTo(question, task); }),
                [this](const Result<Answer>& answer) {
                    if (answer)
                        showAnswer(*answer);
                    else
                        clear(text(answer.error()));
                });
}

void PositionPage::showAnswer(const Answer& answer)
{
    boxOf(m_map)->setVisible(answer.picture != nullptr);
    boxOf(m_energies)->setVisible(!answer.frequencies.empty());
    m_offsets->setVisible(!answer.picture);
    m_kernel->showPicture(
        kernelPicture(),
        kernelResults(workspace()->model()->circuits()->config(), answer.byOffset, answer.deviations));
    if (answer.picture)
        showMap(answer);
    else
        m_map->showMessage({});
    if (answer.frequencies.empty())
        m_energies->showMessage({});
    else
        showEnergies(answer);
    m_explanation->setText(words(answer));
}

void PositionPage::showMap(const Answer& answer)
{
    const Eigen::MatrixXf& cells = *answer.picture;
    ResultArray array = shownMatrix(answer.isAttention ? "position/attention" : "position/scores",
                                    {Axis::Query, Axis::Key}, cells.cast<double>());
    array.title =
        (answer.isAttention ? tr("Attention of positions") : tr("Scores of positions")).toStdString();
    if (answer.isAttention) {
        array.range = {0, 1};
    } else {
        const ColorScale scale =
            fitted(firstScale(true, ColorFit::Robust), cells); // the first position is often an outlier
        array.range = {scale.low, scale.high};
    }
    const Picture picture{.kind = Picture::Kind::Matrix,
                          .title = array.title,
                          .arrays = {array.path},
                          .signedColors = !answer.isAttention};
    m_map->showPicture(picture, {.arrays = {std::move(array)}, .groupAttributes = {}, .warnings = {}});
}

void PositionPage::showEnergies(const Answer& answer)
{
    const std::string energy = "analyses/rotary/energy", unaligned = energy + "_null";
    const std::vector<std::string> names = frequencyNames(answer.frequencies);
    ResultSet results;
    for (const auto& [path, values] :
         {std::pair(energy, answer.energies.energy), {unaligned, answer.energies.unaligned}}) {
        results.arrays.push_back(shownArray(path, Axis::Frequency, {values.begin(), values.end()}));
        results.arrays.back().attributes[frequencyLabels] = names;
    }
    results.arrays.back().title = tr("unaligned columns").toStdString(); // the picture's title says the rest
    m_energies->showPicture({.kind = Picture::Kind::Bars,
                             .title = tr("Energy by frequency").toStdString(),
                             .arrays = {energy, unaligned}},
                            std::move(results));
}

QString PositionPage::words(const Answer& answer) const
{
    QString all;
    if (answer.picture) {
        const Eigen::Index n = answer.picture->rows();
        const int context = workspace()->model()->card().nCtx;
        const QString places = n < context ? tr("the first %1 of %2 positions").arg(n).arg(context)
                                           : tr("all %1 positions").arg(n);
        if (workspace()->model()->circuits()->config().hasDistanceBias())
            return (answer.isAttention
                        ? tr("Attention by distance alone over %1.")
                        : tr("The number that this head adds to a score by distance, over %1."))
                .arg(places);
        all = answer.isAttention
            ? tr("Attention of LN(W_pos) alone over %1. ").arg(places)
            : tr("Scores (LN(p_i) W_Q + b_Q) (LN(p_j) W_K + b_K)ᵀ · scale of p = W_pos alone over %1; a head that looks a fixed number of places back shows a stripe along the diagonal. ")
                  .arg(places);
        all += tr(
            "The chart shows the mean score at each offset, less each query's mean, and one standard deviation. Large offsets have few queries.");
    } else {
        all = tr(
            "Score of the mean token with itself, rotated by the offset Δ. Below: the share of each rotary frequency in W_Q R_Δ W_Kᵀ, fastest first; dashed: orthogonal columns.");
    }
    if (workspace()->selection()->head().layer > 0)
        all += tr(" Above layer 0 this is an approximation: earlier layers change the positions.");
    return all;
}

ViewFields PositionPage::viewFields()
{
    return ViewFields().add("shown", m_shown).add("mask", m_mask, true).addPart("heatmap", m_map);
}

QList<FigureSource*> PositionPage::figures()
{
    if (m_explanation->text().isEmpty())
        return {};
    return m_map->figures() + m_kernel->figures() + m_energies->figures() + m_offsets->figures();
}

} // namespace headwise::ui
