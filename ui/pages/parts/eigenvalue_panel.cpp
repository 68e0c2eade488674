#include "ui/pages/parts/eigenvalue_panel.h"

#include "core/circuits/spectrum.h"
#include "core/results/layer_null.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/document/head_metrics.h"
#include "ui/pages/parts/picture_panel.h"
#include "ui/pages/parts/spectrum_panel.h"

#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
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
    , m_picture(new PicturePanel(workspace, Picture::Kind::Points, tr("Eigenvalues"), this))
    , m_score(new QLabel(this))
{
    makeSecondary(m_score);
    m_score->setWordWrap(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_picture, 1);
    layout->addWidget(m_score);
    connect(m_picture, &Page::readOutChanged, this, &Page::readOutChanged);
    connect(workspace->selection(), &Selection::headChanged, this, &EigenvaluePanel::refresh);
    connect(workspace->model(), &OpenModel::resultsChanged, this, &EigenvaluePanel::refresh);
    connect(workspace->model(), &OpenModel::circuitsChanged, this, &EigenvaluePanel::refresh);
    connect(workspace->model(), &OpenModel::closed, this, &EigenvaluePanel::refresh);
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

QString EigenvaluePanel::scoreText(const std::vector<std::complex<double>>& values) const
{
    QString score = tr("Re Σλ / Σ|λ| = %1").arg(signedNumber(positivity(values)));
    const char* path = m_kind == CircuitKind::FullOv ? "scores/copying"
        : m_kind == CircuitKind::FullQk              ? "scores/matching"
                                                     : nullptr;
    const ResultArray* known = path ? workspace()->model()->results()->find(path) : nullptr;
    if (!known)
        return score;
    const LayerNull null = layerNull(*known, workspace()->selection()->head().layer);
    if (null.mean && null.deviation)
        score += tr("   null\u00a0%1\u00a0±\u00a0%2").arg(signedNumber(*null.mean), number(*null.deviation));
    else if (null.mean)
        score += tr("   null %1").arg(signedNumber(*null.mean));
    return score;
}

QString EigenvaluePanel::normalityText(const std::vector<std::complex<double>>& values) const
{
    constexpr double farFromNormal = 0.1; // as the analysis has it
    const ResultSet& results = *workspace()->model()->results();
    const std::string name(circuitName(m_kind));
    const ResultArray* norms = results.find("spectra/" + name + "/frobenius_norm");
    const HeadId head = workspace()->selection()->head();
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
                ". Far from normal: the eigenvalues describe little of this circuit, so the score is weak evidence.")
            : tr(
                ". Far from normal: the eigenvalues describe little of this circuit, so the score is weak evidence. The analysis “Normality of the circuits” gives the random baseline.");
    return words;
}

void EigenvaluePanel::recompute()
{
    m_score->clear();
    if (!workspace()->model()->isOpen())
        return m_picture->showMessage({});
    const std::string path = "eigenvalues/" + std::string(circuitName(m_kind));
    const ResultArray* array = workspace()->model()->results()->find(path);
    const auto values = headEigenvalues(array, workspace()->selection()->head());
    if (values.empty())
        return m_picture->showMessage(array ? tr("This circuit has no eigenvalues here.")
                                          : workspace()->model()->circuits()
                                          ? tr("The eigenvalues are being computed.")
                                          : tr("This session has no eigenvalues of this circuit."));
    m_picture->showPicture({.kind = Picture::Kind::Points,
                            .title = tr("Eigenvalues of %1").arg(text(circuitTitle(m_kind))).toStdString(),
                            .arrays = {path},
                            .polar = m_isPolar});
    const QString normality = normalityText(values);
    m_score->setText(scoreText(values) + (normality.isEmpty() ? QString() : u'\n' + normality));
}

QList<FigureSource*> EigenvaluePanel::figures()
{
    return workspace()->model()->isOpen() ? m_picture->figures() : QList<FigureSource*>();
}

} // namespace headwise::ui
