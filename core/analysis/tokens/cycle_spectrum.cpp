#include "core/analysis/tokens/cycle_spectrum.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <span>
#include <utility>

namespace headwise {

namespace {

constexpr std::size_t strongestFrequencies = 10;

std::size_t listedFrequencies(int frequencies)
{
    return std::min(strongestFrequencies, static_cast<std::size_t>(frequencies - 1));
}

std::vector<std::size_t> followedBy(std::vector<std::size_t> shape, std::size_t last)
{
    shape.push_back(last);
    return shape;
}

/// Returns the frequencies by falling power, ties to the lower one.
std::vector<int> strongestFirst(const Eigen::VectorXd& power)
{
    std::vector<int> order(static_cast<std::size_t>(power.size() - 1));
    std::iota(order.begin(), order.end(), 1);
    std::ranges::stable_sort(order, [&](int a, int b) { return power(a) > power(b); });
    return order;
}

/// Returns the shares of the one, two, … strongest frequencies together.
std::vector<double> explainedBy(const Eigen::VectorXd& power, std::size_t count)
{
    std::vector<double> sorted(power.begin() + 1, power.end());
    std::ranges::sort(sorted, std::greater<>());
    std::vector<double> sums(count);
    std::partial_sum(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count), sums.begin());
    for (double& sum : sums)
        sum /= power.sum();
    return sums;
}

} // namespace

CycleWaves::CycleWaves(int length)
    : m_basis(length - 1, length)
{
    const double N = length;
    for (Eigen::Index wave = 0; wave < m_basis.rows(); ++wave) {
        const Eigen::Index f = frequencyOf(wave);
        const double size = std::sqrt((2 * f == length ? 1 : 2) / N);
        for (Eigen::Index t = 0; t < length; ++t) {
            const double angle = 2 * std::numbers::pi * static_cast<double>((f * t) % length) / N;
            m_basis(wave, t) = size * (wave % 2 == 0 ? std::cos(angle) : std::sin(angle));
        }
    }
}

Eigen::VectorXd CycleWaves::power(const Matrix<double>& waves, const Matrix<double>& gram) const
{
    const Matrix<double> product = waves * gram;
    const Eigen::VectorXd powers = product.cwiseProduct(waves).rowwise().sum().cwiseMax(0);
    Eigen::VectorXd out = Eigen::VectorXd::Zero(frequencies());
    for (Eigen::Index wave = 0; wave < powers.size(); ++wave)
        out(frequencyOf(wave)) += powers(wave);
    return out;
}

