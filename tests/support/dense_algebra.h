#pragma once

#include "core/base/matrix.h"

#include <vector>

namespace headwise::test {

// Eigen's own dense decompositions, the oracles of core's, which use LAPACK. They take long to compile, so only
// dense_algebra.cpp does.

/// m = U diag(S) Vᵀ with full U and V, by Jacobi rotations.
class DenseSvd {
public:
    explicit DenseSvd(const Eigen::MatrixXd& m);

    const Eigen::VectorXd& singularValues() const { return m_S; }
    const Eigen::MatrixXd& matrixU() const { return m_U; }
    const Eigen::MatrixXd& matrixV() const { return m_V; }

private:
    Eigen::VectorXd m_S; // [min(rows, cols)], falling
    Eigen::MatrixXd m_U; // [rows, rows]
    Eigen::MatrixXd m_V; // [cols, cols]
};

/// Only S, by the same rotations: Eigen's divide and conquer takes longer to compile than all else here.
Eigen::VectorXd singularValuesOf(const Eigen::MatrixXd& m);

Eigen::VectorXcd eigenvaluesOf(const Eigen::MatrixXd& m);

/// Eigenvalues of a symmetric matrix, ascending.
class DenseEigen {
public:
    explicit DenseEigen(const Eigen::MatrixXd& m);

    const Eigen::VectorXd& eigenvalues() const { return m_values; }
    const Eigen::MatrixXd& eigenvectors() const { return m_vectors; }

private:
    Eigen::VectorXd m_values;
    Eigen::MatrixXd m_vectors;
};

/// Returns as many orthonormal columns with the span of those of m.
Eigen::MatrixXd orthonormalBasis(const Eigen::MatrixXd& m);

/// For square matrices.
Eigen::MatrixXd inverseOf(const Eigen::MatrixXd& m);
std::complex<double> determinantOf(const Eigen::MatrixXcd& m);

/// The Moore-Penrose inverse, by a complete orthogonal decomposition. [cols, rows]
Eigen::MatrixXd pseudoInverseOf(const Eigen::MatrixXd& m);

/// Returns the first k columns of a row, or fewer, by sign · entry, falling, ties to the lower column. The `unused` columns are not listed.
std::vector<int> firstOfRow(const Eigen::MatrixXd& m, Eigen::Index row, const std::vector<bool>& unused,
                            double sign, int k);

/// [rows, cols], normal numbers, the same on every machine with this standard library.
Eigen::MatrixXd normalNumbers(Eigen::Index rows, Eigen::Index cols, unsigned seed);

/// [rows, cols], orthonormal columns with the span of normal numbers.
Eigen::MatrixXd orthonormalColumns(Eigen::Index rows, Eigen::Index cols, unsigned seed);

} // namespace headwise::test
