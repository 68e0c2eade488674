#include "core/circuits/direction_stability.h"

#include "core/circuits/storage_precision.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

namespace {

/// Distance of σ_k … σ_l from the other singular values, including 0 if the circuit has a null space.
double distanceOf(std::span<const double> sigma, std::size_t first, std::size_t last, bool hasNullSpace)
{
    double distance = std::numeric_limits<double>::infinity();
    if (first > 0)
        distance = sigma[first - 1] - sigma[first];
    if (last + 1 < sigma.size())
        distance = std::min(distance, sigma[last] - sigma[last + 1]);
    else if (hasNullSpace)
        distance = std::min(distance, sigma[last]);
    return distance;
}

double relativeGap(std::span<const double> sigma, std::size_t k)
{
    double gap = 1;
    if (k > 0)
        gap = (sigma[k - 1] - sigma[k]) / sigma[k - 1];
    if (k + 1 < sigma.size())
        gap = std::min(gap, (sigma[k] - sigma[k + 1]) / sigma[k]);
    return gap;
}

/// Estimates the norm of a matrix of independent errors, each at most `rounding` times the entry it belongs to.
/// Source: Bandeira & van Handel 2016, "Sharp nonasymptotic bounds on the norm of random matrices with independent
/// entries".
double errorNorm(const Matrix<double>& m, double rounding)
{
    return rounding * (m.rowwise().norm().maxCoeff() + m.colwise().norm().maxCoeff());
}

/// ‖δM‖₂ of M = A B to first order: ‖δA‖ ‖B‖ + ‖A‖ ‖δB‖.
double perturbation(const Matrix<double>& A, double roundingA, const Matrix<double>& B, double roundingB)
{
    const auto norm = [](const Matrix<double>& gram) { // slightly more than its largest eigenvalue
        return std::sqrt(gram.cwiseAbs().rowwise().sum().maxCoeff());
    };
    const double normA = norm(A.transpose() * A);
    const double normB = norm(B * B.transpose());
    return errorNorm(A, roundingA) * normB + normA * errorNorm(B, roundingB);
}

double perturbationOf(const Circuits& circuits, CircuitKind kind, HeadId head)
{
    const ModelWeights& file = circuits.weights().original();
    const ModelConfig& stored = file.config();
    const int group = head.head / (stored.nHeads / stored.nKvHeads);
    const HeadWeights<double> w = circuits.weights().head<double>(head);
    if (kind == CircuitKind::Qk)
        return perturbation(w.W_Q, roundingOf(file, TensorKind::W_Q, head.layer, head.head),
                            w.W_K.transpose(), roundingOf(file, TensorKind::W_K, head.layer, group));
    return perturbation(w.W_V, roundingOf(file, TensorKind::W_V, head.layer, group), w.W_O,
                        roundingOf(file, TensorKind::W_O, head.layer, head.head));
}

} // namespace

DirectionStability directionStability(const Circuits& circuits, CircuitKind kind, HeadId head,
                                      const SingularDirections& svd)
{
    const std::span<const double> sigma(svd.S.data(), static_cast<std::size_t>(svd.S.size()));
    const bool hasNullSpace = std::ssize(sigma) < circuits.config().dModel;
    const std::vector<int> blocks = degenerateBlocks(sigma, svd.rank);
    DirectionStability out;
    out.perturbation = perturbationOf(circuits, kind, head);
    for (std::size_t k = 0; k < static_cast<std::size_t>(svd.rank); ++k) {
        const auto sameBlock = std::equal_range(blocks.begin(), blocks.end(), blocks[k]);
        const auto first = static_cast<std::size_t>(sameBlock.first - blocks.begin());
        const auto last = static_cast<std::size_t>(sameBlock.second - blocks.begin()) - 1;
        out.gap.push_back(relativeGap(sigma, k));
        out.error.push_back(std::min(1.0, out.perturbation / distanceOf(sigma, k, k, hasNullSpace)));
        out.blockError.push_back(
            std::min(1.0, out.perturbation / distanceOf(sigma, first, last, hasNullSpace)));
    }
    return out;
}

} // namespace headwise
