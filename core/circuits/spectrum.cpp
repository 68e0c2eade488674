#include "core/circuits/spectrum.h"

#include "core/base/decompositions.h"
#include "core/base/matrix.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace headwise {

namespace {

/// Input for the singular values of L · R: LᵀL and R Rᵀ, both [r, r], and the possible error of σ² from rounding in them.
struct GramPair {
    Matrix<double> left, right;
    double uncertainty = 0;
};

/// Returns an upper bound of the largest eigenvalue of a positive semidefinite matrix, close for Gram matrices of heads.
double normBound(const Matrix<double>& gram)
{
    return gram.cwiseAbs().colwise().sum().maxCoeff(); // symmetric, and columns are contiguous
}

/// Wᵀ G W and its possible loss by cancellation, in units of ε.
struct Sandwich {
    Matrix<double> gram;
    double magnitude;
};

Sandwich sandwich(const Matrix<double>& W, const Matrix<double>& G)
{
    const Matrix<double> inside = G * W;
    return {W.transpose() * inside, normBound(G) * normBound(columnGram(W))};
}

/// The same without G.
Sandwich unweighted(Matrix<double> gram)
{
    const double magnitude = normBound(gram);
    return {std::move(gram), magnitude};
}

GramPair gramPair(const HeadWeights<double>& weights, CircuitKind kind, int layer, const TokenSide* tokens)
{
    const bool isQk = kind == CircuitKind::Qk || kind == CircuitKind::FullQk;
    const Matrix<double>* embedding = isFull(kind) ? &tokens->embeddingGramOf(layer) : nullptr;
    const Matrix<double>* out = kind == CircuitKind::FullOv ? &tokens->UUt : embedding;
    const Matrix<double>& from = isQk ? weights.W_Q : weights.W_V;
    const Sandwich left = embedding ? sandwich(from, *embedding) : unweighted(columnGram(from));
    const auto right = [&] {
        if (isQk)
            return out ? sandwich(weights.W_K, *out) : unweighted(columnGram(weights.W_K));
        return out ? sandwich(weights.W_O.transpose(), *out) : unweighted(rowGram(weights.W_O));
    }();
    const double perUnit = std::numeric_limits<double>::epsilon() * static_cast<double>(left.gram.rows());
    return {left.gram, right.gram,
            perUnit * (left.magnitude * normBound(right.gram) + right.magnitude * normBound(left.gram))};
}

/// σ(L R)² are the eigenvalues of F (R Rᵀ) Fᵀ with LᵀL = Fᵀ F. Returns nothing if rounding could cost more than 3e-6·σ₁.
Result<std::optional<std::vector<double>>> gramSingularValues(const GramPair& pair)
{
    const Result<Matrix<double>> F = semidefiniteFactor(pair.left);
    if (!F)
        return F.error();
    std::vector<double> sigma(static_cast<std::size_t>(pair.left.rows()), 0.0);
    const Matrix<double> half = *F * pair.right;
    const Result<Eigen::VectorXd> squares = symmetricEigenvalues(half * F->transpose());
    if (!squares)
        return squares.error();
    for (Eigen::Index i = 0; i < squares->size(); ++i)
        sigma[static_cast<std::size_t>(i)] = std::sqrt(std::max(0.0, (*squares)(squares->size() - 1 - i)));
    if (pair.uncertainty > 1e-11 * sigma[0] * sigma[0])
        return std::optional<std::vector<double>>();
    return std::optional(std::move(sigma));
}

} // namespace

RankMeasures rankMeasures(std::span<const double> sigma)
{
    double sum = 0;
    double squares = 0;
    double fourths = 0;
    for (const double s : sigma) {
        sum += s;
        squares += s * s;
        fourths += s * s * s * s;
    }
    RankMeasures measures;
    measures.frobeniusNorm = std::sqrt(squares);
    if (!(sum > 0)) {
        measures.effectiveRank = measures.stableRank = measures.participationRatio = measures.k90 =
            notComputed;
        return measures;
    }
    double entropy = 0;
    double energy = 0;
    for (const double s : sigma) {
        const double p = s / sum;
        entropy -= p > 0 ? p * std::log(p) : 0;
        measures.k90 += energy < 0.9 * squares ? 1 : 0;
        energy += s * s;
    }
    measures.effectiveRank = std::exp(entropy);
    measures.stableRank = squares / (sigma[0] * sigma[0]);
    measures.participationRatio = squares * squares / fourths;
    return measures;
}

Result<std::vector<double>> circuitSingularValues(const Circuits& circuits,
                                                  const HeadWeights<double>& weights, CircuitKind kind,
                                                  HeadId head, const TokenSide* tokens)
{
    const Eigen::Index r = weights.W_Q.cols();
    const bool fewTokens = isFull(kind) && std::min(tokens->E.rows(), tokens->W_U.cols()) < r;
    if (!fewTokens) {
        Result<std::optional<std::vector<double>>> sigma =
            gramSingularValues(gramPair(weights, kind, head.layer, tokens));
        if (!sigma)
            return sigma.error();
        if (*sigma)
            return **std::move(sigma);
    }
    Result<std::vector<double>> sigma = circuits.circuit<double>(kind, head, tokens).singularValues();
    if (!sigma)
        return sigma;
    std::vector<double> padded = std::move(sigma).value();
    padded.resize(static_cast<std::size_t>(r), 0.0);
    return padded;
}

Result<std::vector<std::complex<double>>> circuitEigenvalues(const Circuits& circuits,
                                                             const HeadWeights<double>& weights,
                                                             CircuitKind kind, HeadId head,
                                                             const TokenSide* tokens)
{
    if (kind == CircuitKind::FullOv && !tokens->isSquare()) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "Full OV has no eigenvalues here: the embedding has {} tokens and the unembedding {}.",
                tokens->E.rows(), tokens->W_U.cols())};
    }
    const Eigen::Index r = weights.W_Q.cols();
    const bool small = weights.W_Q.rows() < r || (isFull(kind) && tokens->E.rows() < r);
    Result<std::vector<std::complex<double>>> values = std::vector<std::complex<double>>();
    if (small || !isFull(kind)) {
        values = circuits.circuit<double>(kind, head, tokens).eigenvalues();
    } else { // A·B and B·A share their non-zero eigenvalues, so [V, V] becomes [r, r]
        const Matrix<double> inside = kind == CircuitKind::FullQk
            ? Matrix<double>(weights.W_K.transpose() * (tokens->embeddingGramOf(head.layer) * weights.W_Q))
            : Matrix<double>(weights.W_O * (tokens->unembedEmbedOf(head.layer) * weights.W_V));
        const Result<Eigen::VectorXcd> lambda = eigenvalues(inside);
        values = lambda ? Result(inReadingOrder(*lambda)) : lambda.error();
    }
    if (!values)
        return values;
    std::vector<std::complex<double>> padded = std::move(values).value();
    padded.resize(static_cast<std::size_t>(r));
    return padded;
}

double positivity(std::span<const std::complex<double>> eigenvalues)
{
    double real = 0;
    double modulus = 0;
    for (const std::complex<double>& lambda : eigenvalues) {
        real += lambda.real();
        modulus += std::abs(lambda);
    }
    return modulus > 0 ? std::clamp(real / modulus, -1.0, 1.0) : std::numeric_limits<double>::quiet_NaN();
}

} // namespace headwise
