#include "ui/document/workspace.h"

#include "core/base/log.h"
#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/document/imported_attention.h"

#include <algorithm>

namespace headwise::ui {

Workspace::Workspace(QObject* parent)
    : QObject(parent)
    , m_selection(std::make_unique<Selection>(*this))
    , m_notebook(std::make_unique<Notebook>(*m_selection))
    , m_runs(std::make_unique<Runs>(this))
{
    connect(m_runs.get(), &Runs::failed, this, &Workspace::failed);
    connect(m_runs.get(), &Runs::countsChanged, this, [this] {
        if (m_wantedFilter.lowestCount > 0)
            findLeftOut();
    });
    auto* imported = ImportedAttention::of(this); // there when the first session brings some
    connect(imported, &ImportedAttention::kept, this, [this] { m_resultRevision.change(); });
    for (const auto signal : {&Workspace::opened, &Workspace::closed})
        connect(this, signal, m_notebook->history(), &QUndoStack::clear);
}

Workspace::~Workspace() = default;

QStringList Workspace::warnings() const
{
    QStringList sentences;
    if (m_weights)
        for (const std::string& sentence : m_weights->warnings())
            sentences << text(sentence);
    if (m_processed) {
        for (const std::string& sentence : m_processed->plan().warnings)
            sentences << text(sentence);
    } else if (m_session) {
        for (const std::string& sentence : m_session->warnings)
            sentences << text(shownSpecialToken(sentence));
    }
    for (const std::string& sentence : m_results->warnings)
        sentences << text(sentence);
    return sentences;
}

Processing Workspace::processing() const
{
    return m_processed ? m_processed->plan().applied : m_session ? m_session->processing : Processing::none();
}

bool Workspace::isProcessed() const
{
    Processing steps = processing();
    steps.headChanges.clear();
    return steps != Processing::none();
}

QString Workspace::processingText() const
{
    const Processing applied = processing();
    QStringList steps;
    if (applied.foldLayerNorm)
        steps << tr("norms folded");
    if (applied.centerWritingWeights)
        steps << tr("writing weights centred");
    if (applied.centerUnembed)
        steps << tr("unembedding centred");
    if (applied.foldValueBiases)
        steps << tr("value biases folded");
    if (applied.refactorAttention)
        steps << tr("attention refactored");
    for (const HeadChange& change : applied.headChanges)
        steps << text(headChangeText(change));
    return steps.isEmpty() ? tr("raw weights") : steps.join(QStringLiteral(", "));
}

Provenance Workspace::provenance() const
{
    if (!m_card)
        return {};
    return {{QStringLiteral("model"), text(m_card->name)},
            {QStringLiteral("sha256"), text(m_card->sha256)},
            {QStringLiteral("head"), text(m_selection->head())},
            {QStringLiteral("processing"), processingText()},
            {QStringLiteral("embedding"), text(embeddingName(m_embedding))},
            {QStringLiteral("software"), QStringLiteral("headwise ") + text(versionText())}};
}

void Workspace::forgetInputs()
{
    m_runs->forget();
    m_wantedFilter = {};
    m_filterJob.cancel();
    m_tokenFilter = {};
    m_leftOut.clear();
    m_selection->clear();
}

void Workspace::updateBanner()
{
    if (m_readOnly)
        emit bannerChanged(tr(
            "This session was written by a newer Headwise. It is open read-only; what this version does not know is not shown."));
    else if (m_session && !m_circuits)
        emit bannerChanged(tr(
            "The model's files are not here. What the session holds is shown; the rest needs them. <a href=\"locate-model\">Locate model…</a> <a href=\"locate-model-file\">Locate model file…</a>"));
    else if (const auto changes = processing().headChanges; !changes.empty()) {
        QStringList words;
        for (const HeadChange& change : changes)
            words << text(headChangeText(change)).toHtmlEscaped();
        emit bannerChanged(
            tr("%1. What is shown is not the function of the model. <a href=\"undo-head-changes\">Undo</a>")
                .arg(words.join(QStringLiteral(", "))));
    } else if (lacksTokenizer())
        emit bannerChanged(tr(
            "This model has no tokenizer, so numbers stand for its tokens. <a href=\"add-tokenizer\">Add tokenizer…</a>"));
    else
        emit bannerChanged({});
}

QString Workspace::tokenText(int token) const
{
    if (!m_tokenizer)
        return QStringLiteral("#%1").arg(token);
    return text(m_tokenizer->shown(token));
}

} // namespace headwise::ui
