#include "core/analysis/position/token_rows.h"

#include "core/analysis/selected_heads.h"

#include <utility>

namespace headwise {

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
    const auto layer0 = tokens.embeddingOf(0).statistics(withoutProgress(task), "mean token");
    if (!layer0)
        return layer0.error();
    const auto later = tokens.E.statistics(withoutProgress(task), "mean token");
    if (!later)
        return later.error();
    return MeanTokens{(*layer0)->mean, (*later)->mean};
}

} // namespace headwise
