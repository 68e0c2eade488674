#include "ui/pages/prompt/prompt_page.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/pattern_grid.h"
#include "ui/document/about_model.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/first_prompt.h"
#include "ui/pages/parts/linked_hover.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/pages/prompt/head_pattern.h"
#include "ui/pages/prompt/logit_effects.h"
#include "ui/pages/prompt/prompt_answer.h"
#include "ui/widgets/job_bar.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace headwise::ui {

PromptPage::PromptPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_prompt(new QLineEdit(this))
    , m_run(new QPushButton(tr("Run"), this))
    , m_import(new QPushButton(tr("Import…"), this))
    , m_hidesFirst(new QCheckBox(tr("hide first token"), this))
    , m_weighs(new QCheckBox(tr("value-weighted"), this))
    , m_summary(new QLabel(this))
    , m_heads(new PatternGrid(this))
    , m_effects(new LogitEffects(workspace, this))
    , m_pattern(new HeadPattern(workspace, this))
{
    createLayout();
    connectSignals();
    reset();
}

void PromptPage::createLayout()
{
    m_prompt->setAccessibleName(tr("Prompt"));
    m_prompt->setToolTip(tr(
        "Text, to which the model's special tokens are added; without a tokenizer, ids such as #3 #5 #113"));
    m_prompt->setFont(tokenFont());
    m_prompt->setTextMargins(4, 0, 4, 0);
    makeSecondary(m_summary);
    m_heads->setAccessibleName(tr("Attention of every head"));
    m_heads->setToolTip(tr("Attention of every head; a click shows one large, Shift+click compares"));
    m_hidesFirst->setToolTip(
        tr("Hides position 0 (the attention sink) and rescales the colours to the rest"));
    m_weighs->setAccessibleName(tr("value-weighted"));
    m_weighs->setToolTip(tr(
        "Attention times ‖v W_O‖, the norm of the head's output from that position. Attention that moves nothing looks faint"));
    m_import->setAccessibleName(tr("Import attention"));
    m_import->setToolTip(tr(
        "Attention from another program for these tokens: a NumPy file or HDF5 dataset of shape [layers, heads, tokens, tokens], or of one layer"));
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_prompt, 1);
    controls->addWidget(m_run);
    controls->addWidget(m_import);
    controls->addWidget(m_hidesFirst);
    controls->addWidget(m_weighs);
    auto* all = new QSplitter(Qt::Vertical, this);
    all->setChildrenCollapsible(false);
    all->addWidget(m_heads);
    all->addWidget(m_effects);
    auto* parts = new QSplitter(this);
    parts->setChildrenCollapsible(false);
    parts->setHandleWidth(16);
    parts->addWidget(all);
    parts->addWidget(m_pattern);
    parts->setSizes({280, 520});
    parts->setStretchFactor(1, 1);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_summary, 1);
    bottom->addWidget(new TokenFilterButton(workspace(), TokenFilterButton::Role::Notice, this));
    bottom->addWidget(new JobBar(&m_job, this));
    bottom->addWidget(new JobBar(&m_importJob, this));
    bottom->addWidget(new JobBar(m_effects->job(), this));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(parts, 1);
    layout->addLayout(bottom);
}

void PromptPage::connectSignals()
{
    connect(m_run, &QPushButton::clicked, this, &PromptPage::runItself);
    connect(m_import, &QPushButton::clicked, this, &PromptPage::chooseFile);
    connect(m_prompt, &QLineEdit::returnPressed, this, &PromptPage::runItself);
    connect(m_hidesFirst, &QCheckBox::toggled, this, [this] {
        fitColors();
        showPatterns();
    });
    connect(m_weighs, &QCheckBox::toggled, this, &PromptPage::run);
    connect(workspace()->model(), &OpenModel::replaced, this, [this] {
        m_suggested.clear(); // The next model's own words come with reset().
        m_prompt->clear();
    });
    for (const auto signal : {&OpenModel::circuitsChanged, &OpenModel::closed})
        connect(workspace()->model(), signal, this, &PromptPage::reset);
    connect(workspace()->selection(), &Selection::headChanged, this, &PromptPage::showPattern);
    connect(workspace()->filteredTokens(), &FilteredTokens::changed, this, [this] {
        if (m_answer && workspace()->model()->circuits())
            m_effects->attribute(*m_answer);
    });
    connect(m_heads, &PatternGrid::headChosen, workspace()->selection(), &Selection::setHead);
    connect(m_heads, &PatternGrid::headReferenced, this,
            [this](HeadId head) { workspace()->selection()->setReference(head); });
    linkHover(m_heads, workspace()->selection());
    connect(m_heads, &PatternGrid::headHovered, this,
            [this](HeadId head) { emit readOutChanged(text(head)); });
    connect(m_heads, &PatternGrid::hoverLeft, this, [this] { emit readOutChanged({}); });
    for (Page* part : {static_cast<Page*>(m_effects), static_cast<Page*>(m_pattern)})
        connect(part, &Page::readOutChanged, this, &Page::readOutChanged);
    connect(m_pattern, &HeadPattern::scoreWanted, this, &PromptPage::scoreWanted);
}

