#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"

#include <vector>

namespace headwise {

// LAPACK calls, in double unless stated. Every function checks its input first, because LAPACK may loop for ever on a NaN
// or an infinity. Errors of all functions: Corrupt if a number is not finite; Internal if LAPACK does not converge.

struct ThinQr {
    Matrix<double> Q; ///< [rows, k], orthonormal columns, k = min(rows, cols)
    Matrix<double> R; ///< [k, cols], upper triangular; its diagonal may be negative
};

struct ThinSvd {
    Matrix<double> U;  ///< [rows, k], orthonormal columns whatever the rank, k = min(rows, cols)
    Eigen::VectorXd S; ///< [k], descending, not negative
    Matrix<double> V;  ///< [cols, k], orthonormal columns; V itself, not its transpose
};

/// Returns mᵀ m at half the cost of a product. (dsyrk)
Matrix<double> columnGram(const Matrix<double>& m);

/// m = Q R. By Cholesky decompositions if the matrix is tall and its columns, apart from their lengths, are well conditioned;
/// else by reflections. (dpotrf, dgeqrf)
Result<ThinQr> thinQr(Matrix<double> m);

/// Returns only R of `thinQr`, which is cheaper. A norm or a singular value of a product needs nothing else of an outer
/// factor.
Result<Matrix<double>> triangularFactor(Matrix<double> m);

/// m = U diag(S) Vᵀ. The signs of the pairs are LAPACK's. (dgesdd)
Result<ThinSvd> thinSvd(Matrix<double> m);

/// left · rightᵀ = U diag(S) Vᵀ, k = the smallest size of the factors, from the QR of both factors.
/// Source: Golub & Van Loan, Matrix Computations, 4th ed., §5.2 and §8.6.
Result<ThinSvd> svdOfProduct(Matrix<double> left, Matrix<double> right);

/// Returns only S of `thinSvd`.
Result<Eigen::VectorXd> singularValues(Matrix<double> m);

/// Eigenvalues of a symmetric matrix, ascending; only its lower triangle is read. (dsyevd)
Result<Eigen::VectorXd> symmetricEigenvalues(Matrix<double> m);

struct SymmetricEigen {
    Eigen::VectorXd values; ///< [n], ascending
    Matrix<double> vectors; ///< [n, n], orthonormal columns in the order of the values
};

/// m = vectors diag(values) vectorsᵀ of a symmetric matrix; only its lower triangle is read. (dsyevd)
Result<SymmetricEigen> symmetricEigen(Matrix<double> m);

/// Returns F [rank, n] with gram = Fᵀ F for a symmetric positive semidefinite [n, n] matrix of any rank. (dpotrf, dpstrf)
///
/// Cholesky; if a pivot falls below 1e-10 of the largest diagonal entry, with complete pivoting, which stops when the largest remaining pivot
/// falls below n·ε of that entry.
/// Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §10.3.
Result<Matrix<double>> semidefiniteFactor(Matrix<double> gram);

/// P m = L U of a square matrix: U above the diagonal and on it, L below, and the row that each row changed places with.
struct LuFactors {
    Matrix<double> LU;
    std::vector<int> pivots;
};

/// Rows change places so that the largest number of a column is its pivot. A singular matrix has a 0 on U's diagonal. (dgetrf)
Result<LuFactors> luFactors(Matrix<double> m);

enum class LuSide { Matrix, Transpose };

/// Returns m⁻¹ x or m⁻ᵀ x; not finite if m is singular. (dgetrs)
Eigen::VectorXd luSolution(const LuFactors& factors, LuSide side, Eigen::VectorXd x);

/// Eigenvalues of a square matrix, in LAPACK's order. (dgeev; sgeev for float, within its precision)
template <typename Scalar>
Result<Eigen::VectorXcd> eigenvalues(Matrix<Scalar> m);

} // namespace headwise
