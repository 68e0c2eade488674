#pragma once

#include "core/results/tiled_circuit.h"
#include "ui/base/job.h"

#include <QCache>
#include <QTimer>

#include <vector>

namespace headwise::ui {

class TileQueue;

/// A tile: `tileSide` entries in each direction of one level, fewer at the far edges.
struct TileKey {
    Aggregate aggregate = Aggregate::Strongest;
    int level = 0;
    int row = 0; // in tiles
    int column = 0;

    bool operator==(const TileKey&) const = default;
};
size_t qHash(const TileKey& key, size_t seed = 0);
inline constexpr int tileSide = 256;

/// The entries of a circuit that are on screen: requested by the painter, computed by jobs, kept in limited memory.
///
/// Levels from the circuit's overview up are available at once: means exactly, the strongest as an estimate that a scan
/// of all cells makes exact, block by block. Finer levels are loaded in tiles.
class TileLoader : public QObject {
    Q_OBJECT

public:
    explicit TileLoader(QObject* parent = nullptr);
    ~TileLoader() override;

    void setCircuit(
        /// Null: nothing. Discards everything of the old circuit.
        std::shared_ptr<const TiledCircuit> circuit);
    const std::shared_ptr<const TiledCircuit>& circuit() const { return m_circuit; }

    /// Returns a whole level, at or above the circuit's overview.
    const Matrix<float>& overview(Aggregate aggregate, int level);
    const Matrix<float>* tile(const TileKey& key) const; ///< Null if it is not loaded.
    bool isExact(const TileKey& key) const;

    /// The data available for one tile: itself, or a coarser one that covers it.
    struct Source {
        const Matrix<float>* values;
        int coarser;     // levels
        int row, column; // its first entry, at its own level

        float at(int entryRow, int entryColumn) const
        {
            return (*values)((entryRow >> coarser) - row, (entryColumn >> coarser) - column);
        }
    };
    Source sourceOf(const TileKey& key);
    /// The value the picture shows for one entry.
    float best(Aggregate aggregate, int level, int row, int column);

    /// Replaces the list of visible tiles. Missing ones are computed, as an estimate first if the exact values take long.
    void want(const std::vector<TileKey>& visible);
    void
    /// Starts the scan that makes the strongest values exact, unless it is done or was stopped.
    wantOverview();

    int blocksDone() const; ///< Blocks of the scan.
    int blockCount() const { return m_blockCount; }
    bool isOverviewExact() const { return blocksDone() == m_blockCount; }
    ValueStatistics statistics(Aggregate aggregate, int level);

    Job* scan() { return &m_scan; } ///< For its progress and its cancel button.

signals:
    void arrived();         ///< Some entries are new or have become exact; at most 30 times a second.
    void overviewChanged(); ///< The strongest values of the whole circuit are all exact.

private:
    void receive();
    void receiveBlock(const TileArea& area, const Matrix<float>& values);
    void startTiles();

    struct Tile {
        Matrix<float> values;
        bool exact = false;
    };

    std::shared_ptr<const TiledCircuit> m_circuit;
    std::shared_ptr<TileQueue> m_queue;     // Shared with the jobs.
    QCache<TileKey, Tile> m_tiles;          // cost: bytes
    std::vector<Matrix<float>> m_strongest; // for the overview level and all above
    std::vector<Matrix<float>> m_means;
    int m_blockCount = 0;
    int m_blocksReceived = 0;
    bool m_stopped = false; // The scan was cancelled.
    QTimer m_poll;
    Job m_scan;
    Job m_tilesJob;
};

} // namespace headwise::ui
