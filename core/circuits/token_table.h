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

/// Row: the entries of row t (a query's keys, a source's outputs). Column: the entries of column t.
enum class TableSide { Row, Column };

/// Returns the k largest and k smallest of `values`, one per token.
/// \param unused true: an id without a token, left out; empty: none
TokenEnds ends(const RowVector<double>& values, int k, const std::vector<bool>& unused);

/// Computes one row or column of a full circuit, in double, from the token matrices; nothing is cached.
/// Errors: InvalidArgument for a head or a token outside the model.
/// Cost: 2 V d flops, bound by reading E or W_U once. With cached factors `FactoredMatrix::row` and `column` are faster.
Result<RowVector<double>> tokenLine(const Circuits& circuits, const TokenSide& tokens,
                                    const CircuitOfHead& of, TableSide side, int token);

/// Computes a row for weights that are used only once: the token vectors are read in blocks and not kept.
/// Errors: as `tokenLine`; InvalidArgument as `whyNotEmbedding`; Cancelled.
/// Cost: one pass over W_E or W_U; with effective or mlp0 a row of full QK also runs the layer-0 MLP on every token.
Result<RowVector<double>> tokenRowOnce(const Circuits& circuits, Embedding embedding, const CircuitOfHead& of,
                                       int token, const Task& task);

/// Statistics of a row or column, for z-scores and shares of its entries.
struct LineStatistics {
    double mean = 0, deviation = 0; ///< Over the existing tokens; population deviation.
    double norm = 0;                ///< ‖line‖₂ over the same tokens.

    double zScore(double value) const; ///< NaN if all entries are equal.
    double share(double value) const;  ///< value²/‖line‖², 0 … 1; NaN for a line of zeros.
};

/// \param unused true: an id without a token, left out; empty: none
LineStatistics lineStatistics(const RowVector<double>& values, const std::vector<bool>& unused);

/// ‖row t‖₂ (or ‖column t‖₂) of every token t: the tokens the head reacts to (or writes) most strongly.
/// Source: the salient tokens of Elhelo & Geva 2024, arXiv 2412.11965, without dividing by ‖x‖.
/// Cost: 2 V r² flops.
template <typename Scalar>
RowVector<double> lineNorms(const FactoredMatrix<Scalar>& circuit, TableSide side);

} // namespace headwise
