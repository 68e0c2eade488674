#include "tests/support/dense_algebra.h"

#include "tests/support/matchers.h"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

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
    return Eigen::JacobiSVD<Eigen::MatrixXd>(m).singularValues();
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

Eigen::MatrixXd inverseOf(const Eigen::MatrixXd& m)
{
    return m.inverse();
}

std::complex<double> determinantOf(const Eigen::MatrixXcd& m)
{
    return m.determinant();
}

Eigen::MatrixXd pseudoInverseOf(const Eigen::MatrixXd& m)
{
    return m.completeOrthogonalDecomposition().pseudoInverse();
}

std::vector<int> firstOfRow(const Eigen::MatrixXd& m, Eigen::Index row, const std::vector<bool>& unused,
                            double sign, int k)
{
    std::vector<int> ids(static_cast<std::size_t>(m.cols()));
    std::iota(ids.begin(), ids.end(), 0);
    if (!unused.empty())
        std::erase_if(ids, [&](int id) { return unused[static_cast<std::size_t>(id)]; });
    const auto end = ids.begin() + std::min<std::ptrdiff_t>(k, static_cast<std::ptrdiff_t>(ids.size()));
    std::partial_sort(ids.begin(), end, ids.end(), [&](int a, int b) {
        return std::pair(-sign * m(row, a), a) < std::pair(-sign * m(row, b), b);
    });
    ids.erase(end, ids.end());
    return ids;
}

Eigen::MatrixXd normalNumbers(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    return Eigen::MatrixXd::NullaryExpr(rows, cols, [&] { return normal(random); });
}

Eigen::MatrixXd orthonormalColumns(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    return orthonormalBasis(normalNumbers(rows, cols, seed));
}

bool areClose(const Eigen::MatrixXcd& actual, const Eigen::MatrixXcd& expected, double tolerance)
{
    if (actual.rows() != expected.rows() || actual.cols() != expected.cols()) {
        qWarning("shape [%d, %d], expected [%d, %d]", int(actual.rows()), int(actual.cols()),
                 int(expected.rows()), int(expected.cols()));
        return false;
    }
    if (expected.size() == 0)
        return true;
    const double error = (actual - expected).cwiseAbs().maxCoeff();
    const double size = expected.cwiseAbs().maxCoeff();
    const bool close = error <= tolerance * size && actual.allFinite();
    if (!close)
        qWarning("largest difference %g, allowed %g", error, tolerance * size);
    return close;
}

} // namespace headwise::test
