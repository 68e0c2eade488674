#include "core/analysis/position/token_rows.h"

#include "core/analysis/selected_heads.h"

#include <algorithm>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index tokenRowsTokensPerBlock = 4096;

Result<RowVector<double>> meanRow(const TokenRows& tokens, int layer, const Task& task)
{
    RowVector<double> sum;
    for (Eigen::Index first = 0; first < tokens.count(); first += tokenRowsTokensPerBlock) {
        if (task.cancelled())
            return stopped();
        const Matrix<double> rows =
            tokens.rows(layer, first, std::min(tokenRowsTokensPerBlock, tokens.count() - first));
        if (first == 0)
            sum = RowVector<double>::Zero(rows.cols());
        sum += rows.colwise().sum();
    }
    return RowVector<double>(sum / static_cast<double>(tokens.count()));
}

} // namespace

TokenRows::TokenRows(ProcessedWeights weights, std::shared_ptr<const TokenSide> tokens)
    : m_weights(std::move(weights))
    , m_tokens(std::move(tokens))
{
}

Result<TokenRows> TokenRows::create(const AnalysisContext& context, const Task& task)
{
    std::shared_ptr<const TokenSide> tokens = context.tokens;
    if (!tokens && context.options.embedding != Embedding::Raw) {
        const auto made = tokenSide(context.circuits, context.options.embedding, withoutProgress(task),
                                    context.options.precision, TokenParts::MatricesAlone);
        if (!made)
            return made.error();
        tokens = *made;
    }
    return TokenRows(context.circuits.weights(), std::move(tokens));
}

Eigen::Index TokenRows::count() const
{
    return m_tokens ? m_tokens->E.rows() : m_weights.config().dVocab;
}

Matrix<double> TokenRows::rows(int layer, Eigen::Index first, Eigen::Index count) const
{
    if (!m_tokens)
        return m_weights.W_E<double>(first, count);
    const Matrix<double>& exact = m_tokens->isLayer0Special(layer) ? m_tokens->layer0E64 : m_tokens->E64;
    if (exact.size() > 0)
        return exact.middleRows(first, count);
    return m_tokens->embeddingOf(layer).middleRows(first, count).cast<double>();
}

Result<MeanTokens> meanTokens(const TokenRows& tokens, const Task& task)
{
    const auto later = meanRow(tokens, 1, task);
    if (!later)
        return later.error();
    if (!tokens.isLayer0Special())
        return MeanTokens{*later, *later};
    const auto layer0 = meanRow(tokens, 0, task);
    if (!layer0)
        return layer0.error();
    return MeanTokens{*layer0, *later};
}

} // namespace headwise
