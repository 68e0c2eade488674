#pragma once

#include "core/analysis/selected_heads.h"

#include <string>
#include <utility>
#include <vector>

namespace headwise {

// Shared code of the analyses of head pairs.

/// Returns the head pairs to compute, earlier head first: both heads selected, or (with `oneEndIsEnough`) at least one.
std::vector<std::pair<HeadId, HeadId>> pairsAskedFor(const ModelConfig& config,
                                                     const AnalysisOptions& options);

/// Returns every head that can be in such a pair, layer by layer.
std::vector<HeadId> headsOfPairs(const ModelConfig& config, const AnalysisOptions& options);

/// Returns why options.inputs.pair is not an earlier and a later head of this model. Empty if it is, or if it is unset.
std::string whyNotPair(const ModelConfig& config, const AnalysisOptions& options);

/// A sample of random baseline values that gives the percentile of a value.
class Sample {
public:
    /// Drops NaN values.
    explicit Sample(std::vector<double> values);

    std::size_t size() const { return m_values.size(); }
    const std::vector<double>& values() const { return m_values; } ///< Ascending.
    double mean() const;
    double deviation() const; ///< With n − 1; NaN for fewer than two values.
    /// Returns (number of smaller values + half the number of equal values + ½) / (size + 1). Never 0 or 1; NaN for NaN.
    double percentile(double value) const;
    double share(double value) const; ///< (smaller + half the equal) / size; NaN for NaN.

private:
    std::vector<double> m_values; // ascending
};

} // namespace headwise
