#include "core/analysis/comparison/token_profile.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <utility>

namespace headwise {

namespace {

/// Indices of the k largest entries that count, ascending; ties to the lower one.
template <typename Row>
std::vector<int> largest(const Row& row, std::size_t k, const std::vector<bool>& leftOut)
{
    using Scalar = typename Row::Scalar;
    std::vector<std::pair<Scalar, int>> best; // falling
    for (Eigen::Index i = 0; i < row.size(); ++i) {
        const Scalar value = row(i);
        if ((best.size() == k && !(value > best.back().first))
            || (!leftOut.empty()
                && (static_cast<std::size_t>(i) >= leftOut.size() || leftOut[static_cast<std::size_t>(i)])))
            continue;
        const auto place = std::upper_bound(best.begin(), best.end(), value,
                                            [](Scalar v, const auto& entry) { return v > entry.first; });
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

/// Returns the k largest outputs of each source. \param read [n, r] E W_V
template <typename Scalar>
Result<std::vector<std::vector<int>>> outputsOf(const Matrix<double>& read, const Matrix<double>& W_O,
                                                const ProfiledTokens& tokens, const Task& task)
{
    constexpr Eigen::Index rowsAtOnce = 32;
    const Matrix<Scalar> out = timesColumns<Scalar>(W_O.template cast<Scalar>(), tokens.W_U); // [r, outputs]
    std::vector<std::vector<int>> found;
    for (Eigen::Index first = 0; first < read.rows(); first += rowsAtOnce) {
        if (task.cancelled())
            return stopped();
        const Eigen::Index count = std::min(rowsAtOnce, read.rows() - first);
        const Matrix<Scalar> lines =
            out.transpose() * read.middleRows(first, count).transpose().template cast<Scalar>();
        for (Eigen::Index row = 0; row < count; ++row)
            found.push_back(largest(lines.col(row), tokens.k, tokens.leftOut));
    }
    return found;
}

double jaccardOf(const std::vector<int>& a, const std::vector<int>& b)
{
    std::vector<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    const double common = static_cast<double>(both.size());
    return common / (static_cast<double>(a.size() + b.size()) - common);
}

} // namespace

double TokenProfiles::jaccard(std::size_t head, const TokenProfiles& other, std::size_t otherHead,
                              std::size_t shift) const
{
    const auto& a = outputs[head];
    const auto& b = other.outputs[otherHead];
    if (a.empty() || b.empty())
        return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (std::size_t t = 0; t < a.size(); ++t)
        sum += jaccardOf(a[t], b[(t + shift) % b.size()]);
    return sum / static_cast<double>(a.size());
}

std::vector<int> drawnFrom(std::vector<int> ids, std::size_t count, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    count = std::min(count, ids.size());
    for (std::size_t i = 0; i < count; ++i)
        std::swap(ids[i], ids[i + static_cast<std::size_t>(random() % (ids.size() - i))]);
    ids.resize(count);
    std::sort(ids.begin(), ids.end());
    return ids;
}

Eigen::VectorXd similarityColumn(Matrix<double> read, const Matrix<double>& O)
{
    read.rowwise() -= read.colwise().mean().eval();
    const Matrix<double> K = read * (O * O.transpose()) * read.transpose();
    const Matrix<double> unit = K / K.norm(); // 0/0: NaN
    return Eigen::Map<const Eigen::VectorXd>(unit.data(), unit.size());
}

Result<TokenProfiles> tokenProfiles(const Circuits& circuits, const std::vector<HeadId>& heads,
                                    const ProfiledTokens& tokens, const Task& task)
{
    TokenProfiles profiles;
    profiles.similarities.resize(tokens.E.rows() * tokens.E.rows(), static_cast<Eigen::Index>(heads.size()));
    profiles.outputs.resize(heads.size());
    const auto readHead = [&](int i) -> Result<Done> {
        const auto index = static_cast<std::size_t>(i);
        const HeadWeights<double> head = circuits.weights().head<double>(heads[index]);
        const Matrix<double> read = tokens.sources(heads[index].layer) * head.W_V;
        profiles.similarities.col(i) = similarityColumn(read, head.W_O);
        if (!profiles.similarities.col(i).allFinite())
            return Done{}; // a zero head has no largest outputs
        auto outputs = tokens.W_U.isExact() ? outputsOf<double>(read, head.W_O, tokens, task)
                                            : outputsOf<float>(read, head.W_O, tokens, task);
        if (!outputs)
            return outputs.error();
        profiles.outputs[index] = std::move(outputs).value();
        return Done{};
    };
    const auto done = parallelFor(static_cast<int>(heads.size()), task, "outputs of tokens", readHead);
    if (!done)
        return done.error();
    return profiles;
}

} // namespace headwise
