#include "core/analysis/comparison/circuit_pair.h"

#include "core/circuits/singular_directions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace headwise {

namespace {

Result<Factor> factorOf(Matrix<double> W)
{
    auto qr = thinQr(W);
    if (!qr)
        return qr.error();
    return Factor{std::move(W), *std::move(qr)};
}

Result<FactorPair> factorPair(Matrix<double> older, Matrix<double> newer)
{
    const bool isSame = older == newer;
    auto before = factorOf(std::move(older));
    if (!before)
        return before.error();
    auto after = isSame ? before : factorOf(std::move(newer));
    if (!after)
        return after.error();
    const Matrix<double> overlap = after->qr.Q.transpose() * before->qr.Q;
    return FactorPair{*std::move(before), *std::move(after), overlap, isSame};
}

/// Orthonormal columns that span those of W, as many as its numerical rank, in the basis Q. \returns [k, rank]
Result<Matrix<double>> spanOf(const Factor& factor)
{
    const auto d = static_cast<int>(factor.W.rows());
    const auto sigma = singularValues(factor.qr.R);
    if (!sigma)
        return sigma.error();
    const Eigen::Index k = sigma->size();
    const Eigen::Index rank = numericalRank({sigma->data(), static_cast<std::size_t>(k)}, d);
    if (rank == k)
        return Matrix<double>(Matrix<double>::Identity(k, k));
    const auto svd = thinSvd(factor.qr.R);
    if (!svd)
        return svd.error();
    return Matrix<double>(svd->U.leftCols(rank));
}

} // namespace

Result<CircuitPair> circuitPair(CircuitKind kind, HeadWeights<double>& older, HeadWeights<double>& newer)
{
    const bool isQk = kind == CircuitKind::Qk;
    auto left = isQk ? factorPair(std::move(older.W_Q), std::move(newer.W_Q))
                     : factorPair(std::move(older.W_V), std::move(newer.W_V));
    if (!left)
        return left.error();
    auto right = isQk ? factorPair(std::move(older.W_K), std::move(newer.W_K))
                      : factorPair(older.W_O.transpose(), newer.W_O.transpose());
    if (!right)
        return right.error();
    return CircuitPair{*std::move(left), *std::move(right)};
}

double changeNorm(const CircuitPair& circuit)
{
    const auto& [left, right] = circuit;
    // ΔL R_Bᵀ + L_A ΔRᵀ, what lies in the span of L_A apart from the rest: no difference of large squares.
    const Matrix<double>& Q = left.before.qr.Q;
    const Matrix<double> moved = left.after.W - left.before.W;
    const Matrix<double> inside = Q.transpose() * moved;
    const Matrix<double> outside = moved - Q * inside;
    Matrix<double> spanned = inside * right.after.W.transpose(); // [k, d]
    spanned += left.before.qr.R * (right.after.W - right.before.W).transpose();
    return std::hypot(spanned.norm(), (outside * right.after.qr.R.transpose()).norm());
}

double innerProduct(const CircuitPair& circuit)
{
    const auto& [left, right] = circuit;
    const Matrix<double> before = left.overlap * left.before.qr.R * right.before.qr.R.transpose();
    const Matrix<double> after = left.after.qr.R * right.after.qr.R.transpose() * right.overlap;
    return before.cwiseProduct(after).sum();
}

Result<double> projectionKernel(const FactorPair& pair)
{
    const auto u = spanOf(pair.before);
    if (!u)
        return u.error();
    const auto v = pair.isSame ? u : spanOf(pair.after);
    if (!v)
        return v.error();
    const Eigen::Index rank = std::max(u->cols(), v->cols());
    if (rank == 0)
        return std::numeric_limits<double>::quiet_NaN();
    if (pair.isSame)
        return 1.0;
    return std::min(1.0, (v->transpose() * pair.overlap * *u).squaredNorm() / static_cast<double>(rank));
}

Result<Directions> directionsOf(const Factor& left, const Factor& right)
{
    auto core = thinSvd(left.qr.R * right.qr.R.transpose());
    if (!core)
        return core.error();
    const std::span<const double> sigma(core->S.data(), static_cast<std::size_t>(core->S.size()));
    const Eigen::Index rank = numericalRank(sigma, static_cast<int>(left.W.rows()));
    return Directions{*std::move(core), rank};
}

} // namespace headwise
