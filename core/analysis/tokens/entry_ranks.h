#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <vector>

namespace headwise {

/// Where one entry of a row stands among all entries of that row.
struct EntryRank {
    double value = 0; ///< The entry itself.
    int above = 0;    ///< How many others are larger,
    int below = 0;    ///< smaller,
    int equal = 0;    ///< and just as large.

    bool operator==(const EntryRank&) const = default;
};

/// The columns of a product that is never formed, made ready for any number of questions.
/// Threads: const functions from several threads at once are fine.
class RankColumns {
public:
    /// \param factors [r, cols], which must outlive this
    /// \param unused columns that are never counted; empty: none
    RankColumns(const Matrix<double>& factors, const std::vector<bool>& unused);
    /// \param rounded the same in float32, which must outlive this too
    /// \param exact may be empty, if `rounded` holds the numbers themselves
    RankColumns(const Matrix<float>& rounded, const Matrix<double>& exact, const std::vector<bool>& unused);

    const std::vector<int>& ids() const { return m_ids; }       ///< Of the columns that count, rising.
    const std::vector<float>& norms() const { return m_norms; } ///< Theirs, never too small.
    bool isFinite() const { return m_isFinite; }                ///< Whether all columns are, unused ones too.
    /// Of those that count, [r, ids].
    const Matrix<float>& factors() const { return m_rounded.size() > 0 ? m_rounded : *m_given; }
    /// One entry of the product. \param row [r]
    double entry(const Eigen::Ref<const Eigen::VectorXd>& row, int id) const;

private:
    template <typename Factors>
    void count(const Factors& factors, const std::vector<bool>& unused);

    const Matrix<float>* m_given = nullptr;
    const Matrix<double>* m_exact = nullptr; // null where m_given is
    Matrix<float> m_rounded;                 // empty where m_given serves as it is
    std::vector<int> m_ids;
    std::vector<float> m_norms;
    bool m_isFinite = true;
};

/// One entry in each row of such a product.
struct RankQuestion {
    const Matrix<double>& rowFactors; ///< [r, n], a row of the product per column here
    const RankColumns& columns;
    const std::vector<int>& targets; ///< [n], the column asked about in each row
};

/// Counts in float32 what is clearly larger or smaller, and in double what is not, so that the answer is that of a brute-force
/// double product. On the calling thread.
/// Errors: Corrupt if a factor is not finite; Cancelled. Cost: 2 · n · cols · r flops; memory: a tile.
Result<std::vector<EntryRank>> entryRanks(const RankQuestion& question, const Task& task);

} // namespace headwise
