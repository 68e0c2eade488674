#include "core/analysis/shared/random_heads.h"

#include "core/base/decompositions.h"
#include "core/base/parallel.h"
#include "core/circuits/random_matrix.h"
#include "core/circuits/spectrum.h"
#include "core/results/layer_null.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace headwise {

namespace {

constexpr int manyRandomHeads = 32; // where they cost next to nothing

/// Returns Wᵀ G W, or WᵀW without G.
Matrix<double> gramOf(const Matrix<double>& W, const Matrix<double>* G)
{
    return G ? Matrix<double>(W.transpose() * (*G * W)) : Matrix<double>(W.transpose() * W);
}

/// Returns σ of L · R, falling, from LᵀL and R Rᵀ. The digits lost to cancellation do not matter for a null.
Result<std::vector<double>> singularValuesOf(const Matrix<double>& left, const Matrix<double>& right)
{
    const Result<Matrix<double>> F = semidefiniteFactor(left);
    if (!F)
        return F.error();
    const Matrix<double> half = *F * right;
    const Result<Eigen::VectorXd> squares = symmetricEigenvalues(half * F->transpose());
    if (!squares)
        return squares.error();
    std::vector<double> sigma(static_cast<std::size_t>(left.rows()), 0.0);
    for (Eigen::Index i = 0; i < squares->size(); ++i)
        sigma[static_cast<std::size_t>(i)] = std::sqrt(std::max(0.0, (*squares)(squares->size() - 1 - i)));
    return sigma;
}

} // namespace

HeadNull nullOf(const std::vector<double>& samples)
{
    const Eigen::Map<const Eigen::ArrayXd> values(samples.data(), static_cast<Eigen::Index>(samples.size()));
    const double mean = values.mean();
    return {mean, std::sqrt((values - mean).square().sum() / static_cast<double>(samples.size() - 1)),
            static_cast<int>(samples.size())};
}

HeadNull nullOfRoot(double mean, double variance)
{
    const double root = std::sqrt(mean);
    return {root * (1 - variance / 8), root * std::sqrt(variance) / 2};
}

void setNull(ResultArray& array, const HeadNull& null)
{
    if (!(null.mean > 0))
        return;
    array.nullMean = null.mean;
    array.nullDeviation = null.deviation;
    if (null.draws > 0)
        setNullDraws(array, null.draws);
}

HeadAverage::HeadAverage(const ModelConfig& config)
    : m_values(RealNumbers::perHead(config))
    , m_heads(selectedHeads(config, {}))
{
}

double HeadAverage::value() const
{
    double sum = 0;
    int count = 0;
    for (const HeadId head : m_heads) {
        const double value = m_values.at(head);
        sum += std::isfinite(value) ? value : 0;
        count += std::isfinite(value) ? 1 : 0;
    }
    return count > 0 ? sum / count : 0;
}

EntrySquares::EntrySquares(const ModelConfig& config)
    : m_means{HeadAverage(config), HeadAverage(config), HeadAverage(config), HeadAverage(config)}
{
}

void EntrySquares::set(HeadId head, const HeadWeights<double>& weights)
{
    const std::array factors{&weights.W_Q, &weights.W_K, &weights.W_V, &weights.W_O};
    for (std::size_t i = 0; i < factors.size(); ++i)
        m_means[i].set(head, factors[i]->squaredNorm() / static_cast<double>(factors[i]->size()));
}

Result<Done> EntrySquares::addOtherHeads(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> own = ownHeads(config, context.options);
    const std::vector<HeadId> all = selectedHeads(config, context.options);
    std::vector<HeadId> others;
    std::ranges::set_difference(all, own, std::back_inserter(others));
    return parallelFor(static_cast<int>(others.size()), withoutProgress(task), "heads of other shards",
                       [&](int i) -> Result<Done> {
                           const HeadId head = others[static_cast<std::size_t>(i)];
                           set(head, context.circuits.weights().head<double>(head));
                           return Done{};
                       });
}

double EntrySquares::scaleOf(CircuitKind kind) const
{
    const bool isQk = kind == CircuitKind::Qk || kind == CircuitKind::FullQk;
    return std::sqrt(of(isQk ? Factor::Q : Factor::V) * of(isQk ? Factor::K : Factor::O));
}

double numericalRank(const ModelConfig& config, const std::vector<double>& sigma)
{
    const double smallest = config.dModel * double(std::numeric_limits<float>::epsilon()) * sigma.front();
    return static_cast<double>(
        std::count_if(sigma.begin(), sigma.end(), [&](double s) { return s > smallest; }));
}

Result<std::vector<std::vector<double>>> randomSpectra(const AnalysisContext& context, CircuitKind kind,
                                                       const TokenSide* tokens, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const Matrix<double>* left = isFull(kind) ? &tokens->EtE : nullptr;
    const Matrix<double>* right = kind == CircuitKind::FullOv ? &tokens->UUt : left;
    const int count = isFull(kind) ? randomHeads : manyRandomHeads;
    std::vector<std::vector<double>> spectra(static_cast<std::size_t>(count));
    const std::uint64_t first = context.options.inputs.seed;
    const auto done = parallelFor(count, withoutProgress(task), "random heads", [&](int i) -> Result<Done> {
        const std::uint64_t seed = first + 2 * static_cast<std::uint64_t>(i);
        const Matrix<double> A = gaussianMatrix(config.dModel, config.dHead, seed);
        const Matrix<double> B = gaussianMatrix(config.dModel, config.dHead, seed + 1);
        auto sigma = singularValuesOf(gramOf(A, left), gramOf(B, right));
        if (!sigma)
            return sigma.error();
        spectra[static_cast<std::size_t>(i)] = std::move(sigma).value();
        return Done{};
    });
    if (!done && done.error().code == ErrorCode::Corrupt)
        return std::vector<std::vector<double>>();
    if (!done)
        return done.error();
    return spectra;
}

Result<SpectrumNulls> spectrumNulls(const AnalysisContext& context, CircuitKind kind, const TokenSide* tokens,
                                    const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const auto found = randomSpectra(context, kind, tokens, task);
    if (!found)
        return found.error();
    const std::vector<std::vector<double>>& spectra = *found;
    if (spectra.empty())
        return SpectrumNulls{};
    const auto over = [&](auto&& measure) {
        std::vector<double> samples;
        samples.reserve(spectra.size());
        for (const std::vector<double>& sigma : spectra)
            samples.push_back(measure(sigma));
        return nullOf(samples);
    };
    const auto ofRank = [&](double RankMeasures::*member) {
        return over([&](const std::vector<double>& sigma) { return rankMeasures(sigma).*member; });
    };
    return SpectrumNulls{
        ofRank(&RankMeasures::frobeniusNorm),
        over([](const std::vector<double>& sigma) { return sigma.front(); }),
        ofRank(&RankMeasures::effectiveRank),
        ofRank(&RankMeasures::stableRank),
        ofRank(&RankMeasures::participationRatio),
        ofRank(&RankMeasures::k90),
        over([&](const std::vector<double>& sigma) { return numericalRank(config, sigma); })};
}

} // namespace headwise
