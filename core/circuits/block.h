#pragma once

#include "core/base/task.h"
#include "core/circuits/circuit_terms.h"
#include "core/circuits/circuits.h"
#include "core/circuits/token_table.h"

#include <vector>

namespace headwise {

/// Most entries a block may have: a 4096 × 4096 picture, 64 MiB.
inline constexpr Eigen::Index largestBlock = Eigen::Index(4096) * 4096;

/// A rectangle of a circuit as a dense matrix, for a heatmap.
/// \param rowIds, colIds indices (token ids in full circuits) in the order in which they are shown; may repeat
/// Errors: InvalidArgument if there is none, one is outside, or there are more than `largestBlock` entries.
Result<Matrix<float>> denseBlock(const FactoredMatrix<float>& circuit, const std::vector<int>& rowIds,
                                 const std::vector<int>& colIds);

/// The same straight from the token matrices: the tokens asked for are multiplied and nothing else, so that the first picture
/// of a head does not wait for its [V, r] factors. For qk and ov the indices are residual directions and `tokens` may be null.
/// Errors: as above, and for a head outside the model.
/// Cost: 2 (rows + cols) d r + 2 rows cols r flops.
Result<Matrix<float>> circuitBlock(const Circuits& circuits, const TokenSide* tokens, const CircuitOfHead& of,
                                   const std::vector<int>& rowIds, const std::vector<int>& colIds);

/// Entries of the direct path E W_U (+ b_U), the table of bigrams of a model without layers: rows are tokens read, columns those
/// that come next. Source: Elhage et al. 2021, "Zero-layer transformers". Errors: as denseBlock.
/// Cost: 2 rows cols d flops.
Result<Matrix<float>> directPathBlock(const Circuits& circuits, const TokenSide& tokens, bool withBias,
                                      const std::vector<int>& rowIds, const std::vector<int>& colIds);

/// One row (what comes after a token) or column (after what a token comes) of it, in double.
/// \param withBias  b_U is added, in a column that of its own token
/// Errors: InvalidArgument for a token outside the model.
/// Cost: 2 V d flops.
Result<RowVector<double>> directPathLine(const Circuits& circuits, const TokenSide& tokens, bool withBias,
                                         TableSide side, int token);

/// The factors of a full circuit over all tokens, with its terms: what a picture of the whole is drawn from.
/// Errors: InvalidArgument for a head outside the model; Cancelled.
/// Cost: 2 (V + V out) d r flops, on all threads.
Result<FactoredMatrix<float>> circuitFactors(const Circuits& circuits, const TokenSide& tokens,
                                             const CircuitOfHead& of, const Task& task);

/// The whole of qk or ov, [d, d]; with biases [d+1, d+1] and [d+1, d], the last row and column being those of the bias.
/// Errors: as above.
Result<Matrix<float>> wholeCircuit(const Circuits& circuits, const CircuitOfHead& of);

/// How the rows of a block are made comparable: scores of different queries have no common zero.
enum class RowForm {
    Raw,
    Centred, ///< Minus the row's mean.
    ZScores, ///< The same over the row's standard deviation; NaN where it is 0.
    Softmax, ///< Over the columns shown.
};

/// Source: ANALYSES A3; Elhage et al. 2021, "Summarizing OV/QK matrices".
Matrix<float> inRowForm(const Matrix<float>& block, RowForm form);

/// The indices of rows (or columns) of a block by falling Euclidean norm, ties to the lower index.
std::vector<int> byNorm(const Matrix<float>& block, bool ofColumns);

} // namespace headwise
