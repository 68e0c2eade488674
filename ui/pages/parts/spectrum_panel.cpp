#include "ui/pages/parts/spectrum_panel.h"

#include "core/analysis/residual_basis.h"
#include "core/circuits/shared_spectra.h"
#include "core/circuits/spectrum.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/document/head_metrics.h"
#include "ui/pages/parts/picture_panel.h"

#include <QLabel>
#include <QVBoxLayout>

#include <cmath>

namespace headwise::ui {

namespace {

std::string pathOf(CircuitKind kind)
{
    return "spectra/" + std::string(circuitName(kind)) + "/singular_values";
}

} // namespace

SpectrumPanel::SpectrumPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_picture(new PicturePanel(workspace, Picture::Kind::Lines, tr("Singular values"), this))
    , m_measures(new QLabel(this))
{
    makeSecondary(m_measures);
    m_measures->setWordWrap(true);
    m_measures->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_picture, 1);
    layout->addWidget(m_measures);
    connect(m_picture, &Page::readOutChanged, this, &Page::readOutChanged);
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

void SpectrumPanel::setLogarithmic(bool on)
{
    m_look.logY = on;
    refresh();
}

void SpectrumPanel::setNormalized(bool on)
{
    m_look.overFirst = on;
    refresh();
}

void SpectrumPanel::clear(const QString& message)
{
    m_measures->clear();
    m_picture->showMessage(message);
}

void SpectrumPanel::recompute()
{
    m_job.cancel();
    if (!workspace()->model()->isOpen())
        return clear({});
    std::map<CircuitKind, std::vector<double>> sigma;
    std::vector<CircuitKind> missing;
    for (const CircuitKind kind : m_kinds) {
        std::vector<double> values =
            headSeries(workspace()->model()->results()->find(pathOf(kind)), workspace()->selection()->head());
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
                               const HeadFactors factors(circuits->weights(), head);
                               SharedSpectra spectra(*circuits, nullptr, SharedSpectra::Keep::Groups);
                               for (const CircuitKind kind : missing) {
                                   auto values = spectra.singularValues(kind, factors);
                                   if (!values)
                                       return values.error();
                                   sigma[kind] = std::move(values).value();
                               }
                               return sigma;
                           }),
                [this](const Result<Answer>& sigma) {
                    if (sigma)
                        show(*sigma);
                    else
                        clear(text(sigma.error()));
                });
}

void SpectrumPanel::show(const std::map<CircuitKind, std::vector<double>>& sigma)
{
    if (sigma.empty())
        return clear(workspace()->model()->circuits()
                         ? tr("The singular values are being computed.")
                         : tr("This session has no singular values of these circuits."));
    Picture picture = m_look;
    picture.kind = Picture::Kind::Lines;
    picture.title = tr("Singular values").toStdString();
    ResultSet results;
    QStringList measures;
    for (const auto& [kind, values] : sigma) {
        picture.arrays.push_back(pathOf(kind));
        results.arrays.push_back(shownArray(pathOf(kind), Axis::SingularValue, values));
        measures << measuresOf(kind, values);
    }
    m_picture->showPicture(picture, std::move(results));
    measures << m_picture->caption();
    measures.removeAll(QString());
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
        tr("%1: ‖·‖ %2, effective rank %3, stable rank %4, 90\u00a0% of the energy in %5")
            .arg(text(circuitTitle(kind)), withNull(ranks.frobeniusNorm, folder + "frobenius_norm"),
                 withNull(ranks.effectiveRank, folder + "effective_rank"),
                 withNull(ranks.stableRank, folder + "stable_rank"),
                 ranks.k90 == 1 ? tr("1 direction") : tr("%1 directions").arg(ranks.k90));
    const ResultArray* norm =
        results.find(folder + "frobenius_norm"); // NaN where this head was not asked for
    return norm && isInEmbeddingMetric(*norm)
            && std::isfinite(metricAt(*norm, workspace()->selection()->head()))
        ? tr("%1; norms use the embedding covariance").arg(line)
        : line;
}

QList<FigureSource*> SpectrumPanel::figures()
{
    return workspace()->model()->isOpen() ? m_picture->figures() : QList<FigureSource*>();
}

} // namespace headwise::ui
