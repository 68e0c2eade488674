#pragma once

#include "core/results/tiled_circuit.h"

#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace headwise::ui {

/// Entries to compute, or computed.
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

/// The queue of work between the window and the computing threads.
///
/// Threads: every member may be called from any thread.
class TileQueue {
public:
    void
    want(std::vector<TilePiece> pieces); ///< Replaces the wanted pieces, except those already in progress.
    void setBlocks(std::vector<TilePiece> blocks);
    /// Returns the next wanted piece, or else, if `blocksToo`, the next block of the scan.
    std::optional<TilePiece> next(bool blocksToo);
    void deliver(TilePiece piece);
    void giveBack(const TilePiece& piece); ///< Returns a piece that was not computed.
    std::vector<TilePiece> take();         ///< Takes the pieces delivered since the last call.
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

/// Computes pieces of `queue` on all threads of the task until there are none. Interrupted pieces go back to the queue.
Result<Done> computePieces(const TiledCircuit& circuit, TileQueue& queue, bool blocksToo, int blockCount,
                           const Task& task);

} // namespace headwise::ui
