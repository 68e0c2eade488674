#include "core/circuits/factored_matrix.h"

#include "core/base/decompositions.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>

namespace headwise {

namespace {

template <typename A, typename B>
Error doNotMultiply(const A& left, const B& right)
{
    return {ErrorCode::InvalidArgument,
            fmt::format("Cannot multiply a [{}, {}] factor by a [{}, {}] factor.", left.rows(), left.cols(),
                        right.rows(), right.cols())};
}

/// Makes the entry of largest magnitude in each column of U positive, because singular pairs are defined up to a joint
/// sign.
void fixSigns(Matrix<double>& U, Matrix<double>& V)
{
    for (Eigen::Index i = 0; i < U.cols(); ++i) {
        const double most = U.col(i).maxCoeff(), least = U.col(i).minCoeff();
        Eigen::Index first = 0; // the largest, where two of both signs are equally large
        if (most == -least)
            U.col(i).cwiseAbs().maxCoeff(&first);
        if (most < -least || (most == -least && U(first, i) < 0)) {
            U.col(i) = -U.col(i);
            V.col(i) = -V.col(i);
        }
    }
}

} // namespace

std::vector<std::complex<double>> inReadingOrder(const Eigen::VectorXcd& values)
{
    std::vector<std::complex<double>> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end(), [](const std::complex<double>& a, const std::complex<double>& b) {
        return std::tuple(-std::abs(a), -a.real(), -a.imag())
            < std::tuple(-std::abs(b), -b.real(), -b.imag());
    });
    return sorted;
}

template <typename Scalar>
Result<FactoredMatrix<Scalar>> FactoredMatrix<Scalar>::create(Matrix<Scalar> left, Matrix<Scalar> right)
{
    if (left.cols() != right.rows() || left.size() == 0 || right.size() == 0)
        return doNotMultiply(left, right);
    return FactoredMatrix(std::move(left), std::move(right));
}

template <typename Scalar>
FactoredMatrix<Scalar>::FactoredMatrix(Matrix<Scalar> left, Matrix<Scalar> right)
    : m_left(std::move(left))
    , m_right(std::move(right))
{
}

template <typename Scalar>
Scalar FactoredMatrix<Scalar>::at(Eigen::Index row, Eigen::Index col) const
{
    return m_left.row(row).dot(m_right.col(col));
}

template <typename Scalar>
RowVector<Scalar> FactoredMatrix<Scalar>::row(Eigen::Index index) const
{
    return m_left.row(index) * m_right;
}

template <typename Scalar>
RowVector<Scalar> FactoredMatrix<Scalar>::column(Eigen::Index index) const
{
    return (m_left * m_right.col(index)).transpose();
}

template <typename Scalar>
Matrix<Scalar> FactoredMatrix<Scalar>::block(Eigen::Index row, Eigen::Index col, Eigen::Index rows,
                                             Eigen::Index cols) const
{
    return m_left.middleRows(row, rows) * m_right.middleCols(col, cols);
}

template <typename Scalar>
Matrix<Scalar> FactoredMatrix<Scalar>::at(const std::vector<int>& rows, const std::vector<int>& cols) const
{
    const Matrix<Scalar> left = m_left(rows, Eigen::all);
    const Matrix<Scalar> right = m_right(Eigen::all, cols);
    return left * right;
}

template <typename Scalar>
Matrix<Scalar> FactoredMatrix<Scalar>::dense() const
{
    return m_left * m_right;
}

template <typename Scalar>
FactoredMatrix<Scalar> FactoredMatrix<Scalar>::transposed() const
{
    return FactoredMatrix(m_right.transpose(), m_left.transpose());
}

template <typename Scalar>
Result<FactoredMatrix<Scalar>> FactoredMatrix<Scalar>::times(const Matrix<Scalar>& factor) const
{
    if (cols() != factor.rows() || factor.size() == 0)
        return doNotMultiply(*this, factor);
    return FactoredMatrix(m_left, m_right * factor);
}

template <typename Scalar>
Result<FactoredMatrix<Scalar>> FactoredMatrix<Scalar>::after(const Matrix<Scalar>& factor) const
{
    if (factor.cols() != rows() || factor.size() == 0)
        return doNotMultiply(factor, *this);
    return FactoredMatrix(factor * m_left, m_right);
}

template <typename Scalar>
Result<FactoredMatrix<Scalar>> FactoredMatrix<Scalar>::times(const FactoredMatrix& factor) const
{
    if (cols() != factor.rows())
        return doNotMultiply(*this, factor);
    const Matrix<Scalar> middle =
        m_right * factor.m_left; // [inner, other inner]; the product keeps the smaller size
    if (inner() <= factor.inner())
        return FactoredMatrix(m_left, middle * factor.m_right);
    return FactoredMatrix(m_left * middle, factor.m_right);
}

template <typename Scalar>
RowVector<Scalar> FactoredMatrix<Scalar>::apply(const RowVector<Scalar>& x) const
{
    assert(x.size() == rows());
    const RowVector<Scalar> inside = x * m_left;
    return inside * m_right;
}

template <typename Scalar>
double FactoredMatrix<Scalar>::frobeniusNorm() const
{
    const Matrix<double> left = m_left.template cast<double>();
    const Matrix<double> right = m_right.template cast<double>();
    const Matrix<double> leftGram = left.transpose() * left;
    const Matrix<double> rightGram = right * right.transpose();
    return std::sqrt(std::max(0.0, leftGram.cwiseProduct(rightGram).sum()));
}

template <typename Scalar>
Result<Svd<Scalar>> FactoredMatrix<Scalar>::svd() const
{
    auto thin = svdOfProduct(m_left.template cast<double>(), m_right.transpose().template cast<double>());
    if (!thin)
        return thin.error();
    ThinSvd svd = *std::move(thin);
    fixSigns(svd.U, svd.V);
    if constexpr (std::is_same_v<Scalar, double>)
        return Svd<double>{std::move(svd.U), std::move(svd.S), std::move(svd.V)};
    else
        return Svd<Scalar>{svd.U.template cast<Scalar>(), svd.S.template cast<Scalar>(),
                           svd.V.template cast<Scalar>()};
}

template <typename Scalar>
Result<std::vector<double>> FactoredMatrix<Scalar>::singularValues() const
{
    const auto left = triangularFactor(m_left.template cast<double>());
    if (!left)
        return left.error();
    const auto right = triangularFactor(m_right.transpose().template cast<double>());
    if (!right)
        return right.error();
    const Result<Eigen::VectorXd> S = headwise::singularValues(*left * right->transpose());
    if (!S)
        return S.error();
    return std::vector<double>(S->begin(), S->end());
}

template <typename Scalar>
Result<std::vector<std::complex<double>>> FactoredMatrix<Scalar>::eigenvalues() const
{
    if (rows() != cols()) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("A [{}, {}] matrix has no eigenvalues; they need a square one.", rows(), cols())};
    }
    const Matrix<double> left = m_left.template cast<double>();
    const Matrix<double> right = m_right.template cast<double>();
    // A·B and B·A have the same eigenvalues apart from zeros. The smaller product has no surplus zeros to blur.
    const Result<Eigen::VectorXcd> values =
        headwise::eigenvalues(rows() < inner() ? Matrix<double>(left * right) : Matrix<double>(right * left));
    if (!values)
        return values.error();
    return inReadingOrder(*values);
}

template class FactoredMatrix<float>;
template class FactoredMatrix<double>;

} // namespace headwise
