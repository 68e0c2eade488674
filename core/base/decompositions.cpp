#include "core/base/decompositions.h"

#include <lapacke.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <type_traits>
#include <vector>

namespace headwise {

namespace {

lapack_int lapackSize(Eigen::Index size)
{
    return static_cast<lapack_int>(size);
}

template <typename Scalar>
std::optional<Error> notFinite(const Matrix<Scalar>& m)
{
    if (m.allFinite())
        return std::nullopt;
    return Error{
        ErrorCode::Corrupt,
        fmt::format(
            "A [{}, {}] matrix made of the weights holds NaN or infinity, so it has no decomposition. Check the checkpoint for NaN, infinite or very large numbers.",
            m.rows(), m.cols())};
}

std::optional<Error> failed(std::string_view routine, lapack_int info)
{
    if (info == 0)
        return std::nullopt;
    return Error{ErrorCode::Internal, fmt::format("LAPACK's {} failed with code {}.", routine, info)};
}

/// Leaves R in the upper triangle of m and the reflections below it. \returns their factors, [k]
Result<Eigen::VectorXd> reduceToTriangle(Matrix<double>& m)
{
    if (const auto error = notFinite(m))
        return *error;
    Eigen::VectorXd tau(std::min(m.rows(), m.cols()));
    if (tau.size() > 0) {
        const lapack_int rows = lapackSize(m.rows());
        if (const auto error = failed(
                "dgeqrf",
                LAPACKE_dgeqrf(LAPACK_COL_MAJOR, rows, lapackSize(m.cols()), m.data(), rows, tau.data())))
            return *error;
    }
    return tau;
}

} // namespace

Result<ThinQr> thinQr(Matrix<double> m)
{
    const auto tau = reduceToTriangle(m);
    if (!tau)
        return tau.error();
    const Eigen::Index k = std::min(m.rows(), m.cols());
    Matrix<double> R = m.topRows(k).triangularView<Eigen::Upper>();
    Matrix<double> Q = m.leftCols(k);
    if (k > 0) {
        const lapack_int rows = lapackSize(m.rows());
        if (const auto error = failed("dorgqr",
                                      LAPACKE_dorgqr(LAPACK_COL_MAJOR, rows, lapackSize(k), lapackSize(k),
                                                     Q.data(), rows, tau->data())))
            return *error;
    }
    return ThinQr{std::move(Q), std::move(R)};
}

Result<Matrix<double>> triangularFactor(Matrix<double> m)
{
    if (const auto tau = reduceToTriangle(m); !tau)
        return tau.error();
    return Matrix<double>(m.topRows(std::min(m.rows(), m.cols())).triangularView<Eigen::Upper>());
}

Result<ThinSvd> thinSvd(Matrix<double> m)
{
    if (const auto error = notFinite(m))
        return *error;
    const Eigen::Index k = std::min(m.rows(), m.cols());
    ThinSvd svd{Matrix<double>(m.rows(), k), Eigen::VectorXd(k), Matrix<double>(m.cols(), k)};
    if (k == 0)
        return svd;
    Matrix<double> Vt(k, m.cols());
    const lapack_int rows = lapackSize(m.rows());
    if (const auto error =
            failed("dgesdd",
                   LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', rows, lapackSize(m.cols()), m.data(), rows,
                                  svd.S.data(), svd.U.data(), rows, Vt.data(), lapackSize(k))))
        return *error;
    svd.V = Vt.transpose();
    return svd;
}

Result<Eigen::VectorXd> singularValues(Matrix<double> m)
{
    if (const auto error = notFinite(m))
        return *error;
    Eigen::VectorXd S(std::min(m.rows(), m.cols()));
    if (S.size() == 0)
        return S;
    double unused = 0;
    const lapack_int rows = lapackSize(m.rows());
    if (const auto error = failed("dgesdd",
                                  LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', rows, lapackSize(m.cols()), m.data(),
                                                 rows, S.data(), &unused, 1, &unused, 1)))
        return *error;
    return S;
}

