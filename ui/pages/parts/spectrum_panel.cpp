#include "ui/pages/parts/spectrum_panel.h"

#include "core/analysis/residual_basis.h"
#include "core/circuits/singular_directions.h"
#include "core/circuits/spectrum.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/document/head_metrics.h"

#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace headwise::ui {

QString circuitTitle(CircuitKind kind)
{
    switch (kind) {
    case CircuitKind::Qk: return QStringLiteral("QK");
    case CircuitKind::Ov: return QStringLiteral("OV");
    case CircuitKind::FullQk: return QStringLiteral("full QK");
    case CircuitKind::FullOv: return QStringLiteral("full OV");
    }
    return {};
}

std::vector<ChartBracket> degenerateBrackets(std::span<const double> sigma, int dModel, double unit)
{
    const std::vector<int> blocks = degenerateBlocks(sigma, numericalRank(sigma, dModel));
    std::vector<ChartBracket> brackets;
    for (std::size_t first = 0, last = 0; first < blocks.size(); first = last + 1) {
        last = first;
        while (last + 1 < blocks.size() && blocks[last + 1] == blocks[first])
            ++last;
        if (last > first)
            brackets.push_back(
                {static_cast<double>(first + 1), static_cast<double>(last + 1), sigma[first] / unit});
    }
    return brackets;
}

SpectrumPanel::SpectrumPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_chart(new LineChart(this))
    , m_measures(new QLabel(this))
{
    makeSecondary(m_measures);
    m_measures->setWordWrap(true);
    m_measures->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_chart, 1);
    layout->addWidget(m_measures);
    m_chart->setAccessibleName(tr("Singular values of the head"));
    m_look.xTitle = tr("index");
    connect(m_chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_chart, &LineChart::pointHovered, this, [this](const QString& series, int index, QPointF point) {
        emit readOutChanged(tr("%1   σ%2 = %3").arg(series).arg(index + 1).arg(exactNumber(point.y())));
    });
    connect(workspace->selection(), &Selection::headChanged, this, &SpectrumPanel::refresh);
    connect(workspace->model(), &OpenModel::resultsChanged, this, &SpectrumPanel::refresh);
    connect(workspace->model(), &OpenModel::circuitsChanged, this, &SpectrumPanel::refresh);
    connect(workspace->model(), &OpenModel::closed, this, &SpectrumPanel::refresh);
}

void SpectrumPanel::setCircuits(const std::vector<CircuitKind>& kinds)
{
    m_kinds = kinds;
    refresh();
}

void SpectrumPanel::setScale(ChartLook::Scale scale)
{
    m_look.yScale = scale;
    refresh();
}

void SpectrumPanel::setNormalized(bool on)
{
    m_normalized = on;
    refresh();
}

void SpectrumPanel::recompute()
{
    m_job.cancel();
    if (!workspace()->model()->isOpen()) {
        m_measures->clear();
        m_chart->setBrackets({});
        return m_chart->setSeries({});
    }
    std::map<CircuitKind, std::vector<double>> sigma;
    std::vector<CircuitKind> missing;
    for (const CircuitKind kind : m_kinds) {
        const std::string path = "spectra/" + std::string(circuitName(kind)) + "/singular_values";
        std::vector<double> values =
            headSeries(workspace()->model()->results()->find(path), workspace()->selection()->head());
        if (!values.empty() && std::isfinite(values.front()))
            sigma[kind] = std::move(values);
        else if (!isFull(kind) && workspace()->model()->circuits())
            missing.push_back(kind);
    }
    if (missing.empty())
        show(sigma);
    else
        compute(missing);
}

void SpectrumPanel::compute(const std::vector<CircuitKind>& missing)
{
    using Answer = std::map<CircuitKind, std::vector<double>>;
    m_job.start(tr("Singular values of %1").arg(text(workspace()->selection()->head())),
                aboutModel(workspace()->model()->circuits(),
                           [circuits = workspace()->model()->circuits(),
                            head = workspace()->selection()->head(), missing](const Task&) -> Result<Answer> {
                               Answer sigma;
                               const HeadWeights<double> weights = circuits->weights().head<double>(head);
                               for (const CircuitKind kind : missing) {
                                   auto values =
                                       circuitSingularValues(*circuits, weights, kind, head, nullptr);
                                   if (!values)
                                       return values.error();
                                   sigma[kind] = std::move(values).value();
                               }
                               return sigma;
                           }),
                [this](const Result<Answer>& sigma) {
                    if (sigma)
                        return show(*sigma);
                    m_chart->setSeries({});
                    m_chart->setBrackets({});
                    m_chart->setMessage(text(sigma.error()));
                });
}

void SpectrumPanel::show(const std::map<CircuitKind, std::vector<double>>& sigma)
{
    std::vector<ChartSeries> series;
    std::vector<ChartBracket> brackets;
    QStringList measures;
    for (const auto& [kind, values] : sigma) {
        ChartSeries one{circuitTitle(kind), {}, SeriesStyle::Line};
        const double unit = m_normalized && values.front() > 0 ? values.front() : 1;
        for (std::size_t i = 0; i < values.size(); ++i)
            one.points << QPointF(static_cast<double>(i + 1), values[i] / unit);
        series.push_back(std::move(one));
        std::ranges::copy(degenerateBrackets(values, workspace()->model()->card().dModel, unit),
                          std::back_inserter(brackets));
        measures << measuresOf(kind, values);
    }
    if (!brackets.empty())
        measures << tr(
            "Brackets group singular values within 1\u00a0% of each other; only their joint subspace is meaningful.");
    m_look.yTitle = m_normalized ? tr("σ / σ₁") : tr("singular value σ");
    m_chart->setLook(m_look);
    m_chart->setMessage(workspace()->model()->circuits()
                            ? tr("The singular values are being computed.")
                            : tr("This session has no singular values of these circuits."));
    m_chart->setSeries(series);
    m_chart->setBrackets(brackets);
    m_measures->setText(measures.join(QStringLiteral("\n")));
}

QString SpectrumPanel::measuresOf(CircuitKind kind, const std::vector<double>& sigma) const
{
    const ResultSet& results = *workspace()->model()->results();
    const std::string folder = "spectra/" + std::string(circuitName(kind)) + "/";
    const auto withNull = [&](double value, const std::string& path) {
        const ResultArray* array = results.find(path);
        return array && array->nullMean ? tr("%1 (random %2)").arg(number(value), number(*array->nullMean))
                                        : number(value);
    };
    const RankMeasures ranks = rankMeasures(sigma);
    const QString line =
        tr("%1: ‖·‖ %2, effective rank %3, stable rank %4, 90\u00a0% in %5")
            .arg(circuitTitle(kind), withNull(ranks.frobeniusNorm, folder + "frobenius_norm"),
                 withNull(ranks.effectiveRank, folder + "effective_rank"),
                 withNull(ranks.stableRank, folder + "stable_rank"), QString::number(ranks.k90));
    const ResultArray* norm =
        results.find(folder + "frobenius_norm"); // NaN where this head was not asked for
    return norm && isInEmbeddingMetric(*norm)
            && std::isfinite(metricAt(*norm, workspace()->selection()->head()))
        ? tr("%1; lengths are measured by the covariance of the embedding").arg(line)
        : line;
}

QList<FigureSource*> SpectrumPanel::figures()
{
    if (!workspace()->model()->isOpen() || m_measures->text().isEmpty())
        return {};
    describe(m_chart,
             tr("%1 singular values, %2")
                 .arg(text(workspace()->selection()->head()), text(workspace()->model()->card().name)));
    return {m_chart};
}

} // namespace headwise::ui
