#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"

#include <complex>
#include <vector>

namespace headwise {

/// Thin singular value decomposition M = U · diag(S) · Vᵀ.
template <typename Scalar>
struct Svd {
    Matrix<Scalar> U;                           ///< [rows, k], orthonormal columns.
    Eigen::Matrix<Scalar, Eigen::Dynamic, 1> S; ///< [k], descending, not negative.
    Matrix<Scalar> V; ///< [cols, k], orthonormal columns. V itself, not its transpose.
};

/// Sorts eigenvalues as they are shown and stored: by falling modulus, then larger real part, then positive imaginary
/// part first.
std::vector<std::complex<double>> inReadingOrder(const Eigen::VectorXcd& values);

/// A matrix kept as the product left · right of two thin factors.
///
/// Every circuit of an attention head has this form. GPT-2 small's full OV circuit is [50257, 50257] with rank at most
/// 64: ten gigabytes as a product, 26 megabytes as factors. Only `dense()` forms the product. Immutable, without a cache;
/// const access from several threads needs no lock.
///
/// Convention: activations are row vectors, x · M maps x. OV = W_V · W_O is the transpose of the W_OV of Elhage et al.
/// 2021; QK = W_Q · W_Kᵀ is their W_QK, with queries as rows and keys as columns.
template <typename Scalar>
class FactoredMatrix {
public:
    /// \param left  [rows, inner]
    /// \param right [inner, cols]
    /// Errors: InvalidArgument if the inner sizes differ or any size is zero.
    static Result<FactoredMatrix> create(Matrix<Scalar> left, Matrix<Scalar> right);

    Eigen::Index rows() const { return m_left.rows(); }
    Eigen::Index cols() const { return m_right.cols(); }
    Eigen::Index inner() const { return m_left.cols(); } ///< Upper bound of the rank.
    const Matrix<Scalar>& left() const { return m_left; }
    const Matrix<Scalar>& right() const { return m_right; }

    Scalar at(Eigen::Index row, Eigen::Index col) const; ///< One entry, O(inner).
    RowVector<Scalar> row(Eigen::Index index) const;     ///< [cols]
    RowVector<Scalar> column(Eigen::Index index) const;  ///< [rows], as a row vector
    /// Entries [row, row + rows) × [col, col + cols) as a dense matrix.
    Matrix<Scalar> block(Eigen::Index row, Eigen::Index col, Eigen::Index rows, Eigen::Index cols) const;
    /// Returns the entries at `rows` × `cols`, in that order, for a heatmap of chosen tokens.
    Matrix<Scalar> at(const std::vector<int>& rows, const std::vector<int>& cols) const;
    Matrix<Scalar> dense() const; ///< Forms the product, rows · cols numbers: for small matrices and tests.

    FactoredMatrix transposed() const;
    /// Return M · factor and factor · M by multiplying the thin side. Errors: InvalidArgument if sizes differ.
    Result<FactoredMatrix> times(const Matrix<Scalar>& factor) const;
    Result<FactoredMatrix> after(const Matrix<Scalar>& factor) const;
    Result<FactoredMatrix> times(const FactoredMatrix& factor) const;
    RowVector<Scalar> apply(const RowVector<Scalar>& x) const; ///< x · M

    /// ‖M‖_F from the inner × inner Gram matrices, summed in double.
    double frobeniusNorm() const;

    /// Returns the thin SVD with k = min(rows, cols, inner), from two QR decompositions and one SVD of at most inner ×
    /// inner, in double. Signs: the entry of largest magnitude in each column of U is positive.
    /// Errors: Corrupt if a factor holds NaN or infinity.
    /// Source: Golub & Van Loan, Matrix Computations, 4th ed., §5.2 and §8.6.
    Result<Svd<Scalar>> svd() const;

    /// Returns only the k largest singular values, descending; k = min(rows, cols, inner). Exact zeros may come out as
    /// ~ε·σ₁.
    Result<std::vector<double>> singularValues() const;

    /// Returns the min(rows, inner) eigenvalues that can be non-zero, those of right · left, `inReadingOrder`. Square
    /// matrices only.
    /// Errors: InvalidArgument if not square; Corrupt if not finite.
    Result<std::vector<std::complex<double>>> eigenvalues() const;

private:
    FactoredMatrix(Matrix<Scalar> left, Matrix<Scalar> right);

    Matrix<Scalar> m_left;  // [rows, inner]
    Matrix<Scalar> m_right; // [inner, cols]
};

} // namespace headwise
