#include "core/circuits/scan/scan_lines.h"

#include "core/base/parallel.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace headwise {

namespace {

constexpr float longestLine =
    32440; // the norm of a line in numbers of 16 bits: below 2^15, so that sums stay below 2^30
constexpr float largestByte = 127;
constexpr float shortestLine = 0x1p-60F; // of the longest; what is shorter is rounded as if it were as long

} // namespace

float errorOf(const LineScale& a, const LineScale& b, Eigen::Index inner)
{
    constexpr float epsilon = std::numeric_limits<float>::epsilon();
    const float rounding =
        epsilon * static_cast<float>(inner + 16); // of the factors, of scales and of what is done in float32
    return a.error * b.norm + (a.norm + a.error) * b.error + rounding * a.norm * b.norm;
}

void RoundedLines::resize(Eigen::Index inner, Eigen::Index tiles, Eigen::Index groups)
{
    m_steps = (inner + m_perWord - 1) / m_perWord;
    m_words.resize(offset(tiles));
    m_starts.resize(static_cast<std::size_t>(tiles * ScanKernel::lines));
    m_scales.resize(static_cast<std::size_t>(groups));
}

void RoundedLines::begin(Eigen::Index group, float norm, float largest)
{
    m_scales[static_cast<std::size_t>(group)].unit =
        m_perWord == 2 ? norm : largest * (longestLine / largestByte);
}

void RoundedLines::put(Eigen::Index group, Eigen::Index tile, const Tile& lines)
{
    using Floats = Eigen::Array<float, tileLines, 1>;
    using Ints = std::array<int, static_cast<std::size_t>(tileLines)>;
    constexpr float rounder = 0x1.8p23F; // what is added to it loses its fraction
    LineScale& scale = m_scales[static_cast<std::size_t>(group)];
    const int bits = 32 / m_perWord;
    const unsigned mask = (1U << bits) - 1;
    Floats norms = Floats::Zero(), errors = Floats::Zero(); // squares
    Ints sums{}, numbers{};
    int* words = m_words[offset(tile)].words.data();
    for (Eigen::Index first = 0; first < lines.cols(); first += m_perWord, words += tileLines) {
        std::array<unsigned, std::tuple_size_v<Ints>> packed{};
        const Eigen::Index count = std::min<Eigen::Index>(m_perWord, lines.cols() - first);
        for (int i = 0; i < count; ++i) {
            const Floats scaled = lines.col(first + i) * (longestLine / scale.unit);
            const Floats whole = (scaled + rounder) - rounder;
            norms += scaled.square();
            errors += (scaled - whole).square();
            Eigen::Map<Eigen::Array<int, tileLines, 1>>(numbers.data()) = whole.cast<int>();
            for (std::size_t line = 0; line < numbers.size(); ++line) {
                sums[line] += numbers[line];
                packed[line] |= (static_cast<unsigned>(numbers[line]) & mask) << (i * bits);
            }
        }
        std::memcpy(words, packed.data(), sizeof packed);
    }
    scale.norm = std::max(scale.norm, std::sqrt(norms.maxCoeff()));
    scale.error = std::max(scale.error, std::sqrt(errors.maxCoeff()));
    if (m_perWord == 4)
        std::ranges::transform(sums, m_starts.begin() + tile * tileLines, [](int sum) { return -128 * sum; });
}

std::vector<RoundedLines::Words> RoundedLines::asRows(Eigen::Index first, Eigen::Index tiles) const
{
    const auto from = m_words.begin() + static_cast<std::ptrdiff_t>(offset(first));
    std::vector<Words> rows(from, from + static_cast<std::ptrdiff_t>(offset(tiles)));
    if (m_perWord == 4) {
        for (Words& some : rows) {
            for (int& word : some.words)
                word ^= static_cast<int>(0x80808080U); // adds 128 to bytes from −128 on
        }
    }
    return rows;
}

std::vector<int> RoundedLines::byLine(Eigen::Index tile) const
{
    using Block = Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic>;
    std::vector<int> lines(static_cast<std::size_t>(m_steps * tileLines));
    Eigen::Map<Block>(lines.data(), m_steps, tileLines) =
        Eigen::Map<const Block>(this->tile(tile), tileLines, m_steps).transpose();
    return lines;
}

ScanLines::ScanLines(const ScanSide& side, const Order& order)
    : m_inner(side.factors.rows())
    , m_tilesOfGroup(order.tilesOfGroup)
    , m_hasBytes(order.needBytes)
{
}

