#include "core/analysis/composition/head_sides.h"

#include "core/base/decompositions.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace headwise {

namespace {

Result<Matrix<double>> collapsed(const ThinCircuit& circuit)
{
    Matrix<double> out = Matrix<double>::Zero(circuit.inner.rows(), circuit.inner.cols());
    const auto R = triangularFactor(circuit.outer);
    if (!R) {
        if (R.error().code != ErrorCode::Corrupt)
            return R.error();
        out.setConstant(std::numeric_limits<double>::quiet_NaN());
        return out;
    }
    out.leftCols(R->rows()).noalias() = circuit.inner * R->transpose(); // R has min(d, r) rows
    out /= out.norm(); // 0/0: NaN, as a zero circuit's scores are
    return out;
}

} // namespace

ThinCircuit readingOf(const HeadFactors& head, Mode mode)
{
    const HeadWeights<double>& weights = head.weights;
    switch (mode) {
    case Mode::Q: return {weights.W_Q, weights.W_K, head.gramQ, head.gramK};
    case Mode::K: return {weights.W_K, weights.W_Q, head.gramK, head.gramQ};
    case Mode::V: break;
    }
    return {weights.W_V, head.W_Ot, head.gramV, head.gramO};
}

ThinCircuit writingOf(const HeadFactors& head)
{
    return {head.W_Ot, head.weights.W_V, head.gramO, head.gramV};
}

template <typename Scalar>
Result<Matrix<Scalar>> sideOf(const ThinCircuit& circuit)
{
    if constexpr (std::is_same_v<Scalar, float>) {
        if (const auto root = unitRoot(circuit))
            return Matrix<float>(unitFactor(circuit.inner) * root->transpose());
    }
    const auto side = collapsed(circuit);
    if (!side)
        return side.error();
    return Matrix<Scalar>(side->template cast<Scalar>());
}

template Result<Matrix<float>> sideOf(const ThinCircuit&);
template Result<Matrix<double>> sideOf(const ThinCircuit&);

Matrix<float> unitFactor(const Matrix<double>& inner)
{
    return (inner * (1 / inner.norm())).cast<float>();
}

std::optional<Matrix<float>> unitRoot(const ThinCircuit& circuit)
{
    constexpr double least = 1e-3; // ‖inner · Rᵀ‖² / (‖inner‖² ‖R‖²), 1/r for random factors
    const auto root = semidefiniteFactor(circuit.outerGram);
    if (!root)
        return std::nullopt;
    const double share = circuit.innerGram.cwiseProduct(circuit.outerGram).sum()
        / (circuit.innerGram.trace() * circuit.outerGram.trace());
    if (!(share >= least)) // also where it is NaN
        return std::nullopt;
    Matrix<float> out = Matrix<float>::Zero(circuit.inner.cols(), circuit.inner.cols());
    out.topRows(root->rows()) = (*root / std::sqrt(share * circuit.outerGram.trace())).cast<float>();
    return out;
}

} // namespace headwise
