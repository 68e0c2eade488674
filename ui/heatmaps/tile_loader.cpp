#include "ui/heatmaps/tile_loader.h"

#include "ui/heatmaps/tile_queue.h"

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

using Eigen::Index;

constexpr int cacheBytes = 128 * 1024 * 1024;
constexpr Index blockCells = 4096; // side of one block of the scan: some 30 ms

float tileLoaderStronger(float a, float b)
{
    return std::abs(b) > std::abs(a) ? b : a;
}

/// Computes `above` from the four entries of `below` under each of its entries in the rectangle.
void reduceInto(Matrix<float>& above, const Matrix<float>& below, const TileArea& area)
{
    for (Index j = area.col; j < area.col + area.cols; ++j) {
        const Index nextCol = std::min(2 * j + 1, below.cols() - 1);
        for (Index i = area.row; i < area.row + area.rows; ++i) {
            const Index nextRow = std::min(2 * i + 1, below.rows() - 1);
            above(i, j) =
                tileLoaderStronger(tileLoaderStronger(below(2 * i, 2 * j), below(nextRow, 2 * j)),
                                   tileLoaderStronger(below(2 * i, nextCol), below(nextRow, nextCol)));
        }
    }
}

TileArea above(const TileArea& area)
{
    const Index row = area.row / 2;
    const Index col = area.col / 2;
    return {area.level + 1, row, col, (area.row + area.rows + 1) / 2 - row,
            (area.col + area.cols + 1) / 2 - col};
}

TileArea areaOf(const TiledCircuit& circuit, const TileKey& key)
{
    const Index row = Index{key.row} * tileSide;
    const Index col = Index{key.column} * tileSide;
    return {key.level, row, col, std::min<Index>(tileSide, circuit.rowsAt(key.level) - row),
            std::min<Index>(tileSide, circuit.colsAt(key.level) - col)};
}

/// Cuts the whole overview into pieces that take a moment each.
std::vector<TilePiece> blocksOf(const TiledCircuit& circuit)
{
    const int level = circuit.overviewLevel();
    std::vector<TilePiece> blocks;
    if (TiledCircuit::isEstimateExact(level))
        return blocks;
    const Index side = std::max<Index>(1, blockCells >> level);
    for (Index row = 0; row < circuit.rowsAt(level); row += side)
        for (Index col = 0; col < circuit.colsAt(level); col += side)
            blocks.push_back({Aggregate::Strongest,
                              {level, row, col, std::min(side, circuit.rowsAt(level) - row),
                               std::min(side, circuit.colsAt(level) - col)},
                              TilePiece::Kind::Block,
                              {}});
    return blocks;
}

} // namespace

size_t qHash(const TileKey& key, size_t seed)
{
    return qHashMulti(seed, static_cast<int>(key.aggregate), key.level, key.row, key.column);
}

TileLoader::TileLoader(QObject* parent)
    : QObject(parent)
    , m_tiles(cacheBytes)
{
    m_poll.setInterval(33);
    connect(&m_poll, &QTimer::timeout, this, &TileLoader::receive);
    const auto goOn = [this] {
        receive();
        if (m_queue && m_queue->hasWanted()) // requested while the threads were finishing
            startTiles();
    };
    connect(&m_tilesJob, &Job::finished, this, goOn);
    connect(&m_scan, &Job::finished, this, [this, goOn] {
        goOn();
        m_stopped = !isOverviewExact();
    });
}

TileLoader::~TileLoader() = default;

void TileLoader::setCircuit(std::shared_ptr<const TiledCircuit> circuit)
{
    m_queue = std::make_shared<TileQueue>(); // The old jobs finish with the old queue.
    m_scan.cancel();
    m_tilesJob.cancel();
    m_circuit = std::move(circuit);
    m_tiles.clear();
    m_strongest.clear();
    m_means.clear();
    m_blockCount = m_blocksReceived = 0;
    m_stopped = false;
    if (!m_circuit)
        return;
    auto blocks = blocksOf(*m_circuit);
    m_blockCount = static_cast<int>(blocks.size());
    m_queue->setBlocks(std::move(blocks));
    m_strongest.push_back(m_circuit->overviewEstimate());
    for (int level = m_circuit->overviewLevel() + 1; level < m_circuit->levelCount(); ++level) {
        Matrix<float> next(m_circuit->rowsAt(level), m_circuit->colsAt(level));
        reduceInto(next, m_strongest.back(), m_circuit->wholeLevel(level));
        m_strongest.push_back(std::move(next));
    }
    m_means.resize(m_strongest.size());
}

const Matrix<float>& TileLoader::overview(Aggregate aggregate, int level)
{
    const auto at = static_cast<std::size_t>(level - m_circuit->overviewLevel());
    if (aggregate == Aggregate::Strongest)
        return m_strongest[at];
    if (m_means[at].size() == 0) // A product of at most 1024 × r × 1024: a millisecond or two.
        m_means[at] = *m_circuit->entries(Aggregate::Mean, m_circuit->wholeLevel(level), Task{});
    return m_means[at];
}