std::vector<std::vector<int>> shuffledCycles(int length, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    std::vector<int> order(static_cast<std::size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::vector<int>> orders(cycleShuffles);
    for (std::vector<int>& each : orders) {
        for (std::size_t left = order.size(); left > 1; --left)
            std::swap(order[left - 1], order[random() % left]);
        each = order;
    }
    return orders;
}

std::vector<ArraySpec> CycleSpectra::specs(const std::string& path, const std::vector<ArrayAxis>& axes,
                                           const std::string& of, const std::string& formula,
                                           const std::string& condition)
{
    const auto with = [&](Axis last) {
        std::vector<ArrayAxis> all = axes;
        all.emplace_back(last);
        return all;
    };
    const std::vector<ArrayAxis> alone = axes.empty() ? std::vector<ArrayAxis>{Axis::Value} : axes;
    const std::string shares =
        "share of f turns per cycle, f = 0, 1, …, ⌊N/2⌋, in the sum over f of ‖Σ_t exp(−2πi f t/N) (x_t − x̄)‖², f and N − f together; x_t = "
        + formula;
    const std::pair share(0.0, 1.0);
    return {
        {path + "_shares", with(Axis::Frequency), "Spectrum of " + of, shares, "", share, NumberType::Real,
         condition},
        {path + "_frequencies", with(Axis::Rank), "Strongest frequencies of " + of,
         "f of the largest entries of " + path + "_shares, falling", "turns per cycle", std::nullopt,
         NumberType::Whole, condition},
        {path + "_explained", with(Axis::Rank), "Explained by the strongest frequencies of " + of,
         "sum of the 1, 2, … largest entries of " + path + "_shares", "", share, NumberType::Real, condition},
        {path + "_explained_null", with(Axis::Rank), "Explained by the strongest, ids shuffled, " + of,
         fmt::format("mean of {}_explained over {} random orders of the ids", path, cycleShuffles), "", share,
         NumberType::Real, condition},
        {path + "_largest", alone, "Largest share of " + of, "largest entry of " + path + "_shares", "",
         share, NumberType::Real, condition},
        {path + "_chance", alone, "Chance of the largest share of " + of,
         fmt::format("(1 + number of {} random orders of the ids whose largest share is at least this) / {}",
                     cycleShuffles, cycleShuffles + 1),
         "", share, NumberType::Real, condition}};
}

CycleSpectra::CycleSpectra(const std::vector<std::size_t>& shape, int frequencies)
    : m_shares(followedBy(shape, static_cast<std::size_t>(frequencies)))
    , m_explained(followedBy(shape, listedFrequencies(frequencies)))
    , m_explainedNull(m_explained)
    , m_largest(shape.empty() ? std::vector<std::size_t>{1} : shape)
    , m_chance(m_largest)
    , m_strongest(m_explained.shape())
{
}

void CycleSpectra::set(std::size_t matrix, const Eigen::VectorXd& power,
                       const std::vector<Eigen::VectorXd>& shuffled)
{
    if (!(power.sum() > 0))
        return; // it has no share
    const std::span<double> explained = m_explained.list(matrix), null = m_explainedNull.list(matrix);
    const Eigen::VectorXd shares = power / power.sum();
    std::ranges::copy(shares, m_shares.list(matrix).begin());
    const std::vector<int> order = strongestFirst(power);
    std::copy_n(order.begin(), explained.size(), m_strongest.list(matrix).begin());
    std::ranges::copy(explainedBy(power, explained.size()), explained.begin());
    std::ranges::fill(null, 0.0);
    // An order that only turns or reflects the cycle has the same largest share but for rounding.
    const double least = explained[0] * (1 - 1e-9);
    double asLarge = 1;
    for (const Eigen::VectorXd& one : shuffled) {
        const std::vector<double> sums = explainedBy(one, explained.size());
        for (std::size_t i = 0; i < sums.size(); ++i)
            null[i] += sums[i] / static_cast<double>(shuffled.size());
        asLarge += sums[0] >= least ? 1 : 0;
    }
    m_largest.values()[matrix] = explained[0];
    m_chance.values()[matrix] = asLarge / static_cast<double>(1 + shuffled.size());
}

std::optional<double> CycleSpectra::largestNull() const
{
    const std::size_t length = m_explainedNull.shape().back();
    double sum = 0, count = 0;
    for (std::size_t at = 0; at < m_explainedNull.values().size(); at += length) {
        const double value = m_explainedNull.values()[at];
        sum += std::isnan(value) ? 0 : value;
        count += std::isnan(value) ? 0 : 1;
    }
    return count > 0 ? std::optional(sum / count) : std::nullopt;
}

void CycleSpectra::put(Results& results, const std::string& path, int length) const
{
    results.put(path + "_shares", m_shares).nullMean = 2.0 / (length - 1);
    results.put(path + "_frequencies", m_strongest);
    results.put(path + "_explained", m_explained);
    results.put(path + "_explained_null", m_explainedNull).attributes["draws"] =
        static_cast<double>(cycleShuffles);
    results.put(path + "_largest", m_largest).nullMean = largestNull();
    ResultArray& chance = results.put(path + "_chance", m_chance);
    chance.attributes["draws"] = static_cast<double>(cycleShuffles);
    chance.nullMean = 0.5;
    chance.nullDeviation = std::sqrt(1.0 / 12);
}

} // namespace headwise
