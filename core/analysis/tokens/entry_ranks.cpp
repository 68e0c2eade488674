#include "core/analysis/tokens/entry_ranks.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace headwise {

namespace {

constexpr Eigen::Index tileRows = 256;
constexpr Eigen::Index tileCols = 512;

class RankCounter {
public:
    explicit RankCounter(const RankQuestion& question)
        : m_question(question)
        , m_columns(question.columns)
        , m_rows(question.rowFactors.cast<float>())
        , m_out(question.targets.size())
    {
        for (Eigen::Index row = 0; row < m_rows.cols(); ++row)
            rankOf(row).value = exact(row, target(row));
    }

    Result<std::vector<EntryRank>> run(const Task& task)
    {
        Matrix<float> tile;
        const Eigen::Index cols = m_columns.factors().cols();
        for (Eigen::Index firstRow = 0; firstRow < m_rows.cols(); firstRow += tileRows) {
            const Eigen::Index rows = std::min(tileRows, m_rows.cols() - firstRow);
            for (Eigen::Index first = 0; first < cols; first += tileCols) {
                if (task.cancelled())
                    return stopped();
                const Eigen::Index count = std::min(tileCols, cols - first);
                tile.noalias() = m_columns.factors().middleCols(first, count).transpose()
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
        return m_columns.entry(m_question.rowFactors.col(row), id);
    }

    void look(const float* values, Eigen::Index count, std::size_t first, Eigen::Index row)
    {
        EntryRank& rank = rankOf(row);
        const float value = static_cast<float>(rank.value);
        // Covers rounded factors, r rounded sums and the rounding of `value`. Beyond it a float comparison is certain.
        const double unit = std::numeric_limits<float>::epsilon();
        const float perNorm = static_cast<float>(unit * (static_cast<double>(m_rows.rows()) + 8)
                                                 * m_question.rowFactors.col(row).norm());
        const float always =
            static_cast<float>(unit * std::abs(rank.value)) + 64 * std::numeric_limits<float>::min();
        const float* norms = m_columns.norms().data() + first;
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
                compare(row, m_columns.ids()[first + static_cast<std::size_t>(i)]);
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
    const RankColumns& m_columns;
    Matrix<float> m_rows; // [r, n]
    std::vector<EntryRank> m_out;
};

} // namespace

RankColumns::RankColumns(const Matrix<double>& factors, const std::vector<bool>& unused)
    : m_exact(&factors)
{
    count(factors, unused);
    m_rounded = factors(Eigen::all, m_ids).cast<float>();
}

RankColumns::RankColumns(const Matrix<float>& rounded, const Matrix<double>& exact,
                         const std::vector<bool>& unused)
    : m_given(&rounded)
    , m_exact(exact.size() > 0 ? &exact : nullptr)
{
    count(rounded, unused);
    if (static_cast<Eigen::Index>(m_ids.size()) < rounded.cols())
        m_rounded = rounded(Eigen::all, m_ids);
}

template <typename Factors>
void RankColumns::count(const Factors& factors, const std::vector<bool>& unused)
{
    m_isFinite = factors.allFinite();
    m_ids.reserve(static_cast<std::size_t>(factors.cols()));
    m_norms.reserve(static_cast<std::size_t>(factors.cols()));
    for (int id = 0; id < factors.cols(); ++id) {
        if (!unused.empty() && unused[static_cast<std::size_t>(id)])
            continue;
        m_ids.push_back(id);
        m_norms.push_back(static_cast<float>(factors.col(id).template cast<double>().norm() * (1 + 1e-6)));
    }
}

double RankColumns::entry(const Eigen::Ref<const Eigen::VectorXd>& row, int id) const
{
    return m_exact ? row.dot(m_exact->col(id)) : row.dot(m_given->col(id).cast<double>());
}

Result<std::vector<EntryRank>> entryRanks(const RankQuestion& question, const Task& task)
{
    assert(question.rowFactors.cols() == static_cast<Eigen::Index>(question.targets.size()));
    if (!question.rowFactors.allFinite() || !question.columns.isFinite()) {
        return Error{
            ErrorCode::Corrupt,
            "A factor of this circuit holds NaN or infinity, so its entries have no order. Check the checkpoint for NaN and infinite numbers."};
    }
    return RankCounter(question).run(task);
}

} // namespace headwise
