#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"
#include "core/circuits/scan/scan_kernel.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

namespace headwise {

constexpr Eigen::Index tileLines = ScanKernel::lines; ///< On each side of a tile.

/// One side of a product: its rows or its columns.
struct ScanSide {
    const Matrix<float>& factors;    ///< [r, lines], one column per line
    const Matrix<double>& exact;     ///< [r, lines] before rounding; empty: the factors are exact.
    const std::vector<bool>& unused; ///< Never listed, and their lists are padding; empty: all are in use.
};

/// Scale and bounds of lines that are rounded together, in their rounded numbers.
struct LineScale {
    float unit = 1;  ///< One in numbers of 16 bits of the longest line of the side.
    float norm = 0;  ///< The longest line before rounding.
    float error = 0; ///< The norm of what rounding took from a line, at most.
};

/// Bounds the error of a product of two rounded lines that is kept as float32, in units of both. \param inner numbers of a line
float errorOf(const LineScale& a, const LineScale& b, Eigen::Index inner);

/// The lines of one side in whole numbers of one width, in tiles of ScanKernel.
class RoundedLines {
public:
    /// Numbers of a line up to which sums of bytes with their starts stay below 2^31.
    static constexpr Eigen::Index longestOfBytes = 32768;

    /// [64, r], the numbers of the lines of a tile.
    using Tile = Eigen::Array<float, tileLines, Eigen::Dynamic>;

    struct alignas(64) Words { // a line of the cache
        static constexpr Eigen::Index size = 16;
        std::array<int, size> words;
    };

    /// \param perWord 2 numbers of 16 bits, or 4 bytes
    explicit RoundedLines(int perWord)
        : m_perWord(perWord)
    {
    }

    void resize(Eigen::Index inner, Eigen::Index tiles, Eigen::Index groups);
    /// Sets the scale of a group. \param norm, largest of its lines and of their numbers
    void begin(Eigen::Index group, float norm, float largest);
    /// Rounds a tile of the group.
    void put(Eigen::Index group, Eigen::Index tile, const Tile& lines);

    Eigen::Index steps() const { return m_steps; }
    const int* tile(Eigen::Index index) const { return m_words[offset(index)].words.data(); }
    /// Copies tiles as ScanKernel takes rows: bytes are 128 more than their numbers.
    std::vector<Words> asRows(Eigen::Index first, Eigen::Index tiles) const;
    /// Copies a tile line by line, [64, steps], as ScanKernel takes a single line.
    std::vector<int> byLine(Eigen::Index tile) const;
    /// Starts of the products of these lines as columns: bytes of rows are 128 more than their numbers.
    const int* starts(Eigen::Index tile) const { return m_starts.data() + tile * ScanKernel::lines; }
    const LineScale& scale(Eigen::Index group) const { return m_scales[static_cast<std::size_t>(group)]; }

private:
    std::size_t offset(Eigen::Index tile) const
    {
        return static_cast<std::size_t>(tile * m_steps * ScanKernel::lines / Words::size);
    }

    int m_perWord;
    Eigen::Index m_steps = 0;
    std::vector<Words> m_words;
    std::vector<int> m_starts;
    std::vector<LineScale> m_scales;
};

/// Lines of one side, of which the products with the other side are taken.
///
/// Lines fall by their norms, so that those of a tile are about as long, or by other keys if all are made as long as one another. One or
/// more tiles are a group, which has one scale.
class ScanLines {
public:
    struct Order {
        Eigen::Index tilesOfGroup;
        bool needBytes; ///< Besides numbers of 16 bits.
        /// One for each line; their norms are divided out then.
        std::optional<std::vector<float>> keys = std::nullopt;
    };

    /// Errors: Corrupt (a number is not finite), Cancelled.
    static Result<ScanLines> create(const ScanSide& side, const Order& order, const Task& task);

    Eigen::Index count() const { return static_cast<Eigen::Index>(m_ids.size()); }
    Eigen::Index inner() const { return m_inner; }
    Eigen::Index tiles() const { return (count() + tileLines - 1) / tileLines; }
    Eigen::Index groups() const { return (tiles() + m_tilesOfGroup - 1) / m_tilesOfGroup; }
    Eigen::Index groupOf(Eigen::Index tile) const { return tile / m_tilesOfGroup; }
    /// The first tile of a group; of the last group plus one: the number of tiles.
    Eigen::Index firstTile(Eigen::Index group) const { return std::min(group * m_tilesOfGroup, tiles()); }
    /// The lines of a tile; the last tile may have fewer than 64.
    std::span<const int> idsOf(Eigen::Index tile) const;
    const RoundedLines& pairs() const { return m_pairs; }
    const RoundedLines& rounded(bool isOfBytes) const { return isOfBytes ? m_bytes : m_pairs; }

private:
    ScanLines(const ScanSide& side, const Order& order);

    /// Lengths of all lines of the side.
    struct Measures {
        Eigen::VectorXd norms, largest; // largest: of its numbers, without their signs
        Eigen::VectorXd factors;        // by which it is multiplied before rounding
    };
    void round(const Matrix<float>& factors, Eigen::Index group, const Measures& measures);

    std::vector<int> m_ids;
    RoundedLines m_pairs{2}, m_bytes{4}; // of 16 bits, of 8
    Eigen::Index m_inner, m_tilesOfGroup;
    bool m_hasBytes;
};

} // namespace headwise
