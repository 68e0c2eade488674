#pragma once

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/circuits/scan/scan_lines.h"

#include <memory>
#include <span>
#include <vector>

namespace headwise {

/// Where the ranked entries of lines go, and how many.
struct RankedLists {
    int k;
    std::vector<int>& ids;       ///< [lines, k] ids of the other side.
    std::vector<double>& values; ///< [lines, k] entries of the circuit.
};

/// The ends of the lines of some tiles in the first groups of the other side; no other group holds one of the first k entries.
struct LineEnds {
    Eigen::Index firstTile, tiles;
    const float* ends;        ///< [tiles, groups of the other side, 64]
    int sign;                 ///< 1: the largest, −1: the smallest.
    const ScanKernel& kernel; ///< It took the ends.
    Eigen::Index groups;      ///< How many have ends.
};

/// Ranks the entries of lines by the ends of each line in the groups of the other side.
///
/// Rounding moves an entry by no more than a known error. The k-th largest of the ends less their errors is therefore reached by k entries, and
/// only groups whose ends with their errors reach it can hold one of the first k. Their entries are computed again, those that can be
/// among the first k exactly.
class LineRanking {
public:
    struct Side {
        std::shared_ptr<const ScanLines> lines;
        const ScanSide& unrounded;
    };

    LineRanking(const Side& own, const Side& other);

    /// Puts the first k entries of each line into its place of the lists, ties to the lower id. Fails only if cancelled.
    Result<Done> rank(const LineEnds& own, const RankedLists& lists, const Task& task) const;

    /// Returns how many groups have to be multiplied again per line, on average.
    double groupsInDoubt(const LineEnds& own, int k) const;

    /// Returns what k entries of each line of a tile reach or more, in units of the tile. Here and below `own` is one tile and may have
    /// the ends of fewer groups.
    std::vector<float> reached(const LineEnds& own, int k) const;

    /// Returns how many groups of the other side, from the first on, can hold an entry of a tile that reaches `least`: the rest is too
    /// short, because an entry is at most the product of the lengths of its two lines.
    Eigen::Index groupsReaching(const LineEnds& own, float least) const;

private:
    struct Candidate;
    class EndBounds;
    struct OpenTile;
    class ExactLine;
    struct Place {
        Eigen::Index tile; // of those that have ends, from 0
        std::size_t place; // a line of it
    };

    void collect(Eigen::Index group, const Place& line, const LineEnds& own, OpenTile& open) const;

    std::shared_ptr<const ScanLines> m_own, m_other;
    const ScanSide* m_ownExact;
    const ScanSide* m_otherExact;
};

} // namespace headwise
