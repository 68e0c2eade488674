#include "tests/support/dense_algebra.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

namespace headwise::test {

DenseSvd::DenseSvd(const Eigen::MatrixXd& m)
{
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(m, Eigen::ComputeFullU | Eigen::ComputeFullV);
    m_S = svd.singularValues();
    m_U = svd.matrixU();
    m_V = svd.matrixV();
}

Eigen::VectorXd singularValuesOf(const Eigen::MatrixXd& m)
{
    return Eigen::BDCSVD<Eigen::MatrixXd>(m).singularValues();
}

Eigen::VectorXcd eigenvaluesOf(const Eigen::MatrixXd& m)
{
    return Eigen::EigenSolver<Eigen::MatrixXd>(m, false).eigenvalues();
}

DenseEigen::DenseEigen(const Eigen::MatrixXd& m)
{
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(m);
    m_values = eigen.eigenvalues();
    m_vectors = eigen.eigenvectors();
}

Eigen::MatrixXd orthonormalBasis(const Eigen::MatrixXd& m)
{
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(m);
    return qr.householderQ() * Eigen::MatrixXd::Identity(m.rows(), m.cols());
}

} // namespace headwise::test
