#include "ui/heatmaps/tile_queue.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <thread>

namespace headwise::ui {

bool TileQueue::isOnItsWay(const TilePiece& piece) const
{
    const auto same = [&](const TilePiece& other) { return piece.isSameAs(other); };
    return std::ranges::any_of(m_running, same) || std::ranges::any_of(m_delivered, same);
}

void TileQueue::want(std::vector<TilePiece> pieces)
{
    const std::lock_guard lock(m_mutex);
    m_wanted.clear();
    for (TilePiece& piece : pieces)
        if (!isOnItsWay(piece))
            m_wanted.push_back(std::move(piece));
}

void TileQueue::setBlocks(std::vector<TilePiece> blocks)
{
    const std::lock_guard lock(m_mutex);
    m_blocks.assign(std::make_move_iterator(blocks.begin()), std::make_move_iterator(blocks.end()));
}

std::optional<TilePiece> TileQueue::next(bool blocksToo)
{
    const std::lock_guard lock(m_mutex);
    std::deque<TilePiece>* from = !m_wanted.empty() ? &m_wanted : blocksToo ? &m_blocks : nullptr;
    if (!from || from->empty())
        return std::nullopt;
    TilePiece piece = std::move(from->front());
    from->pop_front();
    m_running.push_back(piece);
    return piece;
}

void TileQueue::deliver(TilePiece piece)
{
    const std::lock_guard lock(m_mutex);
    std::erase_if(m_running, [&](const TilePiece& other) { return piece.isSameAs(other); });
    m_blocksDelivered += piece.kind == TilePiece::Kind::Block ? 1 : 0;
    m_delivered.push_back(std::move(piece));
}

void TileQueue::giveBack(const TilePiece& piece)
{
    const std::lock_guard lock(m_mutex);
    std::erase_if(m_running, [&](const TilePiece& other) { return piece.isSameAs(other); });
    (piece.kind == TilePiece::Kind::Block ? m_blocks : m_wanted).push_front(piece);
}

std::vector<TilePiece> TileQueue::take()
{
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_delivered, {});
}

int TileQueue::blocksDelivered() const
{
    const std::lock_guard lock(m_mutex);
    return m_blocksDelivered;
}

bool TileQueue::hasWanted() const
{
    const std::lock_guard lock(m_mutex);
    return !m_wanted.empty();
}

Result<Done> computePieces(const TiledCircuit& circuit, TileQueue& queue, bool blocksToo, int blockCount,
                           const Task& task)
{
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int threads = task.threads > 0 ? task.threads : cores;
    const Task quiet{
        .stop = task.stop, .onProgress = {}, .threads = threads}; // Pieces are counted, not threads.
    std::mutex reporting;                                         // `done` never falls.
    return parallelFor(threads, quiet, "threads", [&](int) -> Result<Done> {
        while (std::optional<TilePiece> piece = queue.next(blocksToo)) {
            auto values = piece->kind == TilePiece::Kind::Estimate
                ? Result<Matrix<float>>(circuit.strongestEstimate(piece->area))
                : circuit.entries(piece->aggregate, piece->area, task);
            if (!values) {
                queue.giveBack(*piece);
                return values.error();
            }
            piece->values = *std::move(values);
            queue.deliver(*std::move(piece));
            const std::lock_guard lock(reporting);
            if (blocksToo)
                task.report(queue.blocksDelivered(), blockCount, "blocks");
            if (task.cancelled())
                return stopped();
        }
        return Done{};
    });
}

} // namespace headwise::ui
