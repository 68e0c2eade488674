#pragma once

#include "core/analysis/axis_order.h"
#include "core/analysis/block.h"
#include "core/analysis/entry_statistics.h"
#include "core/analysis/tiled_circuit.h"
#include "core/io/tokenizer.h"

#include <memory>
#include <vector>

namespace headwise::ui {

/// Which matrix the page of matrices shows, and in which order. A value that any thread may answer.
struct CircuitPicture {
    /// ByName: the tokens' own letters, a leading space and case aside; without a tokenizer and of residual directions ByIndex.
    enum class Order { ByIndex, ByNorm, ByName, ByFirstVector };

    std::shared_ptr<const Circuits> circuits;
    std::shared_ptr<const TokenSide> tokens;    // null of residual circuits without one
    std::shared_ptr<const Tokenizer> tokenizer; // null: none
    CircuitOfHead of;
    bool isDirect = false; // E W_U in place of a head's circuit
    bool isTiled = false;  // too large to be formed
    Order order = Order::ByIndex;
    RowForm form = RowForm::Raw;    // of what is formed
    std::vector<int> rows, columns; // tokens, of a circuit of tokens
};

struct ShownCircuit {
    Matrix<float> matrix;                      ///< Empty where there are tiles.
    std::shared_ptr<const TiledCircuit> tiles; ///< Null where it is formed.
    std::vector<int> rows, columns;            ///< Tokens or residual directions, as they stand.
    EntryStatistics statistics = {};           ///< Of all entries that are shown.
};

/// Errors: those of circuitBlock, circuitFactors and axisOrders; Cancelled.
Result<ShownCircuit> shownCircuit(CircuitPicture picture, const Task& task);

} // namespace headwise::ui
