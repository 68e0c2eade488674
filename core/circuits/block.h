#pragma once

#include "core/base/task.h"
#include "core/circuits/circuit_terms.h"
#include "core/circuits/circuits.h"
#include "core/circuits/token_table.h"

#include <vector>

namespace headwise {

/// The most entries a block may have: a 4096 × 4096 picture, 64 MiB.
inline constexpr Eigen::Index largestBlock = Eigen::Index(4096) * 4096;

/// Returns a rectangle of a circuit as a dense matrix, for a heatmap. Only the given tokens are multiplied, so the first
/// picture of a head does not wait for its [V, r] factors. For qk and ov the indices are residual directions, and `tokens`
/// may be null.
/// \param rowIds, colIds indices (token ids in full circuits) in display order; may repeat
/// Errors: InvalidArgument if there are none, one is outside, there are more than `largestBlock` entries, or the head is
/// outside the model.
/// Cost: 2 (rows + cols) d r + 2 rows cols r flops.
Result<Matrix<float>> circuitBlock(const Circuits& circuits, const TokenSide* tokens, const CircuitOfHead& of,
                                   const std::vector<int>& rowIds, const std::vector<int>& colIds);

/// Returns entries of the direct path E W_U (+ b_U), the bigram table of a model without layers. Rows are the token read,
/// columns the next token. Source: Elhage et al. 2021, "Zero-layer transformers". Errors: as above.
/// Cost: 2 rows cols d flops.
Result<Matrix<float>> directPathBlock(const Circuits& circuits, const TokenSide& tokens, bool withBias,
                                      const std::vector<int>& rowIds, const std::vector<int>& colIds);

/// Returns one row (the next tokens) or column (the preceding tokens) of the direct path, in double.
/// \param withBias  adds b_U; in a column, that of its own token
/// Errors: InvalidArgument for a token outside the model.
/// Cost: 2 V d flops.
Result<RowVector<double>> directPathLine(const Circuits& circuits, const TokenSide& tokens, bool withBias,
                                         TableSide side, int token);

/// Returns the factors of a full circuit over all tokens, with its terms, for a picture of the whole circuit.
/// Errors: InvalidArgument for a head outside the model; Cancelled.
/// Cost: 2 (V + V out) d r flops, on all threads.
Result<FactoredMatrix<float>> circuitFactors(const Circuits& circuits, const TokenSide& tokens,
                                             const CircuitOfHead& of, const Task& task);

/// Returns the whole of qk or ov, [d, d]. With biases it is [d+1, d+1] and [d+1, d]; the last row and column belong to
/// the bias.
/// Errors: as above.
Result<Matrix<float>> wholeCircuit(const Circuits& circuits, const CircuitOfHead& of);

/// How the rows of a block are made comparable, since scores of different queries have no common zero.
enum class RowForm {
    Raw,
    Centred, ///< Minus the row's mean.
    ZScores, ///< Centred, then divided by the row's standard deviation; NaN if that is 0.
    Softmax, ///< Over the displayed columns.
};

/// Source: Elhage et al. 2021, "Summarizing OV/QK matrices".
Matrix<float> inRowForm(const Matrix<float>& block, RowForm form);

/// Returns the indices of rows (or columns) of a block by falling Euclidean norm, ties to the lower index.
std::vector<int> byNorm(const Matrix<float>& block, bool ofColumns);

} // namespace headwise
