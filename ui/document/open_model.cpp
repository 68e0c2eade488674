#include "ui/document/open_model.h"

#include "core/session/kept_figures.h"
#include "core/session/session_file.h"
#include "core/tokenizer/token_search.h"
#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/base/window_words.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace headwise::ui {

namespace {

/// Returns the wish that makes `applied` again.
ProcessingWish wishOf(const Processing& applied)
{
    const auto wish = [](bool on) { return on ? StepWish::Default : StepWish::Off; };
    ProcessingWish again{wish(applied.foldLayerNorm), wish(applied.centerWritingWeights),
                         wish(applied.centerUnembed), wish(applied.foldValueBiases),
                         applied.refactorAttention ? StepWish::Required : StepWish::Off};
    again.headChanges = applied.headChanges;
    return again;
}

void stopComputing(OpenModel& model)
{
    emit model.steps()->computingStopped();
    model.tokenReader()->stop();
}

/// Token side and the default analyses, from nothing.
void computeAgain(OpenModel& model)
{
    emit model.tokensChanged();
    emit model.steps()->resultsDropped();
    model.revision().forget();
    model.setResults({});
    model.compute();
}

} // namespace

OpenModel::OpenModel()
{
    connect(&m_tokenReader, &TokenReader::matricesReady, this, &OpenModel::tokensChanged);
    connect(&m_tokenReader, &TokenReader::failed, this, &OpenModel::failed);
}

QString OpenModel::tokenText(int token) const
{
    return text(shownToken(m_files.tokenizer.get(), token));
}

Processing OpenModel::processing() const
{
    return m_files.processed ? m_files.processed->plan().applied
        : m_session          ? m_session->processing
                             : Processing::none();
}

void OpenModel::setEmbedding(Embedding embedding)
{
    if (embedding == m_embedding || !m_circuits)
        return;
    if (const std::string reason = whyNotEmbedding(m_circuits->config(), embedding); !reason.empty()) {
        emit embeddingChanged(); // Pages show the old one again.
        return emit failed(windowWords(text(reason)));
    }
    stopComputing(*this);
    m_embedding = embedding;
    emit embeddingChanged();
    computeAgain(*this);
}

void OpenModel::setProcessingWish(const ProcessingWish& wish)
{
    if (wish == m_wish || !m_files.weights)
        return;
    m_processJob.start(
        tr("Processing the weights"),
        [weights = m_files.weights, wish](const Task& task) { return processedAs(wish, weights, task); },
        [this, wish](const Result<std::shared_ptr<const ProcessedWeights>>& result) {
            if (!result)
                return emit failed(text(result.error()));
            stopComputing(*this);
            m_wish = wish;
            m_files.processed = *result;
            m_circuits = std::make_shared<const Circuits>(m_files.processed);
            announceCircuits();
            computeAgain(*this);
        });
}

void OpenModel::setResults(ResultSet results)
{
    m_results = std::make_shared<const ResultSet>(std::move(results));
    emit resultsChanged();
}

void OpenModel::setModel(const OpenedModel& opened, const ProcessingWish& wish, Embedding embedding)
{
    stopComputing(*this);
    m_isSeries = false;
    m_wish = wish;
    m_embedding = embedding;
    m_files = opened;
    m_circuits = std::make_shared<const Circuits>(m_files.processed);
    m_card = modelCard(*m_files.weights);
}

void OpenModel::setSession(const OpenedSession& opened)
{
    stopComputing(*this);
    m_processJob.cancel();
    freeLater(m_files.weights);
    freeLater(m_files.processed);
    freeLater(m_circuits);
    m_files = {{}, nullptr, nullptr, opened.tokenizer, opened.unused, {}};
    m_results = opened.results;
    m_session = opened.session;
    m_isSeries = opened.isSeries;
    m_card = m_session->model;
    for (std::string* words :
         {&m_card->name, &m_card->architecture, &m_card->positional, &m_card->normalization})
        *words = shownSpecialToken(*words);
    m_revision.forget();
    m_wish = wishOf(m_session->processing);
    m_embedding = parseEmbedding(m_session->embedding).value_or(Embedding::Raw);
}

void OpenModel::setTokenizer(std::shared_ptr<const Tokenizer> tokenizer)
{
    m_files.tokenizer = std::move(tokenizer);
    std::vector<bool> missing = unusedIds(*m_files.tokenizer, m_card->dVocab);
    const auto isMissing = [](bool id) { return id; };
    // Tables leave out ids without a token, so results stay right only if these are the same.
    const bool areSameIds = m_files.unused.empty() ? std::none_of(missing.begin(), missing.end(), isMissing)
                                                   : missing == m_files.unused;
    m_files.unused = std::move(missing);
    announceCircuits();
    emit m_steps.tokenizerReplaced();
    if (areSameIds || !m_circuits)
        return emit tokensChanged();
    stopComputing(*this);
    computeAgain(*this);
}

