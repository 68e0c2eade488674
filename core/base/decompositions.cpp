#include "core/base/decompositions.h"

#include <cblas.h>
#include <lapacke.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <type_traits>
#include <variant>
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

/// Reflections by dgeqrf, for any matrix.
struct Reflected {
    Matrix<double> m;    ///< R in the upper triangle, the reflections below it.
    Eigen::VectorXd tau; ///< [k], their factors

    Matrix<double> R() const { return m.topRows(tau.size()).triangularView<Eigen::Upper>(); }
};

Result<Reflected> reflected(Matrix<double> m)
{
    if (const auto error = notFinite(m))
        return *error;
    Reflected out{std::move(m), {}};
    out.tau.resize(std::min(out.m.rows(), out.m.cols()));
    if (out.tau.size() > 0) {
        const lapack_int rows = lapackSize(out.m.rows());
        if (const auto error = failed("dgeqrf",
                                      LAPACKE_dgeqrf(LAPACK_COL_MAJOR, rows, lapackSize(out.m.cols()),
                                                     out.m.data(), rows, out.tau.data())))
            return *error;
    }
    return out;
}

/// A product with an upper triangle or with its inverse, in the place of a matrix.
using TriangularProduct = decltype(cblas_dtrsm);

void apply(TriangularProduct& product, CBLAS_SIDE side, const Matrix<double>& triangle, Matrix<double>& m)
{
    product(CblasColMajor, side, CblasUpper, CblasNoTrans, CblasNonUnit, lapackSize(m.rows()),
            lapackSize(m.cols()), 1, triangle.data(), lapackSize(triangle.rows()), m.data(),
            lapackSize(m.rows()));
}

/// Replaces a Gram matrix by its upper Cholesky factor. \returns false if a pivot is not positive, or below `least` of what stood in its place
bool takeRoot(Matrix<double>& gram, double least)
{
    const Eigen::VectorXd squares = gram.diagonal();
    gram.triangularView<Eigen::StrictlyLower>().setZero();
    const lapack_int size = lapackSize(gram.rows());
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', size, gram.data(), size) == 0
        && (gram.diagonal().array().square() >= least * squares.array()).all();
}

/// Returns whether the columns behind an upper Cholesky factor, apart from their lengths, are so independent that one factor leaves them
/// orthonormal within about 1e-14, as cond² ε does. Random columns of d_head in d_model are.
bool isWellConditioned(const Matrix<double>& root)
{
    constexpr double most = 12; // of cond in the 1-norm / √cols, which is near cond
    const Matrix<double> unit = root * root.colwise().norm().cwiseInverse().asDiagonal();
    double inverse = 0;
    const lapack_int size = lapackSize(unit.rows());
    return LAPACKE_dtrcon(LAPACK_COL_MAJOR, '1', 'U', 'N', size, unit.data(), size, &inverse) == 0
        && inverse * most * std::sqrt(static_cast<double>(size)) >= 1;
}

/// m = near · correction⁻¹ · R, near · correction⁻¹ having orthonormal columns.
struct CholeskyQr {
    Matrix<double> near;       ///< [rows, cols]
    Matrix<double> correction; ///< [cols, cols], upper triangular
    Matrix<double> R;
};

/// QR by Cholesky decompositions of Gram matrices, at a dgemm's speed where reflections are bound by memory. The first leaves columns
/// whose products are those of the identity within cond²·ε; a second, where that is needed, corrects them to ε. Gives `m` back, changed
/// only by rounding, if the columns are too dependent (cond beyond 10⁷, whatever their lengths) or a square leaves the range of double.
/// Source: Yamamoto et al. 2015, "Roundoff error analysis of the CholeskyQR2 algorithm".
std::variant<CholeskyQr, Matrix<double>> choleskyQr(Matrix<double> m)
{
    constexpr double least = 1e-270, most = 1e300, allowed = 0.01;
    constexpr double leastPivot = 1e-15; // of a column's square: a cond of 10⁷ leaves 1e-14
    if (m.cols() == 0 || m.rows() < 2 * m.cols())
        return m;
    Matrix<double> first = columnGram(m);
    const auto squares = first.diagonal().array();
    if (!(squares >= least && squares <= most).all() || !takeRoot(first, leastPivot)) // also where one is NaN
        return m;
    if (isWellConditioned(first)) {
        Matrix<double> R = first;
        return CholeskyQr{std::move(m), std::move(first), std::move(R)};
    }
    apply(cblas_dtrsm, CblasRight, first, m);
    Matrix<double> second = columnGram(m);
    const double off = (second - Matrix<double>::Identity(m.cols(), m.cols())).cwiseAbs().maxCoeff();
    if (!(off < allowed) || !takeRoot(second, leastPivot)) {
        apply(cblas_dtrmm, CblasRight, first, m);
        return m;
    }
    Matrix<double> R = second * first;
    R.triangularView<Eigen::StrictlyLower>().setZero();
    return CholeskyQr{std::move(m), std::move(second), std::move(R)};
}