void PromptPage::clear()
{
    m_answer.reset();
    m_importJob.cancel();
    m_summary->clear();
    m_heads->setPatterns(nullptr, nullptr);
    m_effects->clear();
    m_pattern->clear();
}

std::vector<ConfigField> PromptPage::neededFields()
{
    return forwardFields();
}

QString PromptPage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    return model.isOpen() && !model.hasModel() ? tr("A prompt needs the model's files.") : QString();
}

void PromptPage::reset()
{
    m_job.cancel();
    clear();
    const bool possible = workspace()->model()->circuits() != nullptr;
    m_prompt->setPlaceholderText(promptHint(*workspace()->model()));
    if (possible && m_prompt->text() == m_suggested) {
        m_suggested = firstPrompt(*workspace()->model());
        m_prompt->setText(m_suggested);
        m_prompt->setCursorPosition(0); // shows its beginning
    }
    m_prompt->setEnabled(possible);
    m_run->setEnabled(possible);
    m_import->setEnabled(possible);
    m_pattern->view()->onScreen().setMessage(possible ? tr("Type a prompt to see where this head looks.")
                                                      : whyNot(*workspace()));
    if (possible && isVisible())
        run();
}

void PromptPage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    if (!m_answer && !m_job.isRunning())
        run();
}

void PromptPage::runItself()
{
    ImportedAttention::of(workspace())->forget();
    run();
}

void PromptPage::run()
{
    if (!workspace()->model()->circuits() || m_prompt->text().isEmpty())
        return;
    using Found = std::shared_ptr<const PromptAnswer>;
    m_pattern->view()->onScreen().setPending(true);
    const PromptQuestion question{workspace()->model()->circuits(), workspace()->model()->tokenizer(),
                                  m_prompt->text().toStdString(), m_weighs->isChecked()};
    m_job.start(
        tr("Running the prompt"),
        aboutModel(question.circuits, [question](const Task& task) { return promptAnswer(question, task); }),
        [this](const Result<Found>& result) {
            m_pattern->view()->onScreen().setPending(false);
            if (!result) {
                clear();
                m_pattern->view()->setAccessibleDescription(text(result.error()));
                return m_pattern->view()->onScreen().setMessage(text(result.error()));
            }
            take(*result);
            m_effects->attribute(*m_answer);
            showKept();
        });
}

void PromptPage::take(std::shared_ptr<const PromptAnswer> answer)
{
    const bool wasWeighted = m_answer && m_answer->isWeighted;
    m_answer = std::move(answer);
    const QSignalBlocker quiet(m_weighs);
    m_weighs->setChecked(m_answer->isWeighted);
    m_weighs->setEnabled(!m_answer->imported); // imported attention has no value vectors
    if (m_answer->isWeighted != wasWeighted)
        fitColors();
    showPatterns();
}

