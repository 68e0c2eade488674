#include "ui/pages/parts/eigenvalue_panel.h"

#include "core/circuits/spectrum.h"
#include "core/results/layer_null.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/document/head_metrics.h"
#include "ui/pages/parts/spectrum_panel.h"

#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headwise::ui {

namespace {

std::vector<std::complex<double>> headEigenvalues(const ResultArray* array, HeadId head)
{
    if (!array || array->shape.size() != 3 || static_cast<std::size_t>(head.layer) >= array->shape[0]
        || static_cast<std::size_t>(head.head) >= array->shape[1])
        return {};
    const std::size_t count = array->shape[2];
    const std::size_t first =
        (static_cast<std::size_t>(head.layer) * array->shape[1] + static_cast<std::size_t>(head.head))
        * count;
    std::vector<std::complex<double>> values;
    std::visit(
        [&](const auto& all) {
            if constexpr (!std::is_arithmetic_v<typename std::decay_t<decltype(all)>::value_type>)
                for (std::size_t i = first; i < first + count && i < all.size(); ++i)
                    values.emplace_back(all[i].real(), all[i].imag());
        },
        array->values);
    std::erase_if(values, [](const auto& value) { return !std::isfinite(value.real()); });
    return values;
}

} // namespace

EigenvaluePanel::EigenvaluePanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_chart(new LineChart(this))
    , m_score(new QLabel(this))
{
    makeSecondary(m_score);
    m_score->setWordWrap(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_chart, 1);
    layout->addWidget(m_score);
    setLook({});
    m_chart->setAccessibleName(tr("Eigenvalues of the circuit"));
    connect(m_chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_chart, &LineChart::pointHovered, this, [this](const QString& series, int index, QPointF point) {
        emit readOutChanged(tr("%1   λ%2 = %3 %4 i")
                                .arg(series)
                                .arg(index + 1)
                                .arg(exactNumber(point.x()), signedNumber(point.y()))
                            + tr("   |λ| %1, angle %2°")
                                  .arg(number(std::hypot(point.x(), point.y())),
                                       number(std::atan2(point.y(), point.x()) * 180 / std::numbers::pi)));
    });
    connect(workspace, &Workspace::headChanged, this, &EigenvaluePanel::refresh);
    connect(workspace, &Workspace::resultsChanged, this, &EigenvaluePanel::refresh);
    connect(workspace, &Workspace::circuitsChanged, this, &EigenvaluePanel::refresh);
    connect(workspace, &Workspace::closed, this, &EigenvaluePanel::refresh);
}

void EigenvaluePanel::setKind(CircuitKind kind)
{
    m_kind = kind;
    refresh();
}

void EigenvaluePanel::setPolar(bool on)
{
    m_isPolar = on;
    refresh();
}

void EigenvaluePanel::setLook(const std::vector<std::complex<double>>& values)
{
    constexpr double mostDecades = 6; // smaller ones are rounding
    ChartLook look;
    look.xTitle = m_isPolar ? tr("λ by its angle, |λ| on a logarithmic radius") : tr("real part");
    look.yTitle = m_isPolar ? QString() : tr("imaginary part");
    look.plane = m_isPolar ? ChartLook::Plane::LogPolar : ChartLook::Plane::Complex;
    double largest = 0;
    for (const auto& value : values)
        largest = std::max(largest, std::abs(value));
    double smallest = largest;
    for (const auto& value : values)
        if (std::abs(value) >= largest * std::pow(10, -mostDecades))
            smallest = std::min(smallest, std::abs(value));
    if (m_isPolar)
        look.innerRadius = largest > 0 ? std::pow(10, std::ceil(std::log10(smallest)) - 1) : 1;
    m_chart->setLook(look);
}

QString EigenvaluePanel::scoreText(const std::vector<std::complex<double>>& values) const
{
    QString score = tr("Re Σλ / Σ|λ| = %1").arg(signedNumber(positivity(values)));
    const char* path = m_kind == CircuitKind::FullOv ? "scores/copying"
        : m_kind == CircuitKind::FullQk              ? "scores/matching"
                                                     : nullptr;
    const ResultArray* known = path ? workspace()->results()->find(path) : nullptr;
    if (!known)
        return score;
    const LayerNull null = layerNull(*known, workspace()->head().layer);
    if (null.mean && null.deviation)
        score += tr("   null\u00a0%1\u00a0±\u00a0%2").arg(signedNumber(*null.mean), number(*null.deviation));
    else if (null.mean)
        score += tr("   null %1").arg(signedNumber(*null.mean));
    return score;
}

QString EigenvaluePanel::normalityText(const std::vector<std::complex<double>>& values) const
{
    constexpr double farFromNormal = 0.1; // the threshold of the analysis
    const ResultSet& results = *workspace()->results();
    const std::string name(circuitName(m_kind));
    const ResultArray* norms = results.find("spectra/" + name + "/frobenius_norm");
    const HeadId head = workspace()->head();
    if (!norms || norms->shape.size() != 2)
        return {};
    const double norm =
        wholeArray(*norms).at(static_cast<std::size_t>(head.layer) * norms->shape[1] + head.head);
    double squares = 0;
    for (const auto& value : values)
        squares += std::norm(value);
    const double share = squares / (norm * norm);
    if (!std::isfinite(share))
        return {};
    QString words = tr("Σ|λ|² / ‖W‖² = %1").arg(number(share));
    const ResultArray* measured = results.find("analyses/normality/" + name);
    const LayerNull null = measured ? layerNull(*measured, head.layer) : LayerNull();
    if (null.mean)
        words += tr(" (random weights %1 ± %2)").arg(number(*null.mean), number(null.deviation.value_or(0)));
    words += tr(", Henrici's departure from normality %1").arg(number(std::sqrt(std::max(0.0, 1 - share))));
    if (share < farFromNormal)
        words += measured
            ? tr(
                ". Far from normal: the eigenvalues describe little of this circuit, the score is weak evidence.")
            : tr(
                ". Far from normal: the eigenvalues describe little of this circuit, the score is weak evidence. The analysis “How much the eigenvalues tell” has what random weights get.");
    return words;
}

void EigenvaluePanel::recompute()
{
    m_score->clear();
    if (!workspace()->isOpen())
        return m_chart->setSeries({});
    const ResultSet& results = *workspace()->results();
    const ResultArray* array = results.find("eigenvalues/" + std::string(circuitName(m_kind)));
    const auto values = headEigenvalues(array, workspace()->head());
    m_chart->setMessage(array ? tr("This circuit has no eigenvalues here.")
                            : workspace()->circuits()
                            ? tr("The eigenvalues are being computed.")
                            : tr("This session has no eigenvalues of this circuit."));
    if (values.empty())
        return m_chart->setSeries({});
    ChartSeries series{circuitTitle(m_kind), {}, SeriesStyle::Points};
    for (const auto& value : values)
        series.points << QPointF(value.real(), value.imag());
    setLook(values);
    m_chart->setSeries({series});
    const QString normality = normalityText(values);
    m_score->setText(scoreText(values) + (normality.isEmpty() ? QString() : u'\n' + normality));
}

QList<FigureSource*> EigenvaluePanel::figures()
{
    if (m_score->text().isEmpty())
        return {};
    describe(m_chart,
             tr("%1 eigenvalues of %2, %3")
                 .arg(text(workspace()->head()), circuitTitle(m_kind), text(workspace()->card().name)));
    return {m_chart};
}

} // namespace headwise::ui
