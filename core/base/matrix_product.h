#pragma once

#include <Eigen/Core>

#include <concepts>

/// \file
/// Products of two dense matrices, compiled once. Eigen instantiates its whole product (blocking, the loop for small sizes, the dispatch to
/// BLAS) anew for each pair of operand types, a second of compile time each. Here every pair of float or of double operands becomes two views
/// and one call of multiply(); the numbers are those of Eigen's own product.

namespace headwise {

/// Dense matrix in memory: rows × cols, `stride` entries from one column to the next, or from one row to the next if `byRows`.
template <typename Entry>
struct MatrixView {
    Entry* data = nullptr;
    Eigen::Index rows = 0;
    Eigen::Index cols = 0;
    Eigen::Index stride = 0;
    bool byRows = false;

    MatrixView transposed() const { return {data, cols, rows, stride, !byRows}; }
};

/// target = factor · left · right, or, if `adds`, target += factor · left · right. The target overlaps neither operand.
void multiply(MatrixView<float> target, MatrixView<const float> left, MatrixView<const float> right,
              float factor, bool adds);
void multiply(MatrixView<double> target, MatrixView<const double> left, MatrixView<const double> right,
              double factor, bool adds);

/// The views that multiply() gives Eigen; their products are Eigen's own.
template <typename Scalar>
using ProductOperand =
    Eigen::Map<const Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;

template <typename Operand>
inline constexpr bool isProductOperand = false;
template <typename Scalar>
inline constexpr bool isProductOperand<ProductOperand<Scalar>> = true;
template <typename Operand>
inline constexpr bool isProductOperand<const Operand> = isProductOperand<Operand>;
template <typename Operand>
inline constexpr bool isProductOperand<Eigen::Transpose<Operand>> = isProductOperand<Operand>;
template <typename Op, typename Left, typename Right>
inline constexpr bool isProductOperand<Eigen::CwiseBinaryOp<Op, Left, Right>> =
    isProductOperand<std::remove_cvref_t<Right>>;

template <typename Left, typename Right>
concept MultipliedOnce =
    std::same_as<typename Left::Scalar, typename Right::Scalar> &&(
        std::same_as<
            typename Left::Scalar,
            float> || std::same_as<typename Left::Scalar, double>)&&!isProductOperand<Left> && !isProductOperand<Right>;

} // namespace headwise

namespace Eigen::internal {

template <typename Lhs, typename Rhs>
requires headwise::MultipliedOnce<Lhs, Rhs>
struct generic_product_impl<Lhs, Rhs, DenseShape, DenseShape, GemmProduct> {
    using Scalar = typename Lhs::Scalar;

    template <typename Dst>
    static void evalTo(Dst& dst, const Lhs& lhs, const Rhs& rhs)
    {
        run(dst, lhs, rhs, Scalar(1), false);
    }
    template <typename Dst>
    static void addTo(Dst& dst, const Lhs& lhs, const Rhs& rhs)
    {
        run(dst, lhs, rhs, Scalar(1), true);
    }
    template <typename Dst>
    static void subTo(Dst& dst, const Lhs& lhs, const Rhs& rhs)
    {
        run(dst, lhs, rhs, Scalar(-1), true);
    }
    template <typename Dst>
    static void scaleAndAddTo(Dst& dst, const Lhs& lhs, const Rhs& rhs, const Scalar& alpha)
    {
        run(dst, lhs, rhs, alpha, true);
    }

private:
    template <typename Operand>
    using Direct =
        typename add_const_on_value_type<typename blas_traits<Operand>::DirectLinearAccessType>::type;

    template <typename Entry, typename Dense>
    static headwise::MatrixView<Entry> view(Dense& m)
    {
        return {m.data(), m.rows(), m.cols(), m.outerStride(), bool(int(Dense::Flags) & RowMajorBit)};
    }

    template <typename Dst>
    static void run(Dst& dst, const Lhs& a, const Rhs& b, Scalar factor, bool adds)
    {
        Direct<Lhs> lhs = blas_traits<Lhs>::extract(a);
        Direct<Rhs> rhs = blas_traits<Rhs>::extract(b);
        const Scalar all =
            factor * blas_traits<Lhs>::extractScalarFactor(a) * blas_traits<Rhs>::extractScalarFactor(b);
        if constexpr (bool(int(Dst::Flags) & DirectAccessBit)
                      && inner_stride_at_compile_time<Dst>::ret == 1) {
            headwise::multiply(view<Scalar>(dst), view<const Scalar>(lhs), view<const Scalar>(rhs), all,
                               adds);
        } else {
            Eigen::Matrix<Scalar, Dynamic, Dynamic> product(lhs.rows(), rhs.cols());
            headwise::multiply(view<Scalar>(product), view<const Scalar>(lhs), view<const Scalar>(rhs), all,
                               false);
            if (adds)
                dst += product;
            else
                dst = product;
        }
    }
};

} // namespace Eigen::internal
