#pragma once

#include "core/analysis/selected_heads.h"

#include <string>
#include <vector>

namespace headwise {

/// The tokens whose diagonal entries in a full circuit are ranked, and the tokens they are ranked among.
struct DiagonalSample {
    static constexpr std::size_t largest = 2048;

    std::vector<int>
        ids; ///< Ids in E, rising, drawn with the seed of `context`, weighted by token counts if given.
    std::vector<bool> unused; ///< [V] never ranked; empty: none.
    double among = 0;         ///< Number of tokens to rank among.
    std::string source;       ///< File of the counts; empty: drawn uniformly, or all tokens.

    explicit DiagonalSample(const AnalysisContext& context);
    /// Returns how tokens are drawn, for the definitions of contracts.
    static std::string definition();
    /// Records the name of the counts, if any, in all arrays of `results`, and the use of counts in their definitions.
    void describe(Results& results) const;
};

/// Returns why the token side of a model has no diagonal; empty if it has one.
std::string whyNoDiagonal(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
