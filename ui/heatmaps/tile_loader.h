#pragma once

#include "core/results/tiled_circuit.h"
#include "ui/base/job.h"

#include <QCache>
#include <QTimer>

#include <vector>

namespace headwise::ui {

class TileQueue;

/// One tile: `tileSide` entries each way of one level, fewer at the far edges.
struct TileKey {
    Aggregate aggregate = Aggregate::Strongest;
    int level = 0;
    int row = 0; // In tiles.
    int column = 0;

    bool operator==(const TileKey&) const = default;
};
size_t qHash(const TileKey& key, size_t seed = 0);
inline constexpr int tileSide = 256;

/// The entries of a circuit that are on screen: asked for by whoever draws, computed by jobs, kept in bounded memory.
///
/// Levels from the circuit's overview up are there whole and at once: means exactly, the strongest as an estimate that a scan
/// of all cells makes exact, block by block. Finer ones come in tiles.
class TileLoader : public QObject {
    Q_OBJECT

public:
    explicit TileLoader(QObject* parent = nullptr);
    ~TileLoader() override;

    void setCircuit(
        std::shared_ptr<const TiledCircuit> circuit); ///< Null: nothing. Forgets everything of the old one.
    const std::shared_ptr<const TiledCircuit>& circuit() const { return m_circuit; }

    /// A whole level, at or above the circuit's overview.
    const Matrix<float>& overview(Aggregate aggregate, int level);
    const Matrix<float>* tile(const TileKey& key) const; ///< Null if it is not there.
    bool isExact(const TileKey& key) const;

    /// What is known of the entries of one tile: itself, or a coarser one that covers it.
    struct Source {
        const Matrix<float>* values;
        int coarser;     // levels
        int row, column; // of its first entry, at its own level

        float at(int entryRow, int entryColumn) const
        {
            return (*values)((entryRow >> coarser) - row, (entryColumn >> coarser) - column);
        }
    };
    Source sourceOf(const TileKey& key);
    float best(Aggregate aggregate, int level, int row, int column); ///< What the picture shows of one entry.

    /// Says what is on screen, in place of what was; computes what is missing, an estimate first where exact takes long.
    void want(const std::vector<TileKey>& visible);
    void
    wantOverview(); ///< Starts the scan that makes the strongest exact, unless it is done or was stopped.

    int blocksDone() const; ///< Of the scan.
    int blockCount() const { return m_blockCount; }
    bool isOverviewExact() const { return blocksDone() == m_blockCount; }
    ValueStatistics statistics(Aggregate aggregate, int level);

    Job* scan() { return &m_scan; } ///< For its progress and its cancel button.

signals:
    void arrived();         ///< Some entries are new or exact now; at most 30 times a second.
    void overviewChanged(); ///< The strongest of the whole are all exact now.

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
    std::vector<Matrix<float>> m_strongest; // of the overview level and all above
    std::vector<Matrix<float>> m_means;
    int m_blockCount = 0;
    int m_blocksReceived = 0;
    bool m_stopped = false; // The scan was cancelled.
    QTimer m_poll;
    Job m_scan;
    Job m_tilesJob;
};

} // namespace headwise::ui
