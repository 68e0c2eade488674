#include "core/analysis/tokens/diagonal_sample.h"

#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/tokens/token_factors.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace headwise {

DiagonalSample::DiagonalSample(const AnalysisContext& context)
{
    const Eigen::Index V = context.tokens->E.count();
    const AnalysisOptions& options = context.options;
    const TokenCounts* counts = options.inputs.tokenCounts.get();
    ids = counts ? tokensSampledByCount(V, options.unusedTokens, *counts, largest, options.inputs.seed)
                 : sampledTokens(V, options.unusedTokens, largest, options.inputs.seed);
    unused = sizedMarks(options.unusedTokens, V);
    among = static_cast<double>(V - std::count(unused.begin(), unused.end(), true));
    if (counts && static_cast<double>(ids.size()) < among)
        source = counts->source();
}

std::string DiagonalSample::definition()
{
    return fmt::format("all tokens up to {0}, else {0} drawn without replacement from the seed", largest);
}

void DiagonalSample::describe(Results& results) const
{
    if (source.empty())
        return;
    const std::string drawn = definition();
    for (ResultArray& array : results.arrays()) {
        array.attributes["token_counts"] = source;
        if (const std::size_t at = array.definition.find(drawn); at != std::string::npos)
            array.definition.insert(at + drawn.size(),
                                    ", by how often they occur in a text (Efraimidis & Spirakis 2006)");
    }
}

std::string whyNoDiagonal(const ModelConfig& config, const AnalysisOptions& options)
{
    if (config.dVocab == config.dVocabOut || options.embedding == Embedding::Unembed)
        return {};
    return "A token's own output needs one vocabulary on both sides, but this model embeds "
        + std::to_string(config.dVocab) + " tokens and predicts " + std::to_string(config.dVocabOut) + ".";
}

} // namespace headwise
