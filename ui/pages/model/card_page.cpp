#include "ui/pages/model/card_page.h"

#include "core/runs/estimate.h"
#include "core/runs/plan.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/pages/parts/model_line.h"

#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>
#include <map>
#include <memory>

namespace headwise::ui {

namespace {

constexpr int nameWidth = 120; // px, so that the values of all parts stand below each other

/// Formats "F32 · 26 tensors", with the commonest format first.
QString storedText(const WeightMap& file)
{
    std::map<std::string_view, int> counts;
    for (const StoredTensor& tensor : file.tensors())
        ++counts[dtypeName(tensor.dtype)];
    std::vector<std::pair<int, std::string_view>> formats;
    formats.reserve(counts.size());
    for (const auto& [name, tensors] : counts)
        formats.emplace_back(-tensors, name);
    std::sort(formats.begin(), formats.end());
    QStringList words;
    for (const auto& [tensors, name] : formats)
        words << (tensors == -1 ? CardPage::tr("%1 · %2 tensor") : CardPage::tr("%1 · %2 tensors"))
                     .arg(text(name))
                     .arg(-tensors);
    return words.join(QStringLiteral(", "));
}

/// Describes the data held in memory once the model is open, and the data left in its files.
QString memoryText(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double sides = 4 * d * (static_cast<double>(config.dVocab) + config.dVocabOut) + 16 * d * d;
    const RunEstimate estimate = estimateRun(defaultAnalyses(config, options), config, options);
    return CardPage::
        tr("weights stay in their files and are read on demand; %1 for E, W_U and their products in float32; up to %2 while all heads are scored")
            .arg(modelDataSize(sides), modelDataSize(estimate.bytes));
}

void removeRows(QGridLayout* rows)
{
    while (const std::unique_ptr<QLayoutItem> item{rows->takeAt(0)})
        delete item->widget();
}

} // namespace

CardPage::CardPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_title(new QLabel(this))
    , m_rows(new QGridLayout)
    , m_notes(new QLabel(this))
    , m_report(new QGridLayout)
    , m_norms(new QGridLayout)
    , m_processing(new QLabel(this))
    , m_warnings(new QLabel(this))
    , m_fill(new FillButton(this))
    , m_complete(new QPushButton(tr("Complete config…"), this))
{
    makeHeading(m_title);
    for (QLabel* label : {m_notes, m_processing, m_warnings}) {
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    for (QGridLayout* rows : {m_rows, m_report, m_norms}) {
        rows->setColumnMinimumWidth(0, nameWidth);
        rows->setColumnStretch(1, 1);
        rows->setHorizontalSpacing(24);
        rows->setVerticalSpacing(6);
    }
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    const auto addHeading = [&](const QString& words) {
        auto* heading = new QLabel(words, content);
        makeHeading(heading);
        layout->addSpacing(16);
        layout->addWidget(heading);
    };
    layout->addWidget(m_title);
    layout->addLayout(m_rows);
    layout->addWidget(m_fill, 0, Qt::AlignLeft);
    addHeading(tr("Processing"));
    layout->addWidget(m_processing);
    addHeading(tr("Outside the circuits"));
    layout->addWidget(m_notes);
    addHeading(tr("Notes on this model"));
    layout->addWidget(m_warnings);
    layout->addWidget(m_complete, 0, Qt::AlignLeft);
    connect(m_complete, &QPushButton::clicked, workspace->opener(), &Opener::completeConfig);
    addHeading(tr("Loading report"));
    layout->addLayout(m_report);
    addHeading(tr("Norm weights as they act"));
    layout->addLayout(m_norms);
    layout->addStretch();
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(scroll);
    connect(workspace->model(), &OpenModel::opened, this, &CardPage::refresh);
    connect(workspace->model(), &OpenModel::circuitsChanged, this, &CardPage::refresh);
    connect(workspace->model(), &OpenModel::resultsChanged, this, &CardPage::refresh);
    connect(workspace->model()->steps(), &ModelSteps::tokenizerReplaced, this, &CardPage::refresh);
    refresh();
}

void CardPage::addRow(QGridLayout* rows, const QString& name, const QString& value)
{
    auto* field = new QLabel(value, this);
    field->setTextInteractionFlags(Qt::TextSelectableByMouse);
    field->setWordWrap(true);
    addRow(rows, name, field);
}

void CardPage::addRow(QGridLayout* rows, const QString& name, QWidget* field)
{
    auto* label = new QLabel(name, this);
    makeSecondary(label);
    const int row = rows->count() / 2;
    rows->addWidget(label, row, 0, Qt::AlignTop);
    rows->addWidget(field, row, 1);
}

void CardPage::refresh()
{
    removeRows(m_rows);
    m_fill->offer(FillButton::lackOf(*workspace(), true));
    const auto weights = workspace()->model()->weights();
    m_complete->setVisible(weights && !weights->config().unknown.empty());
    if (!workspace()->model()->isOpen())
        return;
    const ModelCard& card = workspace()->model()->card();
    m_title->setText(text(card.name));
    addRow(m_rows, tr("Architecture"), text(card.architecture));
    addRow(m_rows, tr("Layers × heads"), QStringLiteral("%1 × %2").arg(card.nLayers).arg(card.nHeads));
    if (!workspace()->model()->isSeries()) // it has no other facts
        addSizes(card);
    m_processing->setText(processingText(workspace()->model()->processing()));
    const QStringList sentences = warningsOf(*workspace()->model());
    m_warnings->setText(sentences.isEmpty() ? tr("Nothing was skipped or ignored.") : sentences.join(u'\n'));
    if (weights != m_weights || !m_weights)
        showReport();
}

void CardPage::addSizes(const ModelCard& card)
{
    if (card.nKvHeads != card.nHeads)
        addRow(m_rows, tr("Key/value heads"),
               tr("%1, each read by %2 query heads").arg(card.nKvHeads).arg(card.nHeads / card.nKvHeads));
    addRow(m_rows, tr("d_model, d_head"),
           QStringLiteral("%1, %2").arg(count(card.dModel), count(card.dHead)));
    addRow(m_rows, tr("d_mlp"), card.dMlp > 0 ? count(card.dMlp) : tr("none: attention only"));
    addRow(m_rows, tr("Vocabulary, context"),
           card.nCtx > 0 ? tr("%1 tokens, %2 positions").arg(count(card.dVocab), count(card.nCtx))
                         : tr("%1 tokens, unknown context").arg(count(card.dVocab)));
    addRow(m_rows, tr("Positions"), text(card.positional));
    addRow(m_rows, tr("Normalisation"), text(card.normalization));
    addRow(m_rows, tr("Tokenizer"),
           workspace()->model()->tokenizer() ? tr("yes") : tr("none; tokens are shown by their ids"));
    addRow(m_rows, tr("Source"), text(card.source));
    auto* fingerprint = new QLineEdit(tr("sha256 %1").arg(text(card.sha256)), this);
    fingerprint->setReadOnly(
        true); // selectable as a whole, and no word that makes the page wider than the window
    fingerprint->setFrame(false);
    fingerprint->setCursorPosition(0);
    fingerprint->setToolTip(fingerprint->text());
    fingerprint->setAccessibleName(tr("Fingerprint"));
    addRow(m_rows, tr("Fingerprint"), fingerprint);
}

void CardPage::showReport()
{
    for (QGridLayout* rows : {m_report, m_norms})
        removeRows(rows);
    m_normsJob.cancel();
    m_weights = workspace()->model()->weights();
    if (!m_weights) {
        m_notes->setText(tr("This needs the model's files; use File → Locate model…"));
        addRow(m_report, tr("Tensors"), m_notes->text());
        return addRow(m_norms, tr("Norms"), m_notes->text());
    }
    QStringList notes;
    for (const std::string& note : circuitNotes(m_weights->config()))
        notes << text(note);
    m_notes->setText(notes.isEmpty() ? tr("Only the attention scale and the biases.") : notes.join(u'\n'));
    const LoadReport report = loadReport(*m_weights);
    addRow(m_report, tr("Used"),
           tr("%1 of %2 tensors, %3 bytes")
               .arg(report.usedCount)
               .arg(report.uses.size())
               .arg(count(report.usedBytes)));
    addRow(m_report, tr("Stored as"), storedText(m_weights->file()));
    addRow(m_report, tr("Memory plan"),
           memoryText(m_weights->config(), workspace()->runs()->analysisOptions()));
    for (const IgnoredTensors& group : report.ignored)
        addRow(
            m_report, tr("Ignored"),
            (group.names.size() == 1 ? tr("%1 tensor, %2 bytes: %3; %4") : tr("%1 tensors, %2 bytes: %3; %4"))
                .arg(group.names.size())
                .arg(count(group.bytes), text(group.why), text(group.names.front())));
    addRow(m_report, tr("Embeddings"), text(report.embeddings));
    QStringList assumed;
    for (const AssumedKey& key : m_weights->assumed())
        assumed << QStringLiteral("%1 = %2").arg(text(key.key), text(key.value));
    if (!assumed.isEmpty())
        addRow(m_report, tr("Assumed, not stated"), assumed.join(QStringLiteral(", ")));
    for (const ConfigCheck& check : report.checks)
        addRow(m_report, text(check.what),
               check.config.empty()
                   ? tr("tensors %1; the config does not say").arg(text(check.tensors))
                   : (check.agrees ? tr("config %1 = tensors %2") : tr("config %1 ≠ tensors %2"))
                         .arg(text(check.config), text(check.tensors)));
    m_normsJob.start(
        tr("Reading the norms"),
        [weights = m_weights](const Task&) -> Result<std::vector<NormFactors>> {
            return normFactors(*weights);
        },
        [this](const Result<std::vector<NormFactors>>& norms) {
            if (norms)
                showNorms(*norms);
        });
}

void CardPage::showNorms(const std::vector<NormFactors>& norms)
{
    if (norms.empty())
        return addRow(m_norms, tr("Norms"), tr("have no weights"));
    for (const NormFactors& norm : norms)
        addRow(m_norms, text(norm.name),
               tr("%1 × %2: %3 to %4, mean %5")
                   .arg(norm.count)
                   .arg(text(norm.formula), number(norm.minimum), number(norm.maximum), number(norm.mean)));
}

} // namespace headwise::ui