void OpenModel::forgetSession()
{
    m_session.reset();
    m_revision.forget();
    m_processJob.cancel();
    m_results = std::make_shared<ResultSet>();
}

std::shared_ptr<const void> OpenModel::clear()
{
    m_processJob.cancel();
    stopComputing(*this);
    m_card.reset();
    m_isSeries = false;
    m_revision.forget();
    std::tuple last(std::exchange(m_files, {}), std::exchange(m_circuits, nullptr),
                    std::exchange(m_session, nullptr),
                    std::exchange(m_results, std::make_shared<const ResultSet>()));
    return std::make_shared<const decltype(last)>(std::move(last));
}

void OpenModel::announceCircuits()
{
    emit m_steps.circuitsReplaced();
    emit circuitsChanged();
}

void OpenModel::compute()
{
    m_tokenReader.start(m_circuits, m_embedding);
    emit m_steps.computingStarts();
    const bool isSameQuestion = m_session && m_session->processing == m_files.processed->plan().applied
        && m_session->embedding == embeddingName(m_embedding);
    if (isSameQuestion && !m_session->results.arrays.empty() && m_results->arrays.empty())
        setResults(m_session->results); // Pages may ask for more when they see them.
    emit m_steps.computingStarted();
}

void OpenModel::copyFrom(const OpenModel& other)
{
    m_card = other.m_card;
    m_files = other.m_files;
    m_circuits = other.m_circuits;
    m_tokenReader.copyFrom(other.m_tokenReader);
    m_results = other.m_results;
    m_session = other.m_session;
    m_isSeries = other.m_isSeries;
    m_embedding = other.m_embedding;
    m_wish = other.m_wish;
}

QString bannerText(const OpenModel& model)
{
    if (model.session() && model.session()->formatVersion > sessionFormatVersion)
        return OpenModel::tr(
            "This session was written by a newer Headwise. It is open read-only. Newer content is not shown.");
    if (model.isSeries())
        return OpenModel::tr(
            "No checkpoint of this series is open, so you see its scores only. “Open this step” on the Training page opens one.");
    if (model.session() && !model.hasModel())
        return OpenModel::tr(
            "The model's files were not found. You see what the session holds; the rest needs them. <a href=\"locate-model\">Locate model…</a> <a href=\"locate-model-file\">Locate model file…</a>");
    if (const auto changes = model.processing().headChanges; !changes.empty()) {
        QStringList words;
        for (const HeadChange& change : changes)
            words << text(headChangeText(change)).toHtmlEscaped();
        return OpenModel::
            tr("%1. Results differ from those of the original model. <a href=\"undo-head-changes\">Undo</a>")
                .arg(words.join(QStringLiteral(", ")));
    }
    if (model.isOpen() && !model.tokenizer())
        return OpenModel::tr(
            "This model has no tokenizer, so tokens are shown as ids. <a href=\"add-tokenizer\">Add tokenizer…</a>");
    return {};
}

QStringList warningsOf(const OpenModel& model)
{
    QStringList sentences;
    const auto add = [&sentences](const std::vector<std::string>& warnings) {
        for (const std::string& sentence : warnings)
            sentences << windowWords(text(sentence));
    };
    if (model.weights())
        add(model.weights()->warnings());
    if (model.circuits()) {
        add(model.circuits()->weights().plan().warnings);
    } else if (model.session()) {
        for (const std::string& sentence : model.session()->warnings)
            sentences << windowWords(text(shownSpecialToken(sentence)));
    }
    if (model.session())
        if (const auto figures = parseKeptFigures(model.session()->figures, "this session"); !figures)
            sentences << windowWords(text(shownSpecialToken(figures.error().message)));
    add(model.results()->warnings);
    return sentences;
}

QString processingText(const Processing& applied)
{
    QStringList steps;
    if (applied.foldLayerNorm)
        steps << OpenModel::tr("norms folded");
    if (applied.centerWritingWeights)
        steps << OpenModel::tr("writing weights centred");
    if (applied.centerUnembed)
        steps << OpenModel::tr("unembedding centred");
    if (applied.foldValueBiases)
        steps << OpenModel::tr("value biases folded");
    if (applied.refactorAttention)
        steps << OpenModel::tr("attention refactored");
    for (const HeadChange& change : applied.headChanges)
        steps << text(headChangeText(change));
    return steps.isEmpty() ? OpenModel::tr("raw weights") : steps.join(QStringLiteral(", "));
}

bool isProcessed(const Processing& applied)
{
    Processing steps = applied;
    steps.headChanges.clear();
    return steps != Processing::none();
}

} // namespace headwise::ui
