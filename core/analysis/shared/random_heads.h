#pragma once

#include "core/analysis/selected_heads.h"

#include <array>
#include <cstdint>
#include <vector>

namespace headwise {

// Heads of random weights: the null of spectra, norms and scores.

/// Mean and standard deviation over random heads; mean 0 if there is no null.
struct HeadNull {
    double mean = 0, deviation = 0;
    int draws = 0; ///< Number of random heads; 0: a formula.

    HeadNull times(double factor) const { return {mean * factor, deviation * factor, draws}; }
};

/// Returns the null of these samples. \param samples at least two
HeadNull nullOf(const std::vector<double>& samples);
/// Returns the null of the square root of a positive number, to second order. \param variance of the number over its mean²
HeadNull nullOfRoot(double mean, double variance);
/// Writes the null into null_mean and null_deviation, with the errors of its draws, unless its mean is 0.
void setNull(ResultArray& array, const HeadNull& null);

/// The mean of one number per head, independent of the number of threads.
class HeadAverage {
public:
    explicit HeadAverage(const ModelConfig& config);

    void set(HeadId head, double value) { m_values.set(head, value); } ///< From any thread, each head once.
    double value() const; ///< Mean over the heads with a finite number; 0 if there is none.

private:
    RealNumbers m_values;
    std::vector<HeadId> m_heads; // all of the model, in order
};

enum class Factor { Q, K, V, O };

/// The mean square of an entry of each factor over the analysed heads: the scale of matching random heads.
class EntrySquares {
public:
    explicit EntrySquares(const ModelConfig& config);

    void set(HeadId head, const HeadWeights<double>& weights); ///< From any thread, each head once.
    /// Adds the selected heads that other shards compute. Errors: Cancelled.
    Result<Done> addOtherHeads(const AnalysisContext& context, const Task& task);
    double of(Factor factor) const { return m_means[static_cast<std::size_t>(factor)].value(); }
    /// Returns √(left mean square · right mean square): the scale for a product of factors with unit entries.
    double scaleOf(CircuitKind kind) const;

private:
    std::array<HeadAverage, 4> m_means;
};

/// Nulls of the spectrum of one circuit. The norms assume factors with entries of deviation 1.
struct SpectrumNulls {
    HeadNull norm, spectralNorm, effectiveRank, stableRank, participationRatio, k90, numericalRank;
};

inline constexpr int randomHeads = 8; ///< Minimum number; few are enough, because their measures hardly vary.

/// Returns the singular values of one circuit of random heads, whose factors have independent Gaussian entries.
/// Full circuits use the model's own W_U, and its E of the layers after the first. QK and OV have the same null.
/// \param tokens may be null for qk and ov
/// \returns d_head values per random head, falling; none if E or W_U is not finite
/// Errors: Cancelled, OutOfMemory.
Result<std::vector<std::vector<double>>> randomSpectra(const AnalysisContext& context, CircuitKind kind,
                                                       const TokenSide* tokens, const Task& task);

/// Returns the nulls from `randomSpectra`, or zeros if E or W_U is not finite.
/// Errors: Cancelled, OutOfMemory.
Result<SpectrumNulls> spectrumNulls(const AnalysisContext& context, CircuitKind kind, const TokenSide* tokens,
                                    const Task& task);

/// Returns the number of singular values above d_model ε σ₁, ε of float32. \param sigma falling
double numericalRank(const ModelConfig& config, const std::vector<double>& sigma);

} // namespace headwise
