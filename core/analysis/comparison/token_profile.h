#pragma once

#include "core/analysis/catalogue.h"

#include <cstdint>
#include <vector>

namespace headwise {

/// Source tokens that heads are compared on, and the candidate outputs that are ranked.
struct ProfiledTokens {
    Matrix<double> E;       ///< [n, d] of the sources, for heads of layer ≥ 1
    Matrix<double> layer0E; ///< [n, d] for layer 0 where it differs; empty otherwise
    TokenMatrix W_U;        ///< [d, outputs]. Outputs are ranked in double if it is exact, else in float32.
    std::vector<bool> leftOut; ///< true: an output that is not listed; empty: none
    std::size_t k = 10;        ///< Number of outputs per source, ≤ outputs. Default: 10.

    const Matrix<double>& sources(int layer) const { return layer == 0 && layer0E.size() > 0 ? layer0E : E; }
};

/// Outputs of every head for a sample of tokens.
struct TokenProfiles {
    /// [n², heads] K / ‖K‖_F of each head as one column, K = X Xᵀ, X = E W_OV of the sources less its mean row; NaN for a
    /// head that writes nothing. The product of two columns is the CKA of two heads, also of different models.
    Matrix<double> similarities;
    /// [heads][n] the k largest outputs of each source, ascending; none for a head that writes nothing.
    std::vector<std::vector<std::vector<int>>> outputs;

    /// Mean over sources of |A ∩ B| / |A ∪ B|, A the largest outputs of source t in one head, B those of source t + shift,
    /// cyclically, in a head of `other`; NaN where one of them writes nothing. A shift gives the random baseline.
    double jaccard(std::size_t head, const TokenProfiles& other, std::size_t otherHead,
                   std::size_t shift = 0) const;
};

/// Returns `count` of these ids, drawn with `seed`, ascending. Returns all ids if there are no more than that.
std::vector<int> drawnFrom(std::vector<int> ids, std::size_t count, std::uint64_t seed);

/// Returns the column of `TokenProfiles::similarities` for one head. \param read [n, r] E W_V \param O [r, d]
Eigen::VectorXd similarityColumn(Matrix<double> read, const Matrix<double>& O);

/// Errors: Cancelled.
/// Cost: 2 r outputs (d + n) flops per head; memory: 8 n² bytes per head, and one head's [r, outputs] per thread.
Result<TokenProfiles> tokenProfiles(const Circuits& circuits, const std::vector<HeadId>& heads,
                                    const ProfiledTokens& tokens, const Task& task);

} // namespace headwise
