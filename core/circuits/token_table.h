#pragma once

#include "core/circuits/circuit_terms.h"
#include "core/circuits/circuits.h"

#include <vector>

namespace headwise {

/// One entry of a full circuit's row or column.
struct TokenEntry {
    int id = 0;
    double value = 0;

    bool operator==(const TokenEntry&) const = default;
};

/// The largest entries, falling, and the smallest, rising; ties to the lower id.
struct TokenEnds {
    std::vector<TokenEntry> top, bottom;

    bool operator==(const TokenEnds&) const = default;
};

/// Row: the entries of row t (a query's keys, a source's outputs); Column: of column t.
enum class TableSide { Row, Column };

/// The k largest and k smallest of `values`, one per token.
/// \param unused true: an id without a token, left out; empty: none
TokenEnds ends(const RowVector<double>& values, int k, const std::vector<bool>& unused);

/// One row or column of a full circuit, in double, from the token matrices: nothing of the circuit is kept.
/// Errors: InvalidArgument for a head or a token outside the model.
/// Cost: 2 V d flops, bound by reading E or W_U once. With cached factors `FactoredMatrix::row` and `column` are faster.
Result<RowVector<double>> tokenLine(const Circuits& circuits, const TokenSide& tokens,
                                    const CircuitOfHead& of, TableSide side, int token);

/// A row of weights that are looked at once: the token vectors are read in blocks, and none is kept.
/// Errors: as `tokenLine`; InvalidArgument as `whyNotEmbedding`; Cancelled.
/// Cost: one reading of W_E or W_U; with effective or mlp0 a row of full QK is the layer-0 MLP on every token.
Result<RowVector<double>> tokenRowOnce(const Circuits& circuits, Embedding embedding, const CircuitOfHead& of,
                                       int token, const Task& task);

/// Where an entry stands in its row or column: what z-scores and shares are of.
struct LineStatistics {
    double mean = 0, deviation = 0; ///< Over the tokens there are; the deviation of the population.
    double norm = 0;                ///< ‖line‖₂ over the same tokens.

    double zScore(double value) const; ///< NaN where every entry is the same.
    double share(double value) const;  ///< value²/‖line‖², 0 … 1; NaN for a line of zeros.
};

/// \param unused true: an id without a token, left out; empty: none
LineStatistics lineStatistics(const RowVector<double>& values, const std::vector<bool>& unused);

/// ‖row t‖₂ (or ‖column t‖₂) of every token t: what the head reacts to (writes) most strongly.
/// Source: ANALYSES B7, the salient tokens of Elhelo & Geva 2024, arXiv 2412.11965, without dividing by ‖x‖.
/// Cost: 2 V r² flops.
template <typename Scalar>
RowVector<double> lineNorms(const FactoredMatrix<Scalar>& circuit, TableSide side);

} // namespace headwise
