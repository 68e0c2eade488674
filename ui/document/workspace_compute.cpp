#include "ui/base/text.h"
#include "ui/document/about_model.h"
#include "ui/document/opened_model.h"
#include "ui/document/workspace.h"

#include <utility>

// Work done on the open model without being asked: processing and the token side.

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
    m_runs->stop();
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
    m_runs->forgetAnswers();
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
                              return m_runs->runNext();
                          emit tokensChanged();
                          readTokens(TokenParts::WithGrams);
                      });
}

void Workspace::queueDefaultAnalyses()
{
    const bool sameQuestion = m_session && m_processed && m_session->processing == m_processed->plan().applied
        && m_session->embedding == embeddingName(m_embedding);
    if (sameQuestion && !m_session->results.arrays.empty() && m_results->arrays.empty())
        setResults(m_session->results);
    if (m_results->arrays.empty() && m_runs->inputs().metric == ResidualMetric::Identity)
        m_firstNorms.start(m_circuits);
    m_runs->queueDefaults();
}

void Workspace::replaceResults(const Analysis& analysis, ResultSet results, bool wasAsked)
{
    const std::string folder = "analyses/" + std::string(analysis.id) + "/";
    ResultSet all = *m_results;
    std::erase_if(all.arrays, [&](const ResultArray& array) { return array.path.starts_with(folder); });
    all.merge(std::move(results));
    if (wasAsked)
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
