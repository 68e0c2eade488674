#include "core/analysis/residual_basis.h"
#include "core/analysis/run_estimate.h"
#include "ui/base/text.h"
#include "ui/document/about_model.h"
#include "ui/document/array_part.h"
#include "ui/document/estimate.h"
#include "ui/document/opened_model.h"
#include "ui/document/workspace.h"

#include <algorithm>
#include <utility>

// Work done on the open model without being asked: processing, token side, the analyses of all heads.

namespace headwise::ui {

Result<std::shared_ptr<const ProcessedWeights>>
Workspace::processedWeights(std::shared_ptr<const ModelWeights> weights, const ProcessingWish& wish,
                            const Task& task)
{
    return processedAs(wish, std::move(weights), task);
}

void Workspace::setEmbedding(Embedding embedding)
{
    if (embedding == m_embedding || !m_circuits)
        return;
    if (const std::string reason = whyNotEmbedding(m_circuits->config(), embedding); !reason.empty()) {
        emit embeddingChanged(); // back to what it is
        return emit failed(text(reason));
    }
    stopComputing();
    m_embedding = embedding;
    emit embeddingChanged();
    computeAgain();
}

void Workspace::setProcessingWish(const ProcessingWish& wish)
{
    if (wish == m_wish || !m_weights)
        return;
    m_processJob.start(
        tr("Processing the weights"),
        [weights = m_weights, wish](const Task& task) { return processedWeights(weights, wish, task); },
        [this, wish](const Result<std::shared_ptr<const ProcessedWeights>>& result) {
            if (!result)
                return emit failed(text(result.error()));
            stopComputing();
            m_wish = wish;
            m_processed = *result;
            m_circuits = std::make_shared<const Circuits>(m_processed);
            updateBanner();
            findLeftOut();
            emit circuitsChanged();
            computeAgain();
        });
}

void Workspace::stopComputing()
{
    m_queue.clear();
    m_asked.clear();
    emit waitingChanged();
    m_analysisJob.cancel();
    m_tokensJob.cancel();
    m_comparisonJob.cancel();
    m_firstNorms.stop();
    // Hundreds of megabytes: the system takes a while to get them back.
    detail::jobPool().start([last = std::exchange(m_tokens, nullptr)]() mutable { last.reset(); });
    m_tokensHaveGrams = false;
}

void Workspace::computeAgain()
{
    emit tokensChanged();
    m_askedWith.clear();
    m_resultRevision.forget();
    setResults({});
    startTokens();
    queueDefaultAnalyses();
}

void Workspace::startTokens()
{
    // Rows, tables and pictures need the matrices alone, which are there long before their Gram products.
    readTokens(TokenParts::MatricesAlone);
}

void Workspace::readTokens(TokenParts parts)
{
    m_tokensJob.start(parts == TokenParts::MatricesAlone ? tr("Reading the embeddings")
                                                         : tr("Multiplying the embeddings"),
                      aboutModel(m_circuits,
                                 [circuits = m_circuits, embedding = m_embedding, parts](const Task& task) {
                                     return tokenSide(*circuits, embedding, task, Precision::F32, parts);
                                 }),
                      [this, parts](const Result<std::shared_ptr<const TokenSide>>& result) {
                          if (!result)
                              return emit failed(text(result.error()));
                          m_tokens = *result;
                          m_tokensHaveGrams = parts == TokenParts::WithGrams;
                          if (m_tokensHaveGrams)
                              return runNext();
                          emit tokensChanged();
                          readTokens(TokenParts::WithGrams);
                      });
}

AnalysisOptions Workspace::analysisOptions() const
{
    AnalysisOptions options;
    options.embedding = m_embedding;
    options.unusedTokens = unusedTokens();
    options.inputs = inputs();
    return options;
}

AnalysisOptions Workspace::analysisOptions(const Analysis& analysis) const
{
    AnalysisOptions options = analysisOptions();
    const HeadChoice choice = headChoice(analysis);
    if (choice.which == HeadChoice::Which::Listed)
        options.heads = choice.listed;
    if (choice.which == HeadChoice::Which::Selected) {
        options.heads = {m_selection->head()};
        options.oneEndIsEnough = true; // with itself alone it makes no pair
    }
    return options;
}

void Workspace::queueDefaultAnalyses()
{
    m_queue.clear();
    const bool sameQuestion = m_session && m_processed && m_session->processing == m_processed->plan().applied
        && m_session->embedding == embeddingName(m_embedding);
    if (sameQuestion && !m_session->results.arrays.empty() && m_results->arrays.empty())
        setResults(m_session->results);
    // A session may have brought some of them along, or all.
    for (const Analysis* analysis : defaultAnalyses(m_circuits->config(), analysisOptions()))
        if (analysis->id != "tables" // The window asks for rows when it shows them.
            && !isComputed(*analysis, *m_results))
            m_queue.push_back(analysis);
    if (m_results->arrays.empty() && inputs().metric == ResidualMetric::Identity)
        m_firstNorms.start(m_circuits);
    runNext();
}

bool Workspace::isUnderWay(std::string_view id) const
{
    // After the running one was cancelled nothing goes on before something is asked for.
    if (!m_analysisJob.isRunning() && !m_tokensJob.isRunning() && !m_filterJob.isRunning())
        return false;
    const Analysis* analysis = findAnalysis(id);
    return std::find(m_queue.begin(), m_queue.end(), analysis) != m_queue.end()
        || (analysis && m_running == analysis && m_analysisJob.isRunning());
}

void Workspace::runAnalysis(std::string_view id, Asker asker)
{
    const Analysis* analysis = findAnalysis(id);
    if (!analysis || !m_circuits)
        return;
    if (asker == Asker::User && !analysis->isDefault)
        m_asked.insert(analysis);
    if (m_running == analysis && m_analysisJob.isRunning()) {
        if (m_runningWith == analysisOptions(*analysis))
            return;
        m_analysisJob.cancel(); // a newer question
    }
    // Requested analyses go before the default ones. A default analysis under way begins again afterwards.
    const std::vector<const Analysis*> unasked = defaultAnalyses(m_circuits->config(), analysisOptions());
    const bool needsTokens = needsTokenSide(*analysis, analysisOptions(*analysis));
    const bool canBegin = !needsTokens || m_tokensHaveGrams;
    if (canBegin && m_analysisJob.isRunning()
        && std::find(unasked.begin(), unasked.end(), m_running) != unasked.end()) {
        m_analysisJob.cancel();
        m_queue.push_front(m_running);
    }
    std::erase(m_queue, analysis);
    m_queue.insert(std::find_first_of(m_queue.begin(), m_queue.end(), unasked.begin(), unasked.end()),
                   analysis);
    emit waitingChanged();
    if (needsTokens && !m_tokensHaveGrams && !m_tokensJob.isRunning())
        startTokens(); // It had been cancelled.
    runNext();
}

void Workspace::removeWaiting(const Analysis& analysis)
{
    std::erase(m_queue, &analysis);
    m_asked.erase(&analysis);
    emit waitingChanged();
}

void Workspace::runNext()
{
    if (m_analysisJob.isRunning() || m_filterJob.isRunning() || m_queue.empty() || !m_circuits)
        return;
    const Analysis* analysis = m_queue.front();
    const AnalysisOptions options = analysisOptions(*analysis);
    if (needsTokenSide(*analysis, options) && !m_tokensHaveGrams)
        return; // readTokens() comes back here
    m_queue.pop_front();
    emit waitingChanged();
    if (!whyLeftOut(*analysis, m_circuits->config(), options).empty())
        return runNext();
    m_running = analysis;
    m_runningWith = options;
    m_analysisJob.start(
        withEstimate(text(analysis->title), runCost(*analysis, m_circuits->config(), options)),
        aboutModel(m_circuits,
                   [analysis, context = AnalysisContext{*m_circuits, m_tokens, options}](const Task& task) {
                       return runMeasured(*analysis, context, task);
                   }),
        [this, analysis, filter = m_tokenFilter](Result<ResultSet> result) {
            if (result) {
                ResultSet found = std::move(result).value();
                markFilter(found, filter);
                mergeResults(*analysis, std::move(found));
            } else
                emit failed(text(result.error()));
            runNext();
        });
}

void Workspace::mergeResults(const Analysis& analysis, ResultSet results)
{
    const std::string folder = "analyses/" + std::string(analysis.id) + "/";
    ResultSet all = *m_results;
    std::erase_if(all.arrays, [&](const ResultArray& array) { return array.path.starts_with(folder); });
    all.merge(std::move(results));
    m_askedWith[std::string(analysis.id)] = m_runningWith;
    if (m_asked.erase(&analysis) > 0)
        m_resultRevision.change();
    setResults(std::move(all));
}

void Workspace::setResults(ResultSet results)
{
    m_results = std::make_shared<const ResultSet>(std::move(results));
    if (!m_results->arrays.empty())
        m_firstNorms.stop();
    emit resultsChanged();
}

} // namespace headwise::ui
