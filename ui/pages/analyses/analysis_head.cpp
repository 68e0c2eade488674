#include "ui/pages/analyses/analysis_head.h"

#include "core/analysis/residual_basis.h"
#include "core/runs/estimate.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/pages/analyses/analysis_list.h"
#include "ui/pages/analyses/verified_text.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/widgets/wrapped_label.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QWhatsThis>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

QString sizeText(double bytes)
{
    if (bytes < 1e6)
        return AnalysisHead::tr("%1 kB").arg(std::max(1.0, std::round(bytes / 1e3)));
    return bytes < 1e9 ? AnalysisHead::tr("%1 MB").arg(std::round(bytes / 1e6))
                       : AnalysisHead::tr("%1 GB").arg(number(bytes / 1e9));
}

} // namespace

AnalysisHead::AnalysisHead(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_analysis(&catalogue().front())
    , m_title(new WrappedLabel(this))
    , m_details(new QWidget(this))
    , m_cost(new QLabel(m_details))
    , m_state(new QLabel(m_details))
    , m_run(new QPushButton(tr("Run"), this))
    , m_verify(new QPushButton(tr("Verify on random tokens"), this))
    , m_verified(new WrappedLabel(this))
    , m_fill(new FillButton(this))
    , m_explain(new QToolButton(this))
{
    createLayout();
    createDetails();
    connect(m_explain, &QToolButton::clicked, this, &AnalysisHead::explain);
    connect(m_run, &QPushButton::clicked, this, &AnalysisHead::runWanted);
    connect(m_verify, &QPushButton::clicked, this,
            [this] { this->workspace()->runs()->runAnalysis(m_analysis->verifiedBy); });
}

void AnalysisHead::createLayout()
{
    makeHeading(m_title);
    makeSecondary(m_verified);
    for (QLabel* label : {m_title, m_verified})
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_run->setAccessibleName(tr("Run this analysis"));
    m_explain->setText(QStringLiteral("?"));
    m_explain->setToolTip(tr("Explain this analysis: formula and source"));
    auto* layout = new QGridLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setHorizontalSpacing(16);
    layout->setVerticalSpacing(4);
    layout->addWidget(m_title, 0, 0);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    for (QWidget* button : std::initializer_list<QWidget*>{m_fill, m_run, m_explain})
        buttons->addWidget(button);
    layout->addLayout(buttons, 0, 1, Qt::AlignRight | Qt::AlignTop);
    auto* verify = new QHBoxLayout; // a line of its own: the answer is as long as the title
    verify->setSpacing(16);
    verify->addWidget(m_verify);
    verify->addWidget(m_verified, 1);
    layout->addLayout(verify, 1, 0, 1, 2);
    layout->setColumnStretch(0, 1);
}

void AnalysisHead::createDetails()
{
    for (QLabel* label : {m_cost, m_state}) {
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        makeSecondary(label);
    }
    keepPlace(m_state);
    auto* layout = new QGridLayout(m_details);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setHorizontalSpacing(16);
    layout->setVerticalSpacing(4);
    layout->addWidget(m_cost, 0, 0, 1, 2);
    layout->addWidget(m_state, 1, 0);
    layout->addWidget(new TokenFilterButton(workspace(), TokenFilterButton::Role::Notice, m_details), 1, 1,
                      Qt::AlignRight | Qt::AlignTop);
    layout->setColumnStretch(0, 1);
}

void AnalysisHead::explain()
{
    QString words = QStringLiteral("<p><b>%1</b></p>").arg(text(m_analysis->title).toHtmlEscaped());
    for (const QString& line :
         {text(m_analysis->formula), text(m_analysis->citation), explainedNumber(*m_analysis)})
        if (!line.isEmpty())
            words += QStringLiteral("<p>%1</p>").arg(line.toHtmlEscaped());
    QWhatsThis::showText(m_explain->mapToGlobal(QPoint(0, m_explain->height())), words, m_explain);
}

bool AnalysisHead::isComputedNow() const
{
    return workspace()->model()->isOpen() && isComputed(*m_analysis, *workspace()->model()->results());
}

bool AnalysisHead::isStale() const
{
    const auto asked = workspace()->runs()->askedWith(m_analysis->id);
    if (!asked || !isComputed(*m_analysis, *workspace()->model()->results()))
        return false;
    if (asked->heads != workspace()->runs()->analysisOptions(*m_analysis).heads)
        return true;
    const std::string_view everyToken = m_analysis->everyToken; // another is another row of what is there
    const bool hasAllTokens = !everyToken.empty() && workspace()->model()->results()->find(everyToken);
    return areAboutOthers(*m_analysis, asked->inputs, workspace()->runs()->inputs(), hasAllTokens);
}

bool AnalysisHead::isOtherwiseFiltered() const
{
    const ResultSet& results = *workspace()->model()->results();
    if (!workspace()->model()->hasModel() || !isComputed(*m_analysis, results))
        return false;
    const std::string now = filterName(workspace()->filteredTokens()->filter());
    return std::any_of(results.arrays.begin(), results.arrays.end(), [&](const ResultArray& array) {
        return followsFilter(array) && belongsTo(array, *m_analysis) && filterOf(array) != now;
    });
}

QString AnalysisHead::staleText() const
{
    if (isStale())
        return tr("These results are for other inputs. Run the analysis again.");
    if (!isOtherwiseFiltered())
        return {};
    return workspace()->filteredTokens()->filter().isOn()
        ? tr("These results were computed with another token filter. Run the analysis again.")
        : tr("These results are for filtered tokens. Run the analysis again for all tokens.");
}

QString AnalysisHead::missingText() const
{
    const QString head = text(workspace()->selection()->head());
    return workspace()->runs()->analysisOptions(*m_analysis).heads.empty()
        ? tr("It has no result for %1. Select another head; analyses of the embedding cover layer 0 only.")
              .arg(head)
        : tr("These results do not include %1. Choose it under Heads and run the analysis again.").arg(head);
}

QString AnalysisHead::costText() const
{
    if (!workspace()->model()->hasModel())
        return {};
    const AnalysisCost cost = runCost(*m_analysis, workspace()->model()->circuits()->config(),
                                      workspace()->runs()->analysisOptions(*m_analysis));
    const double seconds = estimatedSeconds(cost.work(), coresOf(0));
    const QString time = seconds < 1
        ? tr("less than a second")
        : tr("about %1").arg(duration(std::chrono::milliseconds(static_cast<qint64>(seconds * 1000))));
    return tr("%1 floating-point operations, %2; %3 of memory")
        .arg(number(cost.flops), time, sizeText(cost.bytes));
}

QString AnalysisHead::metricText() const
{
    const ResultSet& results = *workspace()->model()->results();
    for (const Picture& picture : m_analysis->pictures) {
        for (const std::string& path : picture.arrays) {
            const ResultArray* array = results.find(path);
            const bool isOwn = path.find(m_analysis->id) != std::string::npos; // belongs to this analysis
            if (isOwn && array && isInEmbeddingMetric(*array))
                return tr("Norms use the embedding covariance.");
        }
    }
    return m_analysis->followsMetric && isComputed(*m_analysis, results)
        ? tr("Norms use the identity metric.")
        : QString();
}

void AnalysisHead::showVerified()
{
    m_verify->setVisible(!m_analysis->verifiedBy.empty() && isComputedNow()
                         && workspace()->model()->hasModel());
    m_verify->setToolTip(
        tr("Runs the model on repeated random tokens and compares its attention with the weights"));
    m_verified->setText(m_verify->isHidden() ? QString()
                                             : verifiedText(*workspace()->model()->results(),
                                                            workspace()->selection()->head()));
}

void AnalysisHead::show(const Analysis& analysis, bool lacksHead)
{
    m_analysis = &analysis;
    m_title->setText(text(analysis.title));
    m_title->setToolTip(explainedNumber(analysis));
    m_explain->setAccessibleName(tr("Explain: %1").arg(text(analysis.title)));
    m_cost->setText(costText());
    m_cost->setVisible(!m_cost->text().isEmpty());
    const QString why = whyNotNow(analysis, *workspace());
    m_run->setText(isComputedNow() ? tr("Run again") : tr("Run"));
    m_run->setEnabled(why.isEmpty());
    m_run->setToolTip(why);
    showVerified();
    const QString missing = lacksHead ? missingText() : QString();
    QStringList states{why, missing, staleText(), metricText()};
    states.removeAll(QString());
    m_state->setText(states.value(0));
    m_state->setVisible(!states.isEmpty());
    m_emptyText = !why.isEmpty() ? why
        : lacksHead              ? missing
        : workspace()->runs()->job()->isRunning()
        ? tr("Computing…")
        : tr("Not computed yet. Press Run. The results are saved with the session.");
    m_fill->offer(FillButton::lackOf(*workspace(), analysis.needs.tokenizer));
}

} // namespace headwise::ui