const Matrix<float>* TileLoader::tile(const TileKey& key) const
{
    const Tile* found = m_tiles.object(key);
    return found ? &found->values : nullptr;
}

bool TileLoader::isExact(const TileKey& key) const
{
    const Tile* found = m_tiles.object(key);
    return found && found->exact;
}

TileLoader::Source TileLoader::sourceOf(const TileKey& key)
{
    const int overviewLevel = m_circuit->overviewLevel();
    for (int up = 0; key.level + up < overviewLevel; ++up) {
        const TileKey coarser{key.aggregate, key.level + up, key.row >> up, key.column >> up};
        if (const Matrix<float>* values = tile(coarser))
            return {values, up, coarser.row * tileSide, coarser.column * tileSide};
    }
    return {&overview(key.aggregate, std::max(overviewLevel, key.level)),
            std::max(0, overviewLevel - key.level), 0, 0};
}

float TileLoader::best(Aggregate aggregate, int level, int row, int column)
{
    return sourceOf({aggregate, level, row / tileSide, column / tileSide}).at(row, column);
}

int TileLoader::blocksDone() const
{
    return m_blocksReceived;
}

void TileLoader::want(const std::vector<TileKey>& visible)
{
    std::vector<TilePiece> pieces;
    for (const TilePiece::Kind kind : {TilePiece::Kind::Estimate, TilePiece::Kind::Tile}) {
        for (const TileKey& key : visible) {
            const bool isQuick = key.aggregate == Aggregate::Mean || TiledCircuit::isEstimateExact(key.level);
            const bool isThere = kind == TilePiece::Kind::Estimate ? isQuick || tile(key) : isExact(key);
            if (!isThere)
                pieces.push_back({key.aggregate, areaOf(*m_circuit, key), kind, {}});
        }
    }
    const bool isAny = !pieces.empty();
    m_queue->want(std::move(pieces));
    if (isAny)
        startTiles();
}

// A running scan computes wanted tiles first.
void TileLoader::startTiles()
{
    m_poll.start();
    if (m_scan.isRunning() || m_tilesJob.isRunning())
        return;
    m_tilesJob.start(
        tr("Tiles"),
        [circuit = m_circuit, queue = m_queue](const Task& task) {
            return computePieces(*circuit, *queue, false, 0, task);
        },
        [](const Result<Done>&) {});
}

void TileLoader::wantOverview()
{
    if (isOverviewExact() || m_stopped || m_scan.isRunning())
        return;
    m_poll.start();
    const int side = 1 << m_circuit->overviewLevel();
    m_scan.start(
        tr("Strongest of %1 × %1 cells").arg(side),
        [circuit = m_circuit, queue = m_queue, count = m_blockCount](const Task& task) {
            return computePieces(*circuit, *queue, true, count, task);
        },
        [](const Result<Done>&) {});
}

void TileLoader::receiveBlock(const TileArea& area, const Matrix<float>& values)
{
    m_strongest.front().block(area.row, area.col, area.rows, area.cols) = values;
    TileArea changed = area;
    for (std::size_t i = 1; i < m_strongest.size(); ++i) {
        changed = above(changed);
        reduceInto(m_strongest[i], m_strongest[i - 1], changed);
    }
    ++m_blocksReceived;
}

void TileLoader::receive()
{
    if (!m_scan.isRunning() && !m_tilesJob.isRunning())
        m_poll.stop();
    if (!m_queue)
        return;
    std::vector<TilePiece> pieces = m_queue->take();
    const bool wasExact = isOverviewExact();
    for (TilePiece& piece : pieces) {
        if (piece.kind == TilePiece::Kind::Block) {
            receiveBlock(piece.area, piece.values);
            continue;
        }
        const TileKey key{piece.aggregate, piece.area.level, static_cast<int>(piece.area.row / tileSide),
                          static_cast<int>(piece.area.col / tileSide)};
        const bool exact = piece.kind == TilePiece::Kind::Tile;
        const auto bytes = piece.values.size() * static_cast<Index>(sizeof(float));
        if (exact || !isExact(key))
            m_tiles.insert(key, new Tile{std::move(piece.values), exact}, static_cast<qsizetype>(bytes));
    }
    if (!pieces.empty())
        emit arrived();
    if (!wasExact && isOverviewExact())
        emit overviewChanged();
}

ValueStatistics TileLoader::statistics(Aggregate aggregate, int level)
{
    if (level >= m_circuit->overviewLevel())
        return statisticsOf(overview(aggregate, level));
    ValueStatistics found = m_circuit->statistics(aggregate, level);
    if (aggregate == Aggregate::Strongest && isOverviewExact()) {
        found.low = std::min(found.low, double{m_strongest.front().minCoeff()});
        found.high = std::max(found.high, double{m_strongest.front().maxCoeff()});
    }
    return found;
}

} // namespace headwise::ui
