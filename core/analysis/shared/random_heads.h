#pragma once

#include "core/analysis/per_head.h"

#include <array>
#include <cstdint>
#include <vector>

namespace headwise {

// What heads of random weights get: the null of spectra, norms and scores.

/// Mean and standard deviation over random heads; mean 0 where there is none.
struct HeadNull {
    double mean = 0, deviation = 0;

    HeadNull times(double factor) const { return {mean * factor, deviation * factor}; }
};

/// \param samples at least two
HeadNull nullOf(const std::vector<double>& samples);
/// What the square root of a positive number is like, to the second order. \param variance of the number over its mean²
HeadNull nullOfRoot(double mean, double variance);
/// Writes it into null_mean and null_deviation, unless its mean is 0.
void setNull(ResultArray& array, const HeadNull& null);

/// The mean of one number per head, the same for any number of threads.
class HeadAverage {
public:
    explicit HeadAverage(const ModelConfig& config);

    void set(HeadId head, double value) { m_values.set(head, value); } ///< From any thread, each head once.
    double value() const; ///< Over the heads that were set to a finite number; 0 without one.

private:
    PerHead m_values;
    std::vector<HeadId> m_heads; // all of the model, in order
};

enum class Factor { Q, K, V, O };

/// The mean square of an entry of each factor over the heads that were looked at: the scale of random heads like them.
class EntrySquares {
public:
    explicit EntrySquares(const ModelConfig& config);

    void set(HeadId head, const HeadWeights<double>& weights); ///< From any thread, each head once.
    double of(Factor factor) const { return m_means[static_cast<std::size_t>(factor)].value(); }
    /// √(of its left factor · of its right factor): what a product of factors of unit entries is multiplied by.
    double scaleOf(CircuitKind kind) const;

private:
    std::array<HeadAverage, 4> m_means;
};

/// Of one circuit; the norms are those of factors with entries of deviation 1.
struct SpectrumNulls {
    HeadNull norm, spectralNorm, effectiveRank, stableRank, participationRatio, k90, numericalRank;
};

inline constexpr int randomHeads = 8; ///< At least so many: their measures hardly vary.

/// Singular values of one circuit of heads whose factors have independent Gaussian entries, a full circuit between the model's own E
/// (of the layers after the first) and W_U. Those of QK and of OV are alike.
/// \param tokens may be null for qk and ov
/// \returns of each random head d_head of them, falling; none where E or W_U is not finite
/// Errors: Cancelled, OutOfMemory.
Result<std::vector<std::vector<double>>> randomSpectra(const AnalysisContext& context, CircuitKind kind,
                                                       const TokenSide* tokens, const Task& task);

/// Of `randomSpectra`.
/// \returns zeros where E or W_U is not finite
/// Errors: Cancelled, OutOfMemory.
Result<SpectrumNulls> spectrumNulls(const AnalysisContext& context, CircuitKind kind, const TokenSide* tokens,
                                    const Task& task);

/// The number of singular values above d_model ε σ₁, ε of float32. \param sigma falling
double numericalRank(const ModelConfig& config, const std::vector<double>& sigma);

} // namespace headwise
