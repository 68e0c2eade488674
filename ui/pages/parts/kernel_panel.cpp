#include "ui/pages/parts/kernel_panel.h"

#include "core/circuits/position_scores.h"
#include "ui/base/text.h"
#include "ui/base/window_words.h"
#include "ui/charts/chart_cursor.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/about_model.h"
#include "ui/pages/parts/offset_box.h"
#include "ui/pages/parts/picture_panel.h"

#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

Result<std::vector<double>> scoresByOffset(const Circuits& circuits, const TokenSide* tokens, HeadId head,
                                           Eigen::Index n, const Task& task)
{
    const ProcessedWeights& weights = circuits.weights();
    if (weights.config().positional == Positional::Learned) {
        auto byOffset =
            positionKernel(positionScores(weights, head, positionVectors(weights, head.layer, n))).centred;
        byOffset.resize((byOffset.size() + 1) / 2); // Large offsets have few pairs to average.
        return byOffset;
    }
    const auto listed = [](const RowVector<double>& scores) {
        return std::vector<double>(scores.begin(), scores.end());
    };
    if (weights.config().hasDistanceBias())
        return listed(distanceScores(weights, head, n).row(0));
    const auto statistics = tokens->embeddingOf(head.layer).statistics(task, "tokens");
    if (!statistics)
        return statistics.error();
    return listed(offsetScores(weights, head, (*statistics)->mean, n));
}

std::vector<ConfigField> kernelFields()
{
    return {ConfigField::Positions, ConfigField::RotaryBase, ConfigField::NormEps};
}

QString whyNoKernel(const ModelConfig& config)
{
    if (const std::string why = whyUnknown(config, kernelFields(), "A score of positions"); !why.empty())
        return windowWords(text(why));
    return config.positional == Positional::Learned || config.positional == Positional::Rotary
            || config.hasDistanceBias()
        ? QString()
        : KernelPanel::tr("This model has no positions that its scores depend on.");
}

namespace {

const std::string learnedKernel = "analyses/position_kernel/centred_mean_score";
const std::string distanceKernel = "analyses/position_kernel/mean_score";
const std::string rotaryKernel = "analyses/rotary/mean_token_score";

} // namespace

Picture kernelPicture()
{
    return {.kind = Picture::Kind::Lines,
            .title = KernelPanel::tr("Mean score by offset").toStdString(),
            .arrays = {learnedKernel, learnedKernel + "_low", learnedKernel + "_high", distanceKernel,
                       rotaryKernel}};
}

ResultSet kernelResults(const ModelConfig& config, const std::vector<double>& scores,
                        const std::vector<double>& deviations)
{
    const bool isLearned = config.positional == Positional::Learned;
    const std::string path = isLearned ? learnedKernel
        : config.hasDistanceBias()     ? distanceKernel
                                       : rotaryKernel;
    const auto array = [&](const std::string& name, std::vector<double> values) {
        return shownArray(name, Axis::Offset, std::move(values));
    };
    ResultSet results{.arrays = {array(path, scores)}, .groupAttributes = {}, .warnings = {}};
    results.arrays.front().unit = "logits";
    if (isLearned)
        results.arrays.front().nullMean = 0.0; // the same at every offset
    for (const auto& [ending, side] : {std::pair("_low", -1), {"_high", 1}}) {
        std::vector<double> end(deviations.size());
        for (std::size_t i = 0; i < end.size(); ++i)
            end[i] = scores[i] + side * deviations[i];
        if (!end.empty())
            results.arrays.push_back(array(path + ending, std::move(end)));
    }
    return results;
}

void markOffset(const PicturePanel* kernel, Workspace* workspace)
{
    auto* cursor = new ChartCursor(kernel->findChild<LineChart*>());
    Selection* selection = workspace->selection();
    const auto show = [cursor, workspace, selection] {
        if (!hasRotaryPositions(*workspace))
            return cursor->setPlace({}, {});
        cursor->setPlace(selection->rotaryOffset(), KernelPanel::tr("Δ = %1").arg(selection->rotaryOffset()));
    };
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        QObject::connect(workspace->model(), signal, cursor, show);
    QObject::connect(selection, &Selection::rotaryOffsetChanged, cursor, show);
    QObject::connect(cursor, &ChartCursor::moved, selection,
                     [selection](double x) { selection->setRotaryOffset(qRound(x)); });
    show();
}

KernelPanel::KernelPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_picture(new PicturePanel(workspace, Picture::Kind::Lines, tr("Mean score by offset"), this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_picture, 1);
    connect(m_picture, &Page::readOutChanged, this, &Page::readOutChanged);
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace->model(), signal, this, &KernelPanel::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &KernelPanel::refresh);
}

void KernelPanel::clear(const QString& message)
{
    m_job.cancel();
    m_picture->showMessage(message);
}

void KernelPanel::recompute()
{
    if (!workspace()->model()->isOpen())
        return clear({});
    const auto circuits = workspace()->model()->circuits();
    if (!circuits)
        return clear(tr("Scores by position need the model's files."));
    if (const QString why = whyNoKernel(circuits->config()); !why.isEmpty())
        return clear(why);
    const auto tokens = workspace()->model()->tokens();
    if (!tokens && hasRotaryPositions(*workspace()))
        return clear(tr("Reading the embeddings…"));
    const Eigen::Index n = std::min(circuits->config().nCtx, longestKernel);
    m_job.start(tr("Scores of %1 by offset").arg(text(workspace()->selection()->head())),
                aboutModel(workspace()->model()->circuits(),
                           [circuits, tokens, head = workspace()->selection()->head(), n](const Task& task) {
                               return scoresByOffset(*circuits, tokens.get(), head, n, task);
                           }),
                [this](const Result<std::vector<double>>& found) {
                    if (!found)
                        return clear(text(found.error()));
                    const ModelConfig& config = workspace()->model()->circuits()->config();
                    m_picture->showPicture(kernelPicture(), kernelResults(config, *found));
                });
}

QList<FigureSource*> KernelPanel::figures()
{
    return m_picture->figures();
}

} // namespace headwise::ui
