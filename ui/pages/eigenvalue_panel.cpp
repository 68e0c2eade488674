#include "ui/pages/eigenvalue_panel.h"

#include "core/analysis/spectrum.h"
#include "ui/head_metrics.h"
#include "ui/pages/spectrum_panel.h"
#include "ui/text.h"
#include "ui/theme.h"

#include <QLabel>
#include <QVBoxLayout>

#include <cmath>

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
    ChartLook look;
    look.xTitle = tr("real part");
    look.yTitle = tr("imaginary part");
    look.plane = ChartLook::Plane::Complex;
    m_chart->setLook(look);
    m_chart->setAccessibleName(tr("Eigenvalues of the circuit"));
    connect(m_chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_chart, &LineChart::pointHovered, this, [this](const QString& series, int index, QPointF point) {
        emit readOutChanged(tr("%1   λ%2 = %3 %4 i")
                                .arg(series)
                                .arg(index + 1)
                                .arg(exactNumber(point.x()), signedNumber(point.y())));
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
    m_chart->setSeries({series});
    QString score = tr("Re Σλ / Σ|λ| = %1").arg(signedNumber(positivity(values)));
    const char* path = m_kind == CircuitKind::FullOv ? "scores/copying"
        : m_kind == CircuitKind::FullQk              ? "scores/matching"
                                                     : nullptr;
    if (const ResultArray* known = path ? results.find(path) : nullptr; known && known->nullMean)
        score += tr("   null %1").arg(signedNumber(*known->nullMean));
    m_score->setText(score);
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
