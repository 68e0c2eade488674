#pragma once

#include "core/analysis/inputs/token_counts.h"
#include "core/circuits/axis_order.h"
#include "core/circuits/block.h"
#include "core/results/entry_statistics.h"
#include "core/results/tiled_circuit.h"
#include "core/tokenizer/tokenizer.h"

#include <QString>

#include <memory>
#include <vector>

namespace headwise::ui {

/// The matrix on the matrix page, and its order. A plain value that any thread may use.
struct CircuitPicture {
    /// ByName: alphabetical, ignoring a leading space and case. ByCount: falling count in the user's text. Both are
    /// ByIndex without a tokenizer or counts, and for residual directions.
    enum class Order { ByIndex, ByNorm, ByName, ByVector, ByCount, ByCluster };

    std::shared_ptr<const Circuits> circuits;
    std::shared_ptr<const TokenSide> tokens;    // may be null for residual circuits
    std::shared_ptr<const Tokenizer> tokenizer; // null: none
    CircuitOfHead of;
    bool isDirect = false;                               // E W_U in place of a head's circuit
    bool isTiled = false;                                // too large to form
    std::shared_ptr<const TokenCounts> counts = nullptr; // null: unknown
    Order order = Order::ByIndex;
    int vector = 0;                 // for ByVector, from 0
    RowForm form = RowForm::Raw;    // for formed matrices
    std::vector<int> rows, columns; // tokens, for a full circuit
};

struct ShownCircuit {
    Matrix<float> matrix;                      ///< Empty if there are tiles.
    std::shared_ptr<const TiledCircuit> tiles; ///< Null if the matrix is formed.
    std::vector<int> rows, columns;            ///< Tokens or residual directions in display order.
    EntryStatistics statistics = {};           ///< Statistics of all displayed entries.
};

/// Name and unit of the entries, beside the colour bar of a figure: "attention score (logits)".
QString valueTitle(const CircuitPicture& picture);
/// Errors: those of circuitBlock, circuitFactors and axisOrders; Cancelled.
Result<ShownCircuit> shownCircuit(CircuitPicture picture, const Task& task);

} // namespace headwise::ui
