#include "core/analysis/shared/eigenvalue_null.h"

#include "core/base/decompositions.h"
#include "core/base/parallel.h"
#include "core/circuits/random_matrix.h"
#include "core/circuits/spectrum.h"
#include "core/results/layer_null.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index columnsPerBlock = 256;
constexpr std::uint64_t seedsPerRun = 256; // more than all factors of a run

/// Returns the number n of left factors, and of right ones. The relative error of the deviation of n² numbers is 1/√(2 n²).
int factorCount(const ModelConfig& config)
{
    return config.dHead <= 32 ? 16 : config.dHead <= 128 ? 10 : 8;
}

/// Role of a random factor in a run. Each role has its own seeds, so that no two factors share one.
enum class Role : std::uint64_t { Left, Right, InnerLeft, InnerRight };

/// Returns the factors of all heads side by side, [d, n r], with independent entries of deviation 1.
Result<Matrix<float>> gaussianFactors(const AnalysisContext& context, Role role, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const int n = factorCount(config);
    const std::uint64_t first =
        context.options.inputs.seed * seedsPerRun + static_cast<std::uint64_t>(role) * (seedsPerRun / 4);
    Matrix<float> out(config.dModel, Eigen::Index{n} * config.dHead);
    const auto done = parallelFor(n, withoutProgress(task), "random heads", [&](int i) {
        out.middleCols(Eigen::Index{i} * config.dHead, config.dHead) =
            gaussianMatrix(config.dModel, config.dHead, first + static_cast<std::uint64_t>(i)).cast<float>();
        return Result<Done>(Done{});
    });
    if (!done)
        return done.error();
    return out;
}

/// A [d, d] matrix that the factors are multiplied by; null: the identity.
struct Between {
    const Matrix<double>* matrix = nullptr;
    double norm = 1; // ‖·‖_F; products are with matrix/norm, so that none overflows in float32

    explicit Between(const Matrix<double>* m)
        : matrix(m)
        , norm(m ? m->stableNorm() : 1)
    {
    }
    bool isUsable() const { return norm > 0 && std::isfinite(norm); }

    /// Returns factorsᵀ · matrix/norm, [k, d]. \param factors [d, k]
    Result<Matrix<float>> after(const Matrix<float>& factors, const Task& task) const
    {
        if (!matrix)
            return Matrix<float>(factors.transpose());
        Matrix<float> out(factors.cols(), matrix->cols());
        const auto blocks = static_cast<int>((matrix->cols() + columnsPerBlock - 1) / columnsPerBlock);
        const auto done = parallelFor(blocks, withoutProgress(task), "random heads", [&](int block) {
            const Eigen::Index first = block * columnsPerBlock;
            const Eigen::Index count = std::min(columnsPerBlock, matrix->cols() - first);
            const Matrix<float> some = (matrix->middleCols(first, count) / norm).cast<float>();
            out.middleCols(first, count).noalias() = factors.transpose() * some;
            return Result<Done>(Done{});
        });
        if (!done)
            return done.error();
        return out;
    }
};

/// Heads L Rᵀ of every pair of factors, stored as parts of their circuits between tokens.
struct Heads {
    Eigen::Index r = 0;
    Matrix<float> left;   // [d, n r] L
    Matrix<float> turned; // [n r, d] Rᵀ W_U E
    Matrix<float> inner;  // [n r, n r] between L and Rᵀ, or empty

    /// Returns a matrix with the non-zero eigenvalues of the circuit of the i-th left and the j-th right factor.
    Matrix<float> circle(Eigen::Index i, Eigen::Index j) const
    {
        const Matrix<float> R = turned.middleRows(j * r, r);
        if (inner.size() == 0)
            return smallerProduct<float>(left.middleCols(i * r, r), R);
        return smallerProduct<float>(left.middleCols(i * r, r) * inner.block(i * r, j * r, r, r), R);
    }
};

Result<Heads> headsBetween(const AnalysisContext& context, const Between& between, const Task& task)
{
    auto left = gaussianFactors(context, Role::Left, task);
    if (!left)
        return left.error();
    const auto right = gaussianFactors(context, Role::Right, task);
    if (!right)
        return right.error();
    auto turned = between.after(*right, task);
    if (!turned)
        return turned.error();
    return Heads{context.circuits.config().dHead, std::move(left).value(), std::move(turned).value(), {}};
}

