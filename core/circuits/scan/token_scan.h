#pragma once

#include "core/circuits/scan/scan_lines.h"

#include <vector>

namespace headwise {

/// The largest and the smallest entries of every row of a product that is never formed, and the largest of every column.
struct RowEnds {
    int k = 0;                  ///< Entries per row; padded with id −1 and NaN if fewer columns are in use.
    std::vector<int> ids;       ///< [rows, k] columns of the largest, falling, ties to the lower id.
    std::vector<double> values; ///< [rows, k]
    std::vector<int>
        lowestIds; ///< [rows, k] columns of the smallest, rising, ties to the lower id; may be empty.
    std::vector<double> lowestValues; ///< [rows, k]
    std::vector<int> columnIds; ///< [cols, k] rows of the largest of each column, likewise; may be empty.
    std::vector<double> columnValues; ///< [cols, k]
    double skipped = 0;               ///< Share of the products that were too short to be multiplied.
};

/// Extends marks of tokens, which may be shorter than a side of a circuit, to all of its lines; past the end all are left
/// out.
std::vector<bool> marks(const std::vector<bool>& unused, Eigen::Index count);

/// Lists to make: the largest of each row; its smallest too; the largest of each column too.
enum class ScanEnds { Largest, Both, BothAndColumns };

struct RowScan {
    ScanSide rows, cols;
    int k = 10;
    ScanEnds ends = ScanEnds::Both;
    /// Memory for the ends of columns. What needs more than eight times as much gets an eighth of that.
    double columnBytes = 256e6;
    const ScanKernel* kernel = nullptr; ///< One of scanKernels(); null: the fastest.
};

/// Finds the ends of every row, and those of the columns in the same pass. It multiplies tile by tile, the longest lines of both sides
/// first, in whole numbers to which each side is rounded, and keeps the ends of each row and column in a tile. Where lengths differ enough,
/// tiles whose lines are too short to reach an end (|x·y| ≤ ‖x‖ ‖y‖) are left out; rows that reach about as much of their lengths share a
/// tile then, and columns are scanned after the rows, as these were. The numbers are bytes where the processor multiplies these faster,
/// otherwise of 16 bits. What rounding takes from each line bounds how far it moves an entry. Tiles that can hold one of the first k by
/// this bound are multiplied again in 16 bits, and the entries that can be among them are ranked by products in double. The answer is that
/// of a brute-force double product. Errors: Corrupt (a factor is not finite), Cancelled. Cost: 2 · rows · cols · r operations at the most.
/// Memory besides the answer: two copies of both sides in 16 bits and in bytes, per thread a 64th of the entries of 512 rows for each end,
/// and `columnBytes` for the columns.
Result<RowEnds> scanRows(const RowScan& scan, const Task& task);

} // namespace headwise