Result<ScanLines> ScanLines::create(const ScanSide& side, const Order& wanted, const Task& task)
{
    constexpr Eigen::Index perBlock = 1024;
    ScanLines lines(side, wanted);
    const Matrix<float>& factors = side.factors;
    Measures measures{Eigen::VectorXd(factors.cols()), Eigen::VectorXd(factors.cols()), {}};
    const auto blocks = static_cast<int>((factors.cols() + perBlock - 1) / perBlock);
    const auto measured = parallelFor(blocks, Task{task.stop, {}, task.threads}, {}, [&](int block) {
        const Eigen::Index first = block * perBlock, count = std::min(perBlock, factors.cols() - first);
        const auto some = factors.middleCols(first, count);
        measures.norms.segment(first, count) = some.cast<double>().colwise().norm().transpose();
        for (Eigen::Index id = first; id < first + count; ++id)
            measures.largest(id) = factors.rows() > 0 ? double(factors.col(id).cwiseAbs().maxCoeff()) : 0;
        return Result<Done>(Done{});
    });
    if (!measured)
        return measured.error();
    if (!measures.norms.allFinite())
        return Error{
            ErrorCode::Corrupt,
            "A factor of this circuit holds NaN or infinity, so its entries have no order; check the checkpoint for NaN, infinite or very large numbers."};
    std::vector<std::pair<double, int>> order; // falling keys as rising numbers
    order.reserve(static_cast<std::size_t>(factors.cols()));
    for (int id = 0; id < factors.cols(); ++id) {
        const auto at = static_cast<std::size_t>(id);
        if (side.unused.empty() || !side.unused[at])
            order.emplace_back(wanted.keys ? -double((*wanted.keys)[at]) : -measures.norms(id), id);
    }
    std::ranges::sort(order);
    lines.m_ids.resize(order.size());
    std::ranges::transform(order, lines.m_ids.begin(), &std::pair<double, int>::second);
    lines.m_pairs.resize(lines.inner(), lines.tiles(), lines.groups());
    lines.m_bytes.resize(lines.inner(), lines.m_hasBytes ? lines.tiles() : 0, lines.groups());
    Eigen::VectorXd lengths = measures.norms;
    if (!wanted.keys && lines.count() > 0)
        lengths.setConstant(measures.norms(lines.m_ids.front()));
    measures.factors = (lengths.array() > 0).select(lengths.cwiseInverse(), 1);
    const auto done = parallelFor(static_cast<int>(lines.groups()), task, "tokens", [&](int group) {
        lines.round(factors, group, measures);
        return Result<Done>(Done{});
    });
    if (!done)
        return done.error();
    return lines;
}

std::span<const int> ScanLines::idsOf(Eigen::Index tile) const
{
    const Eigen::Index first = tile * tileLines;
    return std::span(m_ids).subspan(static_cast<std::size_t>(first),
                                    static_cast<std::size_t>(std::min(tileLines, count() - first)));
}

void ScanLines::round(const Matrix<float>& factors, Eigen::Index group, const Measures& measures)
{
    double norm = shortestLine, largest = shortestLine;
    const Eigen::Index first = firstTile(group), end = firstTile(group + 1);
    for (Eigen::Index tile = first; tile < end; ++tile) {
        for (const int id : idsOf(tile)) {
            norm = std::max(norm, measures.norms(id) * measures.factors(id));
            largest = std::max(largest, measures.largest(id) * measures.factors(id));
        }
    }
    for (RoundedLines* const rounded : {&m_pairs, &m_bytes})
        rounded->begin(group, static_cast<float>(norm), static_cast<float>(largest));
    RoundedLines::Tile lines(tileLines, m_inner);
    for (Eigen::Index tile = first; tile < end; ++tile) {
        const std::span<const int> ids = idsOf(tile);
        for (Eigen::Index place = 0; place < tileLines; ++place) {
            const auto last = static_cast<Eigen::Index>(ids.size()) - 1;
            const int id =
                ids[static_cast<std::size_t>(std::min(place, last))]; // the last one again is no new end
            lines.row(place) =
                (factors.col(id).cast<double>() * measures.factors(id)).cast<float>().transpose().array();
        }
        m_pairs.put(group, tile, lines);
        if (m_hasBytes)
            m_bytes.put(group, tile, lines);
    }
}

} // namespace headwise