void PromptPage::chooseFile()
{
    auto* dialog = new QFileDialog(this, tr("Import attention"), QString(),
                                   tr("Attention (*.npy *.h5 *.hdf5);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &PromptPage::importPatterns);
    dialog->open();
}

PatternSizes PromptPage::sizes() const
{
    const ModelCard& card = workspace()->model()->card();
    return {card.nLayers, card.nHeads, static_cast<int>(m_answer->tokens.size()),
            workspace()->selection()->head().layer};
}

std::vector<std::string> PromptPage::shownTokens() const
{
    std::vector<std::string> shown;
    for (const int token : m_answer->tokens)
        shown.push_back(workspace()->model()->tokenText(token).toStdString());
    return shown;
}

void PromptPage::importPatterns(const QString& fileName)
{
    if (m_answer)
        takePatterns([path = std::filesystem::path(fileName.toStdString()),
                      sizes = sizes()](const Task& task) { return readPatternFile(path, sizes, task); });
}

void PromptPage::showKept()
{
    const ImportedAttention::Array kept = ImportedAttention::of(workspace())->array();
    if (!kept)
        return;
    const auto labels = kept->attributes.find("labels");
    if (labels != kept->attributes.end() && labels->second == AttributeValue(shownTokens()))
        takePatterns([kept, sizes = sizes()](const Task&) { return patternsIn(*kept, sizes); });
}

void PromptPage::takePatterns(std::function<Result<PatternFile>(const Task&)> read)
{
    using Found = std::shared_ptr<const PromptAnswer>;
    m_importJob.start(
        tr("Importing attention"),
        [read = std::move(read), shown = shownTokens(), own = m_answer](const Task& task) -> Result<Found> {
            auto file = read(task);
            if (!file)
                return file.error();
            return withPatterns(*own, std::move(file).value(), shown);
        },
        [this, own = m_answer](const Result<Found>& result) {
            if (!result)
                return m_summary->setText(text(result.error()));
            if (own->tokens != (m_answer ? m_answer->tokens : std::vector<int>()))
                return; // the prompt has changed meanwhile
            ImportedAttention::of(workspace())->keep((*result)->imported);
            take(*result);
        });
}

int PromptPage::skipped() const
{
    return m_hidesFirst->isChecked() && m_answer && m_answer->smallWithoutFirst ? 1 : 0;
}

void PromptPage::fitColors()
{
    m_pattern->fitColors(m_hidesFirst->isChecked() || (m_answer && m_answer->isWeighted));
}

void PromptPage::showPatterns()
{
    if (!m_answer)
        return;
    const auto& small = skipped() > 0 ? m_answer->smallWithoutFirst : m_answer->small;
    const bool isFitted = skipped() > 0 || m_answer->isWeighted;
    float highest = isFitted ? 0.0F : 1.0F;
    if (isFitted)
        for (const auto& layer : *small)
            for (const Eigen::MatrixXf& pattern : layer)
                highest = std::max(highest, pattern.maxCoeff());
    m_heads->setPatterns(small, m_answer->patterns);
    m_heads->setHighest(highest > 0 ? highest : 1);
    showPattern();
}

void PromptPage::showPattern()
{
    if (!m_answer)
        return;
    const HeadId head = workspace()->selection()->head();
    m_heads->setCurrent(head);
    m_heads->setValueTitle(m_answer->valueTitle());
    m_pattern->setAnswer(m_answer, skipped());
    m_summary->setText(tr("%1 %2%3 · %4 tokens · likeliest next token %5")
                           .arg(text(head), m_answer->measure(), m_answer->origin())
                           .arg(m_answer->tokens.size())
                           .arg(workspace()->model()->tokenText(m_answer->likeliestNext)));
}

ViewFields PromptPage::viewFields()
{
    return ViewFields()
        .add("prompt", m_prompt)
        .add("without_first", m_hidesFirst)
        .add(
            "by_values", [this] { return m_weighs->isChecked(); },
            [this](const QJsonValue& weighs) {
                const QSignalBlocker quiet(m_weighs);
                m_weighs->setChecked(weighs.toBool());
            })
        .addPart("heatmap", m_pattern)
        .then([this] { run(); });
}

QList<FigureSource*> PromptPage::figures()
{
    QList<FigureSource*> figures = m_pattern->figures();
    if (figures.isEmpty())
        return {};
    describe(m_heads,
             (m_answer->isWeighted ? tr("Value-weighted attention of every head, %1")
                                   : tr("Attention of every head, %1"))
                 .arg(text(workspace()->model()->card().name) + m_answer->origin()));
    setSubject(m_heads, std::nullopt);
    figures.insert(1, m_heads); // behind the selected head's
    if (!m_answer->importedFrom.isEmpty())
        for (FigureSource* figure : figures)
            figure->setProvenance(figure->provenance()
                                  + Provenance{{QStringLiteral("attention"),
                                                tr("imported from %1").arg(m_answer->importedFrom)}});
    return figures + m_effects->figures();
}

} // namespace headwise::ui
