#pragma once

#include "core/analysis/per_head.h"

#include <string>
#include <utility>
#include <vector>

namespace headwise {

// What the analyses of pairs of heads have in common.

/// Numbers [n_layers, n_heads, n_layers, n_heads], earlier head first, NaN until they are set.
class PerPair {
public:
    explicit PerPair(const ModelConfig& config);

    void set(HeadId earlier, HeadId later, double value) { m_values[index(earlier, later)] = value; }
    double at(HeadId earlier, HeadId later) const { return m_values[index(earlier, later)]; }
    const std::vector<double>& values() const { return m_values; }

    /// Axes "earlier layer", "earlier head", "later layer", "later head".
    ResultArray array(Precision precision, std::string path, std::string title, std::string definition) const;

private:
    std::size_t index(HeadId earlier, HeadId later) const;

    std::size_t m_nLayers, m_nHeads;
    std::vector<double> m_values;
};

/// The pairs asked for, the earlier head first: of heads asked for or, where one end is enough, with one of them.
std::vector<std::pair<HeadId, HeadId>> pairsAskedFor(const ModelConfig& config,
                                                     const AnalysisOptions& options);

/// Every head that may stand in such a pair, layer by layer.
std::vector<HeadId> headsOfPairs(const ModelConfig& config, const AnalysisOptions& options);

/// Why options.inputs.pair is no pair of an earlier and a later head of this model; empty if it is, or if there is none.
std::string whyNotPair(const ModelConfig& config, const AnalysisOptions& options);

/// Whole numbers as an array of their own: ids, layers, heads.
ResultArray wholeArray(std::string path, std::vector<std::size_t> shape, std::vector<std::int32_t> values,
                       std::vector<std::string> axes);

/// Where each value stands among all of them: (how many are smaller + half of how many are equal) / how many there are.
/// NaN are left out of the count and stay NaN.
std::vector<double> percentiles(const std::vector<double>& values);

/// Numbers that chance gave, and where a value stands among them.
class Sample {
public:
    /// NaN are left out.
    explicit Sample(std::vector<double> values);

    std::size_t size() const { return m_values.size(); }
    const std::vector<double>& values() const { return m_values; } ///< Ascending.
    double mean() const;
    double deviation() const; ///< With n − 1; NaN for less than two.
    /// (how many are smaller + half of how many are equal + ½) / (size + 1), never 0 nor 1; NaN for NaN.
    double percentile(double value) const;

private:
    std::vector<double> m_values; // ascending
};

} // namespace headwise