/// An orthonormal factor that has not been formed yet, and R.
struct LateQr {
    std::optional<CholeskyQr> fast;
    ThinQr slow;

    const Matrix<double>& R() const { return fast ? fast->R : slow.R; }
    /// Q · m
    Matrix<double> times(Matrix<double> m) const
    {
        if (!fast)
            return slow.Q * m;
        apply(cblas_dtrsm, CblasLeft, fast->correction, m);
        return fast->near * m;
    }
};

Result<ThinQr> reflectedQr(Matrix<double> m)
{
    auto reduced = reflected(std::move(m));
    if (!reduced)
        return reduced.error();
    const Eigen::Index k = reduced->tau.size();
    ThinQr qr{{}, reduced->R()};
    qr.Q = reduced->m.leftCols(k);
    if (k > 0) {
        const lapack_int rows = lapackSize(qr.Q.rows());
        if (const auto error = failed("dorgqr",
                                      LAPACKE_dorgqr(LAPACK_COL_MAJOR, rows, lapackSize(k), lapackSize(k),
                                                     qr.Q.data(), rows, reduced->tau.data())))
            return *error;
    }
    return qr;
}

Result<LateQr> lateQr(Matrix<double> m)
{
    auto tried = choleskyQr(std::move(m));
    if (auto* const fast = std::get_if<CholeskyQr>(&tried))
        return LateQr{std::move(*fast), {}};
    auto slow = reflectedQr(std::get<Matrix<double>>(std::move(tried)));
    if (!slow)
        return slow.error();
    return LateQr{std::nullopt, *std::move(slow)};
}

} // namespace

Matrix<double> columnGram(const Matrix<double>& m)
{
    Matrix<double> gram = Matrix<double>::Zero(m.cols(), m.cols());
    if (m.size() == 0)
        return gram;
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, lapackSize(m.cols()), lapackSize(m.rows()), 1,
                m.data(), lapackSize(m.rows()), 0, gram.data(), lapackSize(m.cols()));
    gram.triangularView<Eigen::StrictlyLower>() = gram.transpose();
    return gram;
}

Result<ThinQr> thinQr(Matrix<double> m)
{
    auto tried = choleskyQr(std::move(m));
    if (auto* const fast = std::get_if<CholeskyQr>(&tried)) {
        apply(cblas_dtrsm, CblasRight, fast->correction, fast->near);
        return ThinQr{std::move(fast->near), std::move(fast->R)};
    }
    return reflectedQr(std::get<Matrix<double>>(std::move(tried)));
}

Result<Matrix<double>> triangularFactor(Matrix<double> m)
{
    auto tried = choleskyQr(std::move(m));
    if (auto* const fast = std::get_if<CholeskyQr>(&tried))
        return std::move(fast->R);
    const auto slow = reflected(std::get<Matrix<double>>(std::move(tried)));
    if (!slow)
        return slow.error();
    return slow->R();
}

Result<ThinSvd> svdOfProduct(Matrix<double> left, Matrix<double> right)
{
    const auto l = lateQr(std::move(left)); // left · rightᵀ = Ql Rl Rrᵀ Qrᵀ
    if (!l)
        return l.error();
    const auto r = lateQr(std::move(right));
    if (!r)
        return r.error();
    auto core = thinSvd(l->R() * r->R().transpose());
    if (!core)
        return core;
    ThinSvd svd = *std::move(core);
    svd.U = l->times(std::move(svd.U));
    svd.V = r->times(std::move(svd.V));
    return svd;
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
    constexpr double leastPivot =
        1e-10; // of the largest diagonal entry: far above what rounding leaves of a zero
    const double largest = gram.diagonal().maxCoeff();
    Matrix<double> root = gram;
    if (takeRoot(root, 0) && root.diagonal().array().square().minCoeff() >= leastPivot * largest)
        return root;
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
