#include "core/analysis/position/token_rows.h"

#include "core/analysis/selected_heads.h"

#include <algorithm>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index tokenRowsTokensPerBlock = 4096;

Result<RowVector<double>> meanRow(const TokenMatrix& E, const Task& task)
{
    RowVector<double> sum;
    for (Eigen::Index first = 0; first < E.count(); first += tokenRowsTokensPerBlock) {
        if (task.cancelled())
            return stopped();
        const auto rows = E.block<double>(first, std::min(tokenRowsTokensPerBlock, E.count() - first));
        if (first == 0)
            sum = RowVector<double>::Zero(rows->cols());
        sum += rows->colwise().sum();
    }
    return RowVector<double>(sum / static_cast<double>(E.count()));
}

} // namespace

Result<std::shared_ptr<const TokenSide>> embeddingsOf(const AnalysisContext& context, const Task& task)
{
    if (context.tokens)
        return context.tokens;
    if (context.options.embedding != Embedding::Raw)
        return tokenSide(context.circuits, context.options.embedding, withoutProgress(task),
                         context.options.precision, TokenParts::MatricesAlone);
    auto raw = std::make_shared<TokenSide>();
    raw->E = tokenVectors(context.circuits.weights(), Embedding::Raw, 1, Precision::F64);
    return std::shared_ptr<const TokenSide>(std::move(raw));
}

Result<MeanTokens> meanTokens(const TokenSide& tokens, const Task& task)
{
    const auto later = meanRow(tokens.E, task);
    if (!later)
        return later.error();
    if (!tokens.isLayer0Special(0))
        return MeanTokens{*later, *later};
    const auto layer0 = meanRow(tokens.layer0E, task);
    if (!layer0)
        return layer0.error();
    return MeanTokens{*layer0, *later};
}

} // namespace headwise
