#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <vector>

namespace headwise {

/// Rank of one entry among all entries of its row.
struct EntryRank {
    double value = 0; ///< The entry itself.
    int above = 0;    ///< Number of larger entries.
    int below = 0;    ///< Number of smaller entries.
    int equal = 0;    ///< Number of other equal entries.

    bool operator==(const EntryRank&) const = default;
};

/// The columns of a product that is never formed, prepared for any number of rank questions.
/// Threads: const functions may be called from several threads at once.
class RankColumns {
public:
    /// \param factors [r, cols], which must outlive this
    /// \param unused columns that are never counted; empty: none
    RankColumns(const Matrix<double>& factors, const std::vector<bool>& unused);
    /// \param rounded the same in float32, which must outlive this too
    /// \param exact may be empty, if `rounded` holds the numbers themselves
    RankColumns(const Matrix<float>& rounded, const Matrix<double>& exact, const std::vector<bool>& unused);

    const std::vector<int>& ids() const { return m_ids; } ///< Ids of the columns in use, rising.
    const std::vector<float>& norms() const
    {
        return m_norms;
    }                                            ///< Norms of these columns, never underestimated.
    bool isFinite() const { return m_isFinite; } ///< Whether all columns are finite, including unused ones.
    /// Returns the factors of the columns in use, [r, ids].
    const Matrix<float>& factors() const { return m_rounded.size() > 0 ? m_rounded : *m_given; }
    /// Returns one entry of the product. \param row [r]
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

/// Counts clearly larger or smaller entries in float32, and the others in double.
/// The result equals that of a brute-force product in double. Runs on the calling thread.
/// Errors: Corrupt if a factor is not finite; Cancelled. Cost: 2 · n · cols · r flops; memory: a tile.
Result<std::vector<EntryRank>> entryRanks(const RankQuestion& question, const Task& task);

} // namespace headwise