/// Returns one number for every head. Empty if any head has none.
/// \param number computes it from the eigenvalues of the circuit of the i-th and j-th factor
template <typename Number>
Result<std::vector<double>> samples(const Heads& heads, const Task& task, const Number& number)
{
    const auto n = static_cast<int>(heads.left.cols() / heads.r);
    std::vector<double> found(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
    const auto done =
        parallelFor(n * n, withoutProgress(task), "random heads", [&](int index) -> Result<Done> {
            const auto lambda = eigenvalues<float>(heads.circle(index / n, index % n));
            if (!lambda)
                return lambda.error();
            found[static_cast<std::size_t>(index)] = number(*lambda, index / n, index % n);
            return Done{};
        });
    if (!done && done.error().code != ErrorCode::Corrupt)
        return done.error();
    const bool areAllNumbers =
        std::all_of(found.begin(), found.end(), [](double value) { return std::isfinite(value); });
    return done && areAllNumbers ? std::move(found) : std::vector<double>();
}

using Null = Result<std::optional<HeadNull>>;

Null positivityNull(const Heads& heads, const Task& task)
{
    const auto found = samples(heads, task, [](const Eigen::VectorXcd& lambda, int, int) {
        return positivity({lambda.data(), static_cast<std::size_t>(lambda.size())});
    });
    if (!found)
        return found.error();
    if (found->empty())
        return std::optional<HeadNull>();
    const Eigen::Map<const Eigen::ArrayXd> values(found->data(), static_cast<Eigen::Index>(found->size()));
    return std::optional(HeadNull{0, std::sqrt(values.square().mean()), static_cast<int>(values.size())});
}

/// Returns Wᵀ G W of every factor side by side, [r, n r].
Result<Matrix<float>> gramsOf(const Matrix<float>& factors, Eigen::Index r, const Between& G,
                              const Task& task)
{
    const auto turned = G.after(factors, task);
    if (!turned)
        return turned.error();
    Matrix<float> out(r, factors.cols());
    for (Eigen::Index first = 0; first < factors.cols(); first += r)
        out.middleCols(first, r).noalias() = turned->middleRows(first, r) * factors.middleCols(first, r);
    return out;
}

/// \param left, right Gram matrices of the token sides
Null normalityNull(const AnalysisContext& context, const Between& between,
                   const std::pair<Between, Between>& sides, const Task& task)
{
    const auto heads = headsBetween(context, between, task);
    if (!heads)
        return heads.error();
    const auto right = gaussianFactors(context, Role::Right, task);
    if (!right)
        return right.error();
    const Eigen::Index r = heads->r;
    const auto leftGrams = gramsOf(heads->left, r, sides.first, task);
    if (!leftGrams)
        return leftGrams.error();
    const auto rightGrams = gramsOf(*right, r, sides.second, task);
    if (!rightGrams)
        return rightGrams.error();
    const double scale = between.norm / sides.first.norm * (between.norm / sides.second.norm);
    const auto found = samples(*heads, task, [&](const Eigen::VectorXcd& lambda, int i, int j) {
        const double square =
            leftGrams->middleCols(i * r, r).cwiseProduct(rightGrams->middleCols(j * r, r)).sum();
        return square > 0 ? scale * lambda.squaredNorm() / square : std::numeric_limits<double>::quiet_NaN();
    });
    if (!found)
        return found.error();
    return found->empty() ? std::optional<HeadNull>() : std::optional(nullOf(*found));
}

/// Returns the null of the heads of one layer.
Null nullIn(const AnalysisContext& context, CircuitKind kind, int layer, EigenvalueNumber number,
            const Task& task)
{
    const TokenSide* tokens = context.tokens.get();
    const Matrix<double>* gram = isFull(kind) ? &tokens->embeddingGramOf(layer) : nullptr;
    const bool isFullOv = kind == CircuitKind::FullOv;
    const Between between(isFullOv ? &tokens->unembedEmbedOf(layer) : gram);
    const std::pair sides{Between(gram), Between(isFullOv ? &tokens->UUt : gram)};
    if (!between.isUsable() || !sides.first.isUsable() || !sides.second.isUsable())
        return std::optional<HeadNull>();
    if (number == EigenvalueNumber::Normality)
        return normalityNull(context, between, sides, task);
    const auto heads = headsBetween(context, between, task);
    return heads ? positivityNull(*heads, task) : heads.error();
}

} // namespace

std::string gaussianHeads(const AnalysisContext& context)
{
    const int n = factorCount(context.circuits.config());
    return fmt::format("{} Gaussian heads of seed {}", n * n, context.options.inputs.seed);
}

Result<Done> addEigenvalueNull(ResultArray& array, const AnalysisContext& context, CircuitKind kind,
                               EigenvalueNumber number, const Task& task)
{
    const int last = context.circuits.config().nLayers - 1;
    const auto null = nullIn(context, kind, last, number, task);
    if (!null)
        return null.error();
    if (!*null)
        return Done{};
    array.nullMean = (*null)->mean;
    array.nullDeviation = (*null)->deviation;
    setNullDraws(array, (*null)->draws,
                 number == EigenvalueNumber::Positivity ? NullMean::Known : NullMean::Drawn);
    array.definition +=
        "; null: " + gaussianHeads(context) + (isFull(kind) ? " between the same matrices of tokens" : "");
    if (!isFull(kind) || last == 0 || !context.tokens->isLayer0Special(0))
        return Done{};
    const auto first = nullIn(context, kind, 0, number, task);
    if (!first)
        return first.error();
    if (*first) {
        array.attributes[layer0NullMean] = (*first)->mean;
        array.attributes[layer0NullDeviation] = (*first)->deviation;
    }
    return Done{};
}

Result<std::optional<HeadNull>> virtualHeadNull(const AnalysisContext& context, int layer, const Task& task)
{
    const Between between(&context.tokens->unembedEmbedOf(layer));
    if (!between.isUsable())
        return std::optional<HeadNull>();
    auto heads = headsBetween(context, between, task);
    if (!heads)
        return heads.error();
    const auto writes = gaussianFactors(context, Role::InnerLeft, task);
    if (!writes)
        return writes.error();
    const auto reads = gaussianFactors(context, Role::InnerRight, task);
    if (!reads)
        return reads.error();
    Heads virtualHeads = std::move(heads).value();
    virtualHeads.inner = writes->transpose() * *reads;
    return positivityNull(virtualHeads, task);
}

double eigenvalueNullFlops(const ModelConfig& config)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double n = factorCount(config);
    return n * 2 * d * d * r + n * n * (2 * d * r * r + 10 * r * r * r);
}

} // namespace headwise
