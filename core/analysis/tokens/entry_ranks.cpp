#include "core/analysis/tokens/entry_ranks.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace headwise {

namespace {

constexpr Eigen::Index tileRows = 256;
constexpr Eigen::Index tileCols = 512;

/// The columns that count, side by side, in float32.
struct Columns {
    std::vector<int> ids;
    Matrix<float> factors;    // [r, ids]
    std::vector<float> norms; // [ids], never too small

    Columns(const Matrix<double>& all, const std::vector<bool>& unused)
    {
        for (int id = 0; id < all.cols(); ++id) {
            if (unused.empty() || !unused[static_cast<std::size_t>(id)])
                ids.push_back(id);
        }
        factors.resize(all.rows(), static_cast<Eigen::Index>(ids.size()));
        norms.reserve(ids.size());
        for (std::size_t i = 0; i < ids.size(); ++i) {
            factors.col(static_cast<Eigen::Index>(i)) = all.col(ids[i]).cast<float>();
            norms.push_back(static_cast<float>(all.col(ids[i]).norm() * (1 + 1e-6)));
        }
    }
};

class RankCounter {
public:
    RankCounter(const RankQuestion& question, const Columns& columns)
        : m_question(question)
        , m_columns(columns)
        , m_rows(question.rowFactors.cast<float>())
        , m_out(question.targets.size())
    {
        for (Eigen::Index row = 0; row < m_rows.cols(); ++row)
            rankOf(row).value = exact(row, target(row));
    }

    Result<std::vector<EntryRank>> run(const Task& task)
    {
        Matrix<float> tile;
        const Eigen::Index cols = m_columns.factors.cols();
        for (Eigen::Index firstRow = 0; firstRow < m_rows.cols(); firstRow += tileRows) {
            const Eigen::Index rows = std::min(tileRows, m_rows.cols() - firstRow);
            for (Eigen::Index first = 0; first < cols; first += tileCols) {
                if (task.cancelled())
                    return stopped();
                const Eigen::Index count = std::min(tileCols, cols - first);
                tile.noalias() = m_columns.factors.middleCols(first, count).transpose()
                    * m_rows.middleCols(firstRow, rows); // [cols, rows]: a row's entries lie together
                for (Eigen::Index row = 0; row < rows; ++row)
                    look(tile.col(row).data(), count, static_cast<std::size_t>(first), firstRow + row);
            }
        }
        return std::move(m_out);
    }

private:
    EntryRank& rankOf(Eigen::Index row) { return m_out[static_cast<std::size_t>(row)]; }
    int target(Eigen::Index row) const { return m_question.targets[static_cast<std::size_t>(row)]; }
    double exact(Eigen::Index row, int id) const
    {
        return m_question.rowFactors.col(row).dot(m_question.colFactors.col(id));
    }

    void look(const float* values, Eigen::Index count, std::size_t first, Eigen::Index row)
    {
        EntryRank& rank = rankOf(row);
        const float value = static_cast<float>(rank.value);
        // Rounded factors, r rounded sums, and the rounding of `value` itself; beyond it a float comparison is sure.
        const double unit = std::numeric_limits<float>::epsilon();
        const float perNorm = static_cast<float>(unit * (static_cast<double>(m_rows.rows()) + 8)
                                                 * m_question.rowFactors.col(row).norm());
        const float always =
            static_cast<float>(unit * std::abs(rank.value)) + 64 * std::numeric_limits<float>::min();
        const float* norms = m_columns.norms.data() + first;
        const auto doubt = [&](Eigen::Index i) { return perNorm * norms[i] + always; };
        int above = 0;
        int below = 0;
        for (Eigen::Index i = 0; i < count; ++i) {
            above += values[i] - value > doubt(i) ? 1 : 0;
            below += value - values[i] > doubt(i) ? 1 : 0;
        }
        rank.above += above;
        rank.below += below;
        if (above + below == count)
            return;
        for (Eigen::Index i = 0; i < count; ++i) {
            if (!(values[i] - value > doubt(i)) && !(value - values[i] > doubt(i)))
                compare(row, m_columns.ids[first + static_cast<std::size_t>(i)]);
        }
    }

    void compare(Eigen::Index row, int id)
    {
        if (id == target(row))
            return;
        EntryRank& rank = rankOf(row);
        const double other = exact(row, id);
        if (other > rank.value)
            ++rank.above;
        else if (other < rank.value)
            ++rank.below;
        else
            ++rank.equal;
    }

    const RankQuestion& m_question;
    const Columns& m_columns;
    Matrix<float> m_rows; // [r, n]
    std::vector<EntryRank> m_out;
};

} // namespace

Result<std::vector<EntryRank>> entryRanks(const RankQuestion& question, const Task& task)
{
    assert(question.rowFactors.cols() == static_cast<Eigen::Index>(question.targets.size()));
    if (!question.rowFactors.allFinite() || !question.colFactors.allFinite()) {
        return Error{ErrorCode::Corrupt,
                     "A factor of this circuit holds a NaN or an infinity, so its entries have no order; "
                     "check the checkpoint for numbers that are not finite."};
    }
    const Columns columns(question.colFactors, question.unusedCols);
    return RankCounter(question, columns).run(task);
}

} // namespace headwise
