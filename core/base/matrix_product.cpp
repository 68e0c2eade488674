#include "core/base/matrix_product.h"

#include <cblas.h>

#include <type_traits>

namespace headwise {

namespace {

template <typename Scalar>
ProductOperand<Scalar> operand(const MatrixView<const Scalar>& m)
{
    return {m.data, m.byRows ? m.cols : m.rows, m.byRows ? m.rows : m.cols, Eigen::OuterStride<>(m.stride)};
}

template <typename Scalar, typename Left, typename Right>
void multiplied(const MatrixView<Scalar>& target, const Left& left, const Right& right, Scalar factor,
                bool adds)
{
    Eigen::Map<Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>> out(
        target.data, target.rows, target.cols, Eigen::OuterStride<>(target.stride));
    if (adds)
        out.noalias() += (factor * left) * right;
    else
        out.noalias() = (factor * left) * right;
}

/// BLAS's own product. Eigen clears a target before it adds to it, which writes and reads the target once more than here: a tenth of the time
/// where `left` has few columns.
template <typename Scalar>
void multipliedByBlas(const MatrixView<Scalar>& target, const MatrixView<const Scalar>& left,
                      const MatrixView<const Scalar>& right, Scalar factor, bool adds)
{
    const auto turned = [](const MatrixView<const Scalar>& m) {
        return m.byRows ? CblasTrans : CblasNoTrans;
    };
    const auto size = [](Eigen::Index n) { return static_cast<int>(n); };
    const auto gemm = [] {
        if constexpr (std::is_same_v<Scalar, float>)
            return cblas_sgemm;
        else
            return cblas_dgemm;
    }();
    gemm(CblasColMajor, turned(left), turned(right), size(target.rows), size(target.cols), size(left.cols),
         factor, left.data, size(left.stride), right.data, size(right.stride), Scalar(adds ? 1 : 0),
         target.data, size(target.stride));
}

/// Whether a product is neither empty nor so small, or a vector, that Eigen has a faster way.
bool isForBlas(Eigen::Index rows, Eigen::Index inner, Eigen::Index cols)
{
    return inner > 0 && rows > 1 && cols > 1 && rows + inner + cols >= 20;
}

template <typename Scalar>
void multiplyColumns(const MatrixView<Scalar>& target, const MatrixView<const Scalar>& left,
                     const MatrixView<const Scalar>& right, Scalar factor, bool adds)
{
    if (isForBlas(target.rows, left.cols, target.cols))
        return multipliedByBlas(target, left, right, factor, adds);
    const auto a = operand(left);
    const auto b = operand(right);
    if (left.byRows && right.byRows)
        multiplied(target, a.transpose(), b.transpose(), factor, adds);
    else if (left.byRows)
        multiplied(target, a.transpose(), b, factor, adds);
    else if (right.byRows)
        multiplied(target, a, b.transpose(), factor, adds);
    else
        multiplied(target, a, b, factor, adds);
}

template <typename Scalar>
void multiplyAny(const MatrixView<Scalar>& target, const MatrixView<const Scalar>& left,
                 const MatrixView<const Scalar>& right, Scalar factor, bool adds)
{
    if (target.byRows)
        multiplyColumns(target.transposed(), right.transposed(), left.transposed(), factor, adds);
    else
        multiplyColumns(target, left, right, factor, adds);
}

} // namespace

void multiply(MatrixView<float> target, MatrixView<const float> left, MatrixView<const float> right,
              float factor, bool adds)
{
    multiplyAny(target, left, right, factor, adds);
}

void multiply(MatrixView<double> target, MatrixView<const double> left, MatrixView<const double> right,
              double factor, bool adds)
{
    multiplyAny(target, left, right, factor, adds);
}

} // namespace headwise