Result<Eigen::VectorXd> symmetricEigenvalues(Matrix<double> m)
{
    assert(m.rows() == m.cols());
    if (const auto error = notFinite(m))
        return *error;
    Eigen::VectorXd values(m.rows());
    if (values.size() == 0)
        return values;
    const lapack_int size = lapackSize(m.rows());
    if (const auto error =
            failed("dsyevd", LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', size, m.data(), size, values.data())))
        return *error;
    return values;
}

Result<SymmetricEigen> symmetricEigen(Matrix<double> m)
{
    assert(m.rows() == m.cols());
    if (const auto error = notFinite(m))
        return *error;
    SymmetricEigen out{Eigen::VectorXd(m.rows()), std::move(m)};
    if (out.values.size() == 0)
        return out;
    const lapack_int size = lapackSize(out.vectors.rows());
    if (const auto error = failed(
            "dsyevd",
            LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', size, out.vectors.data(), size, out.values.data())))
        return *error;
    return out;
}

Result<Matrix<double>> semidefiniteFactor(Matrix<double> gram)
{
    assert(gram.rows() == gram.cols());
    if (const auto error = notFinite(gram))
        return *error;
    const lapack_int size = lapackSize(gram.rows());
    if (size == 0 || gram.diagonal().maxCoeff() <= 0)
        return Matrix<double>(0, gram.cols());
    std::vector<lapack_int> pivot(static_cast<std::size_t>(size));
    lapack_int rank = 0;
    const lapack_int info =
        LAPACKE_dpstrf(LAPACK_COL_MAJOR, 'U', size, gram.data(), size, pivot.data(), &rank, -1.0);
    if (const auto error =
            // info > 0 means rank-deficient, which is allowed
        failed("dpstrf", std::min<lapack_int>(info, 0)))
        return *error;
    const Matrix<double> pivoted = gram.topRows(rank).triangularView<Eigen::Upper>();
    Matrix<double> factor(rank, size); // Pᵀ gram P = pivotedᵀ pivoted
    for (Eigen::Index i = 0; i < size; ++i)
        factor.col(pivot[static_cast<std::size_t>(i)] - 1) = pivoted.col(i);
    return factor;
}

Result<LuFactors> luFactors(Matrix<double> m)
{
    static_assert(std::is_same_v<lapack_int, int>);
    assert(m.rows() == m.cols());
    if (const auto error = notFinite(m))
        return *error;
    LuFactors out{std::move(m), {}};
    out.pivots.resize(static_cast<std::size_t>(out.LU.rows()));
    if (out.pivots.empty())
        return out;
    const lapack_int size = lapackSize(out.LU.rows());
    const lapack_int info =
        LAPACKE_dgetrf(LAPACK_COL_MAJOR, size, size, out.LU.data(), size, out.pivots.data());
    if (const auto error = failed("dgetrf", std::min<lapack_int>(info, 0))) // info > 0 means singular
        return *error;
    return out;
}

Eigen::VectorXd luSolution(const LuFactors& factors, LuSide side, Eigen::VectorXd x)
{
    assert(factors.LU.rows() == x.size());
    const lapack_int size = std::max<lapack_int>(1, lapackSize(x.size()));
    // The function without _work would look through all factors for NaN.
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, side == LuSide::Matrix ? 'N' : 'T', lapackSize(x.size()), 1,
                        factors.LU.data(), size, factors.pivots.data(), x.data(), size);
    return x;
}

template <typename Scalar>
Result<Eigen::VectorXcd> eigenvalues(Matrix<Scalar> m)
{
    assert(m.rows() == m.cols());
    if (const auto error = notFinite(m))
        return *error;
    Eigen::Matrix<Scalar, Eigen::Dynamic, 1> real(m.rows()), imaginary(m.rows());
    if (m.rows() > 0) {
        Scalar unused = 0;
        const lapack_int size = lapackSize(m.rows());
        const auto solve = [&](auto geev) {
            return geev(LAPACK_COL_MAJOR, 'N', 'N', size, m.data(), size, real.data(), imaginary.data(),
                        &unused, 1, &unused, 1);
        };
        lapack_int info = 0;
        if constexpr (std::is_same_v<Scalar, float>)
            info = solve(LAPACKE_sgeev);
        else
            info = solve(LAPACKE_dgeev);
        if (const auto error = failed(std::is_same_v<Scalar, float> ? "sgeev" : "dgeev", info))
            return *error;
    }
    Eigen::VectorXcd values(m.rows());
    values.real() = real.template cast<double>();
    values.imag() = imaginary.template cast<double>();
    return values;
}

template Result<Eigen::VectorXcd> eigenvalues(Matrix<float> m);
template Result<Eigen::VectorXcd> eigenvalues(Matrix<double> m);

} // namespace headwise
