#pragma once

#include "core/analysis/inputs/token_counts.h"
#include "core/circuits/axis_order.h"
#include "core/circuits/block.h"
#include "core/results/entry_statistics.h"
#include "core/results/tiled_circuit.h"
#include "core/tokenizer/tokenizer.h"

#include <memory>
#include <vector>

namespace headwise::ui {

/// Matrix shown on the matrix page, and its order. A value that any thread may answer.
struct CircuitPicture {
    /// ByName: the tokens' own letters, a leading space and case aside; ByCount: falling in the reader's text. Without a
    /// tokenizer or counts, and of residual directions, both are ByIndex.
    enum class Order { ByIndex, ByNorm, ByName, ByVector, ByCount, ByCluster };

    std::shared_ptr<const Circuits> circuits;
    std::shared_ptr<const TokenSide> tokens;    // null of residual circuits without one
    std::shared_ptr<const Tokenizer> tokenizer; // null: none
    CircuitOfHead of;
    bool isDirect = false;                               // E W_U in place of a head's circuit
    bool isTiled = false;                                // too large to be formed
    std::shared_ptr<const TokenCounts> counts = nullptr; // null: unknown
    Order order = Order::ByIndex;
    int vector = 0;                 // of ByVector, from 0
    RowForm form = RowForm::Raw;    // of what is formed
    std::vector<int> rows, columns; // tokens, of a circuit of tokens
};

struct ShownCircuit {
    Matrix<float> matrix;                      ///< Empty where there are tiles.
    std::shared_ptr<const TiledCircuit> tiles; ///< Null where it is formed.
    std::vector<int> rows, columns;            ///< Tokens or residual directions, as they stand.
    EntryStatistics statistics = {};           ///< Statistics of all entries shown.
};

/// Errors: those of circuitBlock, circuitFactors and axisOrders; Cancelled.
Result<ShownCircuit> shownCircuit(CircuitPicture picture, const Task& task);

} // namespace headwise::ui
