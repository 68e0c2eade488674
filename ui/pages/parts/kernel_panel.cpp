#include "ui/pages/parts/kernel_panel.h"

#include "core/circuits/position_scores.h"
#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/about_model.h"

#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

std::vector<double> scoresByOffset(const Circuits& circuits, const TokenSide* tokens, HeadId head,
                                   Eigen::Index n)
{
    const ProcessedWeights& weights = circuits.weights();
    if (weights.config().positional == Positional::Learned) {
        auto byOffset =
            positionKernel(positionScores(weights, head, positionVectors(weights, head.layer, n))).centred;
        byOffset.resize((byOffset.size() + 1) / 2); // Large offsets have few pairs to average.
        return byOffset;
    }
    const RowVector<double> scores =
        offsetScores(weights, head, meanToken(tokens->embeddingOf(head.layer)), n);
    return {scores.begin(), scores.end()};
}

QString whyNoKernel(const ModelConfig& config)
{
    return config.positional == Positional::Learned || config.positional == Positional::Rotary
        ? QString()
        : KernelPanel::tr(
            "This model has neither learned nor rotary positions: no score depends on position alone.");
}

KernelPanel::KernelPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_chart(new LineChart(this))
{
    m_chart->setAccessibleName(tr("Score by offset"));
    m_chart->setLook({.xTitle = tr("offset Δ"), .yTitle = tr("mean score (logits)")});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_chart, 1);
    connect(m_chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_chart, &LineChart::pointHovered, this, [this](const QString& head, int, QPointF point) {
        emit readOutChanged(tr("%1   Δ = %2   %3").arg(head).arg(point.x()).arg(signedNumber(point.y())));
    });
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace->model(), signal, this, &KernelPanel::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &KernelPanel::refresh);
}

void KernelPanel::clear(const QString& message)
{
    m_job.cancel();
    m_chart->setSeries({});
    m_chart->setMessage(message);
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
    if (!tokens && circuits->config().positional == Positional::Rotary)
        return clear(tr("Reading the embeddings…"));
    const Eigen::Index n = std::min(circuits->config().nCtx, longestKernel);
    m_job.start(tr("Scores of %1 by offset").arg(text(workspace()->selection()->head())),
                aboutModel(workspace()->model()->circuits(),
                           [circuits, tokens, head = workspace()->selection()->head(),
                            n](const Task&) -> Result<std::vector<double>> {
                               return scoresByOffset(*circuits, tokens.get(), head, n);
                           }),
                [this, head = workspace()->selection()->head()](const Result<std::vector<double>>& found) {
                    if (!found)
                        return clear(text(found.error()));
                    ChartSeries series{text(head), {}, SeriesStyle::Line};
                    for (std::size_t i = 0; i < found->size(); ++i)
                        series.points << QPointF(static_cast<double>(i), (*found)[i]);
                    m_chart->setSeries({series});
                });
}

QList<FigureSource*> KernelPanel::figures()
{
    if (m_chart->series().empty())
        return {};
    describe(m_chart,
             tr("%1 score by offset, %2")
                 .arg(text(workspace()->selection()->head()), text(workspace()->model()->card().name)));
    return {m_chart};
}

} // namespace headwise::ui
