#include "core/circuits/scan/scan_lines.h"

#include "core/base/parallel.h"

#include <cmath>
#include <functional>
#include <limits>

namespace headwise {

namespace {

constexpr double longestLine =
    32440; // the norm of a line in numbers of 16 bits: below 2^15, so that sums stay below 2^30
constexpr double largestByte = 127;
constexpr double shortestLine = 0x1p-60; // of the longest; what is shorter is rounded as if it were as long

} // namespace

float errorOf(const LineScale& a, const LineScale& b, Eigen::Index inner)
{
    constexpr float epsilon = std::numeric_limits<float>::epsilon();
    const float rounding =
        epsilon * static_cast<float>(inner + 12); // of the factors, of scales and of what is done in float32
    return a.error * b.norm + (a.norm + a.error) * b.error + rounding * a.norm * b.norm;
}

void RoundedLines::resize(Eigen::Index inner, Eigen::Index tiles, Eigen::Index groups)
{
    m_steps = (inner + m_perWord - 1) / m_perWord;
    m_words.resize(offset(tiles));
    m_starts.resize(static_cast<std::size_t>(tiles * ScanKernel::lines));
    m_scales.resize(static_cast<std::size_t>(groups));
}

void RoundedLines::begin(Eigen::Index group, double norm, double largest)
{
    const double unit = m_perWord == 2 ? norm : largest * longestLine / largestByte;
    m_scales[static_cast<std::size_t>(group)].unit = static_cast<float>(unit);
}

void RoundedLines::put(Eigen::Index group, Eigen::Index tile, Eigen::Index place, const Eigen::ArrayXd& line)
{
    constexpr double rounder = 0x1.8p52; // what is added to it loses its fraction
    LineScale& scale = m_scales[static_cast<std::size_t>(group)];
    const Eigen::ArrayXd numbers = line * (longestLine / double(scale.unit));
    const Eigen::ArrayXd whole = (numbers + rounder) - rounder;
    scale.norm = std::max(scale.norm, static_cast<float>(numbers.matrix().norm()));
    scale.error = std::max(scale.error, static_cast<float>((numbers - whole).matrix().norm()));
    const int bits = 32 / m_perWord;
    int* word = m_words[offset(tile)].words.data() + place;
    int sum = 0;
    for (Eigen::Index first = 0; first < whole.size(); first += m_perWord, word += ScanKernel::lines) {
        unsigned packed = 0;
        const Eigen::Index count = std::min<Eigen::Index>(m_perWord, whole.size() - first);
        for (int i = 0; i < count; ++i) {
            const int number = static_cast<int>(whole(first + i));
            sum += number;
            packed |= (static_cast<unsigned>(number + m_offset) & ((1U << bits) - 1)) << (i * bits);
        }
        *word = static_cast<int>(packed);
    }
    if (m_perWord == 4)
        m_starts[static_cast<std::size_t>(tile * ScanKernel::lines + place)] = -128 * sum;
}

ScanLines::ScanLines(const Side& side)
    : m_bytes(4, side.areColumns ? 128 : 0)
    , m_inner(side.factors.rows())
    , m_tilesOfGroup(side.tilesOfGroup)
{
}

Result<ScanLines> ScanLines::create(const Side& side, const Task& task)
{
    ScanLines lines(side);
    const Matrix<float>& factors = side.factors;
    const Eigen::VectorXd norms = factors.cast<double>().colwise().norm();
    if (!factors.allFinite())
        return Error{
            ErrorCode::Corrupt,
            "A factor of this circuit holds NaN or infinity, so its entries have no order; check the checkpoint for NaN, infinite or very large numbers."};
    for (int id = 0; id < factors.cols(); ++id) {
        if (side.unused.empty() || !side.unused[static_cast<std::size_t>(id)])
            lines.m_ids.push_back(id);
    }
    std::ranges::stable_sort(lines.m_ids, std::greater<>(), [&](int id) {
        return side.keys ? double((*side.keys)[static_cast<std::size_t>(id)]) : norms(id);
    });
    lines.m_pairs.resize(lines.inner(), lines.tiles(), lines.groups());
    if (side.needBytes)
        lines.m_bytes.resize(lines.inner(), lines.tiles(), lines.groups());
    Eigen::VectorXd lengths = norms;
    if (!side.keys && lines.count() > 0)
        lengths.setConstant(norms(lines.m_ids.front()));
    lengths = (lengths.array() > 0).select(lengths, 1);
    const auto done = parallelFor(static_cast<int>(lines.groups()), task, "tokens", [&](int group) {
        lines.round(side, group, lengths);
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

void ScanLines::round(const Side& side, Eigen::Index group, const Eigen::VectorXd& lengths)
{
    double norm = shortestLine, largest = shortestLine;
    const Eigen::Index first = firstTile(group), end = firstTile(group + 1);
    const auto line = [&](int id) -> Eigen::ArrayXd {
        return side.factors.col(id).array().cast<double>() / lengths(id);
    };
    for (Eigen::Index tile = first; tile < end; ++tile) {
        for (const int id : idsOf(tile)) {
            const Eigen::ArrayXd numbers = line(id);
            norm = std::max(norm, numbers.matrix().norm());
            largest = std::max(largest, numbers.abs().maxCoeff());
        }
    }
    m_pairs.begin(group, norm, largest);
    if (side.needBytes)
        m_bytes.begin(group, norm, largest);
    for (Eigen::Index tile = first; tile < end; ++tile) {
        const std::span<const int> ids = idsOf(tile);
        for (Eigen::Index place = 0; place < tileLines; ++place) {
            const auto last = static_cast<Eigen::Index>(ids.size()) - 1;
            const Eigen::ArrayXd numbers = line(
                ids[static_cast<std::size_t>(std::min(place, last))]); // the last one again is no new end
            m_pairs.put(group, tile, place, numbers);
            if (side.needBytes)
                m_bytes.put(group, tile, place, numbers);
        }
    }
}

} // namespace headwise
