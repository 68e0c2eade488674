#include "core/analysis/tokens/diagonal_sample.h"

#include "core/analysis/tokens/token_factors.h"

#include <algorithm>

namespace headwise {

DiagonalSample::DiagonalSample(const AnalysisContext& context)
{
    const Eigen::Index V = context.tokens->E.rows();
    const AnalysisOptions& options = context.options;
    ids = sampledTokens(V, options.unusedTokens, largest, options.inputs.seed);
    unused = sizedMarks(options.unusedTokens, V);
    among = static_cast<double>(V - std::count(unused.begin(), unused.end(), true));
}

std::string whyNoDiagonal(const ModelConfig& config, const AnalysisOptions& options)
{
    if (config.dVocab == config.dVocabOut || options.embedding == Embedding::Unembed)
        return {};
    return "A token's own output needs one vocabulary on both sides, and this model embeds "
        + std::to_string(config.dVocab) + " tokens and predicts " + std::to_string(config.dVocabOut) + ".";
}

} // namespace headwise
