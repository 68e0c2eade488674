#include "ui/pages/tokens/token_effect_panel.h"

#include "core/analysis/tokens/token_effect.h"
#include "core/circuits/token_table.h"
#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/document/head_metrics.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/pages/parts/head_grid.h"

#include <QLabel>
#include <QVBoxLayout>

#include <cmath>

namespace headwise::ui {

namespace {

constexpr int outputsRead = 5; // in the read-out

}

TokenEffectPanel::TokenEffectPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_title(new QLabel(this))
    , m_explanation(new QLabel(this))
    , m_fill(new FillButton(this))
    , m_panel(new HeadGrid(workspace, tr("Effect of attending to the token"), this))
{
    m_title->setFont(headingFont());
    m_title->setWordWrap(true);
    makeSecondary(m_explanation);
    m_explanation->setWordWrap(true);
    m_explanation->setText(tr(
        "Norm of the token's row of full OV, ‖e W_V W_O W_U‖: how far attending to it moves the logits. Click a head for its tables."));
    m_panel->view()->colors()->proposeScale(firstScale(false));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_title);
    layout->addWidget(m_explanation);
    layout->addWidget(m_fill, 0, Qt::AlignHCenter);
    layout->addWidget(m_panel, 1);
    connectSignals();
}

void TokenEffectPanel::connectSignals()
{
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace()->model(), signal, this, &TokenEffectPanel::refresh);
    connect(workspace()->selection(), &Selection::tokenChanged, this, &TokenEffectPanel::refresh);
    connect(m_panel, &HeadGrid::hoverLeft, this, [this] {
        m_hovered.reset();
        m_hoverJob.cancel();
        emit readOutChanged({});
    });
    connect(m_panel, &HeadGrid::headHovered, this, &TokenEffectPanel::readOut);
}

QString TokenEffectPanel::title() const
{
    return tr("Effect of attending to %1")
        .arg(workspace()->model()->tokenText(workspace()->selection()->token()));
}

void TokenEffectPanel::clear(const QString& message)
{
    m_job.cancel();
    m_hoverJob.cancel();
    m_panel->setValues(nullptr);
    m_panel->view()->onScreen().setMessage(message);
}

void TokenEffectPanel::recompute()
{
    m_hovered.reset();
    m_title->setText(workspace()->model()->isOpen() ? title() : QString());
    m_fill->offer(FillButton::lackOf(*workspace()));
    const auto tokens = workspace()->model()->tokens();
    if (!workspace()->model()->isOpen() || !workspace()->model()->circuits())
        return clear(tr("This needs the model's files."));
    if (!tokens)
        return clear(tr("Reading the embeddings…"));
    m_panel->view()->onScreen().setPending(true);
    m_job.start(title(),
                aboutModel(workspace()->model()->circuits(),
                           [circuits = workspace()->model()->circuits(), tokens,
                            token = workspace()->selection()->token()](const Task& task) {
                               return tokenEffect(*circuits, *tokens, token, task);
                           }),
                [this](const Result<Matrix<double>>& effect) {
                    if (!effect)
                        return clear(text(effect.error()));
                    m_panel->setValues(std::make_shared<const Eigen::MatrixXf>(effect->cast<float>()));
                });
}

QString TokenEffectPanel::numberOf(HeadId head) const
{
    const double value = m_panel->value(head);
    QString words = QStringLiteral("%1   ‖row‖ %2").arg(text(head), number(value));
    const ResultArray* norms = workspace()->model()->results()->find("spectra/full_ov/frobenius_norm");
    const double typical =
        norms ? metricAt(*norms, head) / std::sqrt(workspace()->model()->card().dVocab) : 0;
    if (typical > 0)
        words += tr("   %1 × the root mean square of all tokens").arg(number(value / typical));
    return words;
}

void TokenEffectPanel::readOut(HeadId head)
{
    if (head == m_hovered)
        return;
    m_hovered = head;
    const QString words = numberOf(head);
    emit readOutChanged(words);
    m_hoverJob.start(
        tr("Outputs of %1").arg(text(head)),
        aboutModel(workspace()->model()->circuits(),
                   [circuits = workspace()->model()->circuits(), tokens = workspace()->model()->tokens(),
                    token = workspace()->selection()->token(),
                    unused = workspace()->filteredTokens()->unused(),
                    head](const Task&) -> Result<TokenEnds> {
                       const auto line =
                           tokenLine(*circuits, *tokens, {CircuitKind::FullOv, head}, TableSide::Row, token);
                       if (!line)
                           return line.error();
                       return ends(*line, outputsRead, unused);
                   }),
        [this, words](const Result<TokenEnds>& found) {
            QStringList outputs;
            for (const TokenEntry& entry : found ? found->top : std::vector<TokenEntry>())
                outputs << workspace()->model()->tokenText(entry.id);
            if (m_hovered)
                emit readOutChanged(tr("%1   → %2").arg(words, outputs.join(u' ')));
        });
}

QList<FigureSource*> TokenEffectPanel::figures()
{
    if (!m_panel->view()->matrix())
        return {};
    describe(m_panel->view(), QStringLiteral("%1, %2").arg(title(), text(workspace()->model()->card().name)));
    setSubject(m_panel->view(), std::nullopt);
    return {m_panel->view()};
}

} // namespace headwise::ui
