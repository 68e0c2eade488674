#include "core/analysis/comparison/token_overlap.h"

#include "core/analysis/random_matrix.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace headwise {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr int gaussianHeads = 8;

/// Ascending ids, without repetition.
std::vector<int> sampleOf(const AnalysisContext& context)
{
    std::vector<int> usable(static_cast<std::size_t>(context.tokens->E.rows()));
    std::iota(usable.begin(), usable.end(), 0);
    const std::vector<bool>& unused = context.options.unusedTokens;
    std::erase_if(usable, [&](int id) {
        return static_cast<std::size_t>(id) < unused.size() && unused[static_cast<std::size_t>(id)];
    });
    std::mt19937_64 random(context.options.inputs.seed);
    const std::size_t count = std::min<std::size_t>(usable.size(), overlapTokens);
    for (std::size_t i = 0; i < count; ++i)
        std::swap(usable[i], usable[i + static_cast<std::size_t>(random() % (usable.size() - i))]);
    usable.resize(count);
    std::sort(usable.begin(), usable.end());
    return usable;
}

/// Ids of the k largest entries that count, ascending; ties to the lower id.
template <typename Row>
std::vector<int> largest(const Row& row, std::size_t k, const std::vector<bool>& unused)
{
    std::vector<std::pair<float, int>> best; // falling
    for (Eigen::Index i = 0; i < row.size(); ++i) {
        const float value = row(i);
        if ((best.size() == k && !(value > best.back().first))
            || (!unused.empty()
                && (static_cast<std::size_t>(i) >= unused.size() || unused[static_cast<std::size_t>(i)])))
            continue;
        const auto place = std::upper_bound(best.begin(), best.end(), value,
                                            [](float v, const auto& entry) { return v > entry.first; });
        best.emplace(place, value, static_cast<int>(i));
        if (best.size() > k)
            best.pop_back();
    }
    std::vector<int> ids;
    ids.reserve(best.size());
    for (const auto& entry : best)
        ids.push_back(entry.second);
    std::sort(ids.begin(), ids.end());
    return ids;
}

double jaccard(const std::vector<int>& a, const std::vector<int>& b)
{
    std::vector<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    const double common = static_cast<double>(both.size());
    return common / (static_cast<double>(a.size() + b.size()) - common);
}

/// K / ‖K‖_F as one column, K = X Xᵀ, X = read · O less its mean row. \param read [tokens, r]
Eigen::VectorXf similarityColumn(Matrix<double> read, const Matrix<double>& O)
{
    read.rowwise() -= read.colwise().mean().eval();
    const Matrix<double> K = read * (O * O.transpose()) * read.transpose();
    const Matrix<double> unit = K / K.norm(); // 0/0: NaN
    return Eigen::Map<const Eigen::VectorXd>(unit.data(), unit.size()).cast<float>();
}

Matrix<double> rowsOf(const Matrix<float>& E, const std::vector<int>& ids)
{
    return Matrix<float>(E(ids, Eigen::all)).cast<double>();
}

class Overlap {
public:
    Overlap(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_task(task)
        , m_heads(selectedHeads(context.circuits.config(), context.options))
        , m_ids(sampleOf(context))
        , m_k(static_cast<std::size_t>(
              std::min<Eigen::Index>(context.options.tableSize, context.tokens->W_U.cols())))
        , m_columns(static_cast<Eigen::Index>(m_ids.size() * m_ids.size()),
                    static_cast<Eigen::Index>(m_heads.size()))
        , m_sets(m_heads.size())
    {
    }

    Result<TokenOverlap> run()
    {
        const auto done = parallelFor(static_cast<int>(m_heads.size()), m_task, "outputs of tokens",
                                      [&](int i) { return readHead(static_cast<std::size_t>(i)); });
        if (!done)
            return done.error();
        const auto count = static_cast<Eigen::Index>(m_heads.size());
        TokenOverlap found{Matrix<double>::Constant(count, count, none),
                           (m_columns.transpose() * m_columns).cast<double>(), jaccardOfChance(),
                           ckaOfChance()};
        const auto compared = parallelFor(static_cast<int>(count), withoutProgress(m_task), "", [&](int i) {
            for (Eigen::Index j = 0; j < count; ++j)
                found.jaccard(i, j) = meanJaccard(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
            return Result<Done>(Done{});
        });
        if (!compared)
            return compared.error();
        return found;
    }

private:
    Result<Done> readHead(std::size_t index)
    {
        const TokenSide& tokens = *m_context.tokens;
        const HeadId id = m_heads[index];
        const HeadWeights<double> head = m_context.circuits.weights().head<double>(id);
        const Matrix<double> read = rowsOf(tokens.embeddingOf(id.layer), m_ids) * head.W_V;
        m_columns.col(static_cast<Eigen::Index>(index)) = similarityColumn(read, head.W_O);
        if (!m_columns.col(static_cast<Eigen::Index>(index)).allFinite())
            return Done{};                                             // a zero head has no largest outputs
        const Matrix<float> out = head.W_O.cast<float>() * tokens.W_U; // [r, V out]
        constexpr Eigen::Index rowsAtOnce = 32;
        for (Eigen::Index first = 0; first < read.rows(); first += rowsAtOnce) {
            if (m_task.cancelled())
                return stopped();
            const Eigen::Index count = std::min(rowsAtOnce, read.rows() - first);
            const Matrix<float> lines =
                out.transpose() * read.middleRows(first, count).transpose().cast<float>();
            for (Eigen::Index i = 0; i < count; ++i)
                m_sets[index].push_back(largest(lines.col(i), m_k, m_context.options.unusedTokens));
        }
        return Done{};
    }

    double meanJaccard(std::size_t a, std::size_t b) const
    {
        if (m_sets[a].empty() || m_sets[b].empty())
            return none;
        double sum = 0;
        for (std::size_t t = 0; t < m_ids.size(); ++t)
            sum += jaccard(m_sets[a][t], m_sets[b][t]);
        return sum / static_cast<double>(m_ids.size());
    }

    double jaccardOfChance() const
    {
        const double k = static_cast<double>(m_k);
        const double common = k * k / static_cast<double>(m_context.tokens->W_U.cols());
        return common / (2 * k - common);
    }

    Sample ckaOfChance() const
    {
        const Matrix<double> E = rowsOf(m_context.tokens->E, m_ids);
        const Eigen::Index r = m_context.circuits.config().dHead;
        std::vector<Eigen::VectorXf> columns;
        columns.reserve(gaussianHeads);
        for (int i = 0; i < gaussianHeads; ++i) {
            const std::uint64_t seed =
                m_context.options.inputs.seed * gaussianHeads + static_cast<std::uint64_t>(i);
            const Matrix<double> factors = gaussianMatrix(E.cols(), 2 * r, seed);
            columns.push_back(similarityColumn(E * factors.leftCols(r), factors.rightCols(r).transpose()));
        }
        std::vector<double> found;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j)
                found.push_back(double(columns[i].dot(columns[j])));
        }
        return Sample(found);
    }

    const AnalysisContext& m_context;
    const Task& m_task;
    std::vector<HeadId> m_heads;
    std::vector<int> m_ids;
    std::size_t m_k;
    Matrix<float> m_columns;                           // [tokens², heads]
    std::vector<std::vector<std::vector<int>>> m_sets; // [heads, tokens, k]
};

} // namespace

Result<TokenOverlap> tokenOverlap(const AnalysisContext& context, const Task& task)
{
    return Overlap(context, task).run();
}

} // namespace headwise
