#pragma once

#include "core/base/task.h"
#include "core/circuits/factored_matrix.h"
#include "core/results/color_scale.h"

#include <array>
#include <memory>
#include <vector>

namespace headwise {

/// Summary of a block of cells that are too small to be drawn one by one.
enum class Aggregate {
    Strongest, ///< The entry of largest magnitude, with its sign: a single large entry never disappears.
    Mean,      ///< Shows texture.
};

/// A rectangle of entries at one level of a pyramid: an entry of level l stands for 2^l × 2^l cells, fewer at the far edges.
struct TileArea {
    int level = 0;
    Eigen::Index row = 0; // All four in entries of that level.
    Eigen::Index col = 0;
    Eigen::Index rows = 0;
    Eigen::Index cols = 0;
};

/// A circuit too large to be formed, such as the [50257, 50257] full OV of a head, ready to be drawn at any zoom.
///
/// An immutable value: every entry is computed from the thin factors when it is asked for. Levels from `overviewLevel()` up
/// are small enough to be kept whole. Memory: three times the factors.
class TiledCircuit {
public:
    static constexpr Eigen::Index overviewSize = 1024; ///< Most rows and columns of the overview.

    /// Errors: Corrupt if a factor holds a number that is not finite or so large that a product may not be; Cancelled.
    /// Cost: O((rows + cols) r²) flops, and about 2048² r for each level's statistics.
    static Result<std::shared_ptr<const TiledCircuit>> create(FactoredMatrix<float> circuit,
                                                              const Task& task);

    Eigen::Index rows() const { return m_circuit.rows(); }
    Eigen::Index cols() const { return m_circuit.cols(); }
    float at(Eigen::Index row, Eigen::Index col) const { return m_circuit.at(row, col); }
    int levelCount() const { return static_cast<int>(m_left.size()); } ///< The last level is one entry.
    int overviewLevel() const { return m_overviewLevel; }
    Eigen::Index rowsAt(int level) const;
    Eigen::Index colsAt(int level) const;
    TileArea wholeLevel(int level) const { return {level, 0, 0, rowsAt(level), colsAt(level)}; }

    /// The entries of `area`, which lies inside its level, exactly.
    ///
    /// The mean of a block of a product is the product of the means of its factors' rows and columns; the strongest is found
    /// by forming the cells, a few thousand at a time.
    /// Errors: Cancelled.
    /// Cost: 2 r flops a cell for the strongest, 2 r an entry for the mean; one thread.
    Result<Matrix<float>> entries(Aggregate aggregate, const TileArea& area, const Task& task) const;

    /// The strongest of the crossings of the `estimateSide` longest rows with as many columns of each block: never stronger than
    /// the strongest of it, and the same up to level 2.
    Matrix<float> strongestEstimate(const TileArea& area) const;
    static constexpr int estimateSide = 4;
    /// Returns strongestEstimate() of the whole `overviewLevel()`.
    const Matrix<float>& overviewEstimate() const { return m_overview; }
    static bool isEstimateExact(int level) { return (1 << level) <= estimateSide; }

    /// Returns statistics of the entries of a level up to `overviewLevel()`. Sums over all cells at level 0 are exact. The rest is
    /// from a sample of entries and from the crossings of the longest rows and columns, where the extremes are.
    const ValueStatistics& statistics(Aggregate aggregate, int level) const;

    const Eigen::VectorXf& rowNorms() const { return m_rowNorms; } ///< [rows], Euclidean, exact.
    const Eigen::VectorXf& colNorms() const { return m_colNorms; } ///< [cols]

private:
    explicit TiledCircuit(FactoredMatrix<float> circuit);
    void prepareLevels();
    Matrix<float> means(const TileArea& area) const;
    Result<Matrix<float>> sampleOf(Aggregate aggregate, int level, const Task& task) const;
    Result<ValueStatistics> sampled(Aggregate aggregate, int level, const Task& task) const;

    FactoredMatrix<float> m_circuit;
    std::vector<Matrix<float>> m_left;  // [rows of the level, r], means of the rows under an entry
    std::vector<Matrix<float>> m_right; // [r, columns of the level]
    Matrix<float> m_overview;
    Eigen::VectorXf m_rowNorms;
    Eigen::VectorXf m_colNorms;
    std::array<std::vector<ValueStatistics>, 2> m_statistics; // of each aggregate, by level
    int m_overviewLevel = 0;
};

} // namespace headwise
