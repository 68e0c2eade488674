#include "ui/pages/prompt/logit_effects.h"

#include "core/analysis/catalogue.h"
#include "core/runs/plan.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/base/window_words.h"
#include "ui/document/head_metrics.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/head_grid.h"
#include "ui/pages/prompt/prompt_answer.h"
#include "ui/pictures/chart_titles.h"

#include <QLabel>
#include <QVBoxLayout>

#include <cmath>

namespace headwise::ui {

LogitEffects::LogitEffects(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_logit(new QLabel(this))
    , m_effects(new HeadGrid(workspace, tr("Effect of every head on the logit"), this))
{
    makeSecondary(m_logit);
    m_logit->setWordWrap(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_logit);
    layout->addWidget(m_effects, 1);
    connect(m_effects, &HeadGrid::headHovered, this, [this](HeadId head) {
        const double z = m_zScores.size() > 0 ? m_zScores(head.layer, head.head) : std::nan("");
        emit readOutChanged(tr("%1   %2 logits, z %3 among all tokens")
                                .arg(text(head), signedNumber(m_effects->value(head)), signedNumber(z)));
    });
    connect(m_effects, &HeadGrid::hoverLeft, this, [this] { emit readOutChanged({}); });
}

void LogitEffects::clear()
{
    m_job.cancel();
    m_logit->clear();
    m_effects->setValues(nullptr);
}

void LogitEffects::attribute(const PromptAnswer& answer)
{
    const Analysis* analysis = findAnalysis("logit_attribution");
    AnalysisOptions options;
    options.inputs.prompt = answer.tokens;
    options.inputs.tokenizer = workspace()->model()->tokenizer();
    options.unusedTokens = workspace()->filteredTokens()->unused();
    const std::string reason = whyLeftOut(*analysis, workspace()->model()->circuits()->config(), options);
    m_effects->setValues(nullptr);
    m_logit->setText(windowWords(text(reason)));
    if (!reason.empty())
        return m_job.cancel();
    m_logit->setText(tr("Direct effect of every head on the logit of %1 at the last position")
                         .arg(workspace()->model()->tokenText(answer.likeliestNext)));
    m_effects->view()->onScreen().setPending(true);
    m_job.start(
        tr("Attributing the logit"),
        [circuits = workspace()->model()->circuits(), analysis, options](const Task& task) {
            return analysis->run({*circuits, nullptr, options}, task);
        },
        [this](const Result<ResultSet>& results) { show(results); });
}

void LogitEffects::show(const Result<ResultSet>& results)
{
    m_effects->view()->onScreen().setPending(false);
    const ResultArray* heads = results ? results->find("analyses/logit_attribution/head") : nullptr;
    if (!heads)
        return m_logit->setText(text(results.error()));
    m_zScores = metricGrid(*results->find("analyses/logit_attribution/head_z"));
    auto grid = std::make_shared<Eigen::MatrixXf>(metricGrid(*heads));
    ColorScale scale;
    scale.map = ColorMap::Signed;
    m_effects->view()->colors()->proposeScale(scale);
    m_effects->view()->content()->setValueTitle(valueTitle(*heads));
    m_effects->setValues(std::move(grid));
}

QList<FigureSource*> LogitEffects::figures()
{
    HeatmapView* view = m_effects->view();
    if (!view->matrix())
        return {};
    describe(view, tr("%1, %2").arg(m_logit->text(), text(workspace()->model()->card().name)));
    setSubject(view, std::nullopt);
    return {view};
}

} // namespace headwise::ui
