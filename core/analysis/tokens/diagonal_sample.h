#pragma once

#include "core/analysis/catalogue.h"

#include <string>
#include <vector>

namespace headwise {

/// The tokens whose own entry in a full circuit is looked at, and those it is ranked among.
struct DiagonalSample {
    static constexpr std::size_t largest = 1024;

    std::vector<int> ids;     ///< Rising; `sampledTokens` of E from the seed of `context`.
    std::vector<bool> unused; ///< [V] never ranked; empty: none.
    double among = 0;         ///< How many tokens are ranked.

    explicit DiagonalSample(const AnalysisContext& context);
};

/// Why the token side of a model has no diagonal; empty if it has.
std::string whyNoDiagonal(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
