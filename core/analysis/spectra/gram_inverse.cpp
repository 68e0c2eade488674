#include "core/analysis/spectra/gram_inverse.h"

#include "core/base/decompositions.h"

namespace headwise {

Result<Matrix<double>> gramInverse(const Matrix<double>& gram)
{
    if (gram.size() == 0)
        return Matrix<double>();
    const auto eigen = symmetricEigen(gram);
    if (!eigen)
        return eigen.error();
    const double least = 1e-10 * eigen->values.cwiseAbs().maxCoeff();
    const Eigen::VectorXd inverse =
        eigen->values.unaryExpr([least](double value) { return value > least ? 1 / value : 0.0; });
    return Matrix<double>(eigen->vectors * inverse.asDiagonal() * eigen->vectors.transpose());
}

} // namespace headwise
