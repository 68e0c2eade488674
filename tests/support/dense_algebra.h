#pragma once

#include <Eigen/Core>

namespace headwise::test {

// Eigen's own dense decompositions, the oracles of core's, which are LAPACK's. They are long to compile: once, in dense_algebra.cpp.

/// m = U diag(S) Vᵀ with whole U and V, by Jacobi rotations.
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

/// The same S alone, by divide and conquer: for matrices of thousands of rows.
Eigen::VectorXd singularValuesOf(const Eigen::MatrixXd& m);

Eigen::VectorXcd eigenvaluesOf(const Eigen::MatrixXd& m);

/// Of a symmetric matrix, rising.
class DenseEigen {
public:
    explicit DenseEigen(const Eigen::MatrixXd& m);

    const Eigen::VectorXd& eigenvalues() const { return m_values; }
    const Eigen::MatrixXd& eigenvectors() const { return m_vectors; }

private:
    Eigen::VectorXd m_values;
    Eigen::MatrixXd m_vectors;
};

/// Orthonormal columns that span those of m, as many.
Eigen::MatrixXd orthonormalBasis(const Eigen::MatrixXd& m);

/// For matrices with as many rows as columns.
Eigen::MatrixXd inverseOf(const Eigen::MatrixXd& m);
std::complex<double> determinantOf(const Eigen::MatrixXcd& m);

/// Moore and Penrose's, by a complete orthogonal decomposition. [cols, rows]
Eigen::MatrixXd pseudoInverseOf(const Eigen::MatrixXd& m);

/// [rows, cols], normal numbers; the same wherever the standard library is.
Eigen::MatrixXd normalNumbers(Eigen::Index rows, Eigen::Index cols, unsigned seed);

/// [rows, cols], columns that span those of normal numbers.
Eigen::MatrixXd orthonormalColumns(Eigen::Index rows, Eigen::Index cols, unsigned seed);

} // namespace headwise::test
