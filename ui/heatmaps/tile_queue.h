#pragma once

#include "core/results/tiled_circuit.h"

#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace headwise::ui {

/// Entries to be computed, or computed.
struct TilePiece {
    enum class Kind { Estimate, Tile, Block };

    Aggregate aggregate = Aggregate::Strongest;
    TileArea area;
    Kind kind = Kind::Tile;
    Matrix<float> values; ///< Empty until it is computed.

    bool isSameAs(const TilePiece& other) const
    {
        return kind == other.kind && aggregate == other.aggregate && area.level == other.area.level
            && area.row == other.area.row && area.col == other.area.col;
    }
};

/// What is to be computed next, seen from the window and from the threads that compute.
///
/// Threads: every member may be called from any.
class TileQueue {
public:
    void
    want(std::vector<TilePiece> pieces); ///< In place of what was wanted; not those already on their way.
    void setBlocks(std::vector<TilePiece> blocks);
    /// What is wanted first, then, if `blocksToo`, the next block of the scan.
    std::optional<TilePiece> next(bool blocksToo);
    void deliver(TilePiece piece);
    void giveBack(const TilePiece& piece); ///< It was not computed.
    std::vector<TilePiece> take();         ///< What was delivered since.
    int blocksDelivered() const;
    bool hasWanted() const;

private:
    bool isOnItsWay(const TilePiece& piece) const;

    mutable std::mutex m_mutex;
    std::deque<TilePiece> m_wanted;
    std::deque<TilePiece> m_blocks;
    std::vector<TilePiece> m_running;
    std::vector<TilePiece> m_delivered;
    int m_blocksDelivered = 0;
};

/// Computes pieces of `queue` on all threads of the task until there are none; what is cut short goes back.
Result<Done> computePieces(const TiledCircuit& circuit, TileQueue& queue, bool blocksToo, int blockCount,
                           const Task& task);

} // namespace headwise::ui
