#include "core/analysis/spectra/direction_ends.h"

#include "core/analysis/selected_heads.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace headwise {

namespace {

constexpr Eigen::Index directionEndsTokensPerBlock = 512;

/// Scores of every token along every direction in float32, with a bound on the error against the product in double.
struct RoughScores {
    Matrix<float> scores;   // [tokens, n]
    Eigen::ArrayXd lengths; // [tokens], ‖e‖
    double rounding = 0; // |score − E u| ≤ rounding ‖e‖ for ‖u‖ = 1, in whatever order it is summed

    /// Returns a lower (sign −1) or upper (sign 1) bound on each token's length in a span: ‖row of E U‖ ∓ its rounding.
    Eigen::ArrayXd bound(const std::vector<int>& span, double sign) const
    {
        Eigen::ArrayXd squares = Eigen::ArrayXd::Zero(scores.rows());
        for (const int column : span)
            squares += scores.col(column).cast<double>().array().square();
        return squares.sqrt() + sign * rounding * std::sqrt(static_cast<double>(span.size())) * lengths;
    }
};

Result<RoughScores> roughScores(const TokenSide& tokens, const DirectionSide& side, int layer,
                                const Matrix<double>& directions, const Task& task)
{
    const Matrix<float> right = directions.cast<float>();
    const Eigen::Index V = tokenCount(tokens, side, layer);
    RoughScores rough{Matrix<float>(V, right.cols()), Eigen::ArrayXd(V), 0};
    const double longest = directions.cols() > 0 ? directions.colwise().norm().maxCoeff() : 0;
    // Covers the rounding of the sum, and of factors stored in double. The extra tenth covers the rounding of the lengths.
    rough.rounding = 1.1 * static_cast<double>(directions.rows() + 3) * std::ldexp(longest, -24);
    const auto blocks = static_cast<int>((V + directionEndsTokensPerBlock - 1) / directionEndsTokensPerBlock);
    const auto done = parallelFor(blocks, withoutProgress(task), "", [&](int index) -> Result<Done> {
        const Eigen::Index first = index * directionEndsTokensPerBlock;
        const Eigen::Index count = std::min(directionEndsTokensPerBlock, V - first);
        if (side.usesUnembedding()) {
            const auto block = tokens.W_U.block<float>(first, count);
            const auto& part = *block;
            rough.scores.middleRows(first, count).noalias() = part.transpose() * right;
            rough.lengths.segment(first, count) = part.colwise().norm().transpose().cast<double>();
        } else {
            const auto block = tokens.embeddingOf(layer).block<float>(first, count);
            const auto& part = *block;
            rough.scores.middleRows(first, count).noalias() = part * right;
            Eigen::ArrayXf squares = Eigen::ArrayXf::Zero(count);
            for (Eigen::Index i = 0; i < part.cols(); ++i) // as they lie in memory
                squares += part.col(i).array().square();
            rough.lengths.segment(first, count) = squares.sqrt().cast<double>();
        }
        return Done{};
    });
    if (!done)
        return done.error();
    return rough;
}

/// The tokens that may rank among the first few in several orders.
class Candidates {
public:
    Candidates(Eigen::Index tokens, const NamedDirections& of)
        : m_isIn(static_cast<std::size_t>(tokens), false)
    {
        for (Eigen::Index id = 0; id < tokens; ++id)
            if (static_cast<std::size_t>(id) >= of.unused.size() || !of.unused[static_cast<std::size_t>(id)])
                m_used.push_back(static_cast<int>(id));
        m_length = std::min<std::ptrdiff_t>(std::max(of.length, 0), std::ssize(m_used));
    }

    /// Adds the candidates of one order, given bounds on its values.
    /// A token is a candidate if its upper bound reaches the smallest of the largest `m_length` lower bounds.
    void add(const Eigen::ArrayXd& low, const Eigen::ArrayXd& high)
    {
        if (m_length == 0)
            return;
        std::vector<double> first; // a heap, the least in front
        for (const int id : m_used) {
            const double floor = std::isnan(low(id)) ? -std::numeric_limits<double>::infinity() : low(id);
            if (std::ssize(first) == m_length) {
                if (floor <= first.front())
                    continue;
                std::pop_heap(first.begin(), first.end(), std::greater<>());
                first.pop_back();
            }
            first.push_back(floor);
            std::push_heap(first.begin(), first.end(), std::greater<>());
        }
        for (const int id : m_used)
            if (!(high(id) < first.front()))
                m_isIn[static_cast<std::size_t>(id)] = true;
    }

    std::vector<int> ids() const ///< Ids in rising order.
    {
        std::vector<int> ids;
        for (const int id : m_used)
            if (m_isIn[static_cast<std::size_t>(id)])
                ids.push_back(id);
        return ids;
    }

private:
    std::vector<bool> m_isIn; // [tokens]
    std::vector<int> m_used;  // rising
    std::ptrdiff_t m_length = 0;
};

std::vector<int> candidates(const RoughScores& rough, const NamedDirections& of)
{
    Candidates found(rough.scores.rows(), of);
    const Eigen::ArrayXd error = rough.rounding * rough.lengths;
    for (Eigen::Index k = 0; k < of.listed; ++k) {
        const Eigen::ArrayXd score = rough.scores.col(k).cast<double>();
        found.add(score - error, score + error);
        found.add(-score - error, error - score);
    }
    for (const std::vector<int>& span : of.spans)
        found.add(rough.bound(span, -1), rough.bound(span, 1));
    return found.ids();
}

/// Returns `ends` of the values of `ids`. Rising ids keep the order of ties.
TokenEnds endsOf(const RowVector<double>& values, const std::vector<int>& ids, int length)
{
    TokenEnds found = ends(values, length, {});
    for (auto* list : {&found.top, &found.bottom})
        for (TokenEntry& entry : *list)
            entry.id = ids[static_cast<std::size_t>(entry.id)];
    return found;
}

} // namespace

Result<DirectionEnds> directionEnds(const TokenSide& tokens, const DirectionSide& side, int layer,
                                    const NamedDirections& of, const Task& task)
{
    const auto rough = roughScores(tokens, side, layer, of.directions, task);
    if (!rough)
        return rough.error();
    const std::vector<int> ids = candidates(*rough, of);
    Matrix<double> rows(static_cast<Eigen::Index>(ids.size()), of.directions.rows());
    for (std::size_t i = 0; i < ids.size(); ++i)
        rows.row(static_cast<Eigen::Index>(i)) = tokenRows(tokens, side, layer, ids[i], 1);
    const Matrix<double> scores = rows * of.directions;
    DirectionEnds found;
    for (Eigen::Index k = 0; k < of.listed; ++k)
        found.ends.push_back(endsOf(scores.col(k).transpose(), ids, of.length));
    for (const std::vector<int>& span : of.spans) {
        const Matrix<double> inside = scores(Eigen::all, span);
        found.spans.push_back(endsOf(inside.rowwise().norm().transpose(), ids, of.length).top);
    }
    return found;
}

double jointSign(const TokenEnds& ends)
{
    if (ends.top.empty())
        return 1;
    const TokenEntry &top = ends.top.front(), &bottom = ends.bottom.front();
    const double high = std::abs(top.value), low = std::abs(bottom.value);
    const TokenEntry& largest = high > low || (high == low && top.id < bottom.id) ? top : bottom;
    return largest.value < 0 ? -1 : 1;
}

} // namespace headwise
