#pragma once

#include "core/analysis/catalogue.h"

#include <string>
#include <vector>

namespace headwise {

/// The tokens whose own entry in a full circuit is looked at, and those it is ranked among.
struct DiagonalSample {
    static constexpr std::size_t largest = 2048;

    std::vector<int>
        ids; ///< Rising; of E, from the seed of `context`, by the counts of tokens where there are some.
    std::vector<bool> unused; ///< [V] never ranked; empty: none.
    double among = 0;         ///< How many tokens are ranked.
    std::string source;       ///< The file of the counts; empty: drawn evenly, or all.

    explicit DiagonalSample(const AnalysisContext& context);
    /// How they were drawn, for definitions.
    std::string definition() const;
    /// Names the counts, where there are some, in all of `results` that the sample is in.
    void describe(ResultSet& results) const;
};

/// Why the token side of a model has no diagonal; empty if it has.
std::string whyNoDiagonal(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
