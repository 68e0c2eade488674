#include "core/model/layer_parts.h"

#include <cmath>
#include <numbers>

namespace headwise {

namespace {

double activated(Activation activation, double x)
{
    switch (activation) {
    case Activation::Relu: return std::max(x, 0.0);
    case Activation::Gelu: return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::GeluNew:
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Silu: return x / (1 + std::exp(-x));
    case Activation::SoluLn: break; // depends on the whole row
    }
    return x;
}

/// x ⊙ softmax(x), row by row.
template <typename Scalar>
void solu(Matrix<Scalar>& x)
{
    for (Eigen::Index row = 0; row < x.rows(); ++row) {
        const RowVector<double> values = x.row(row).template cast<double>();
        const RowVector<double> shifted = (values.array() - values.maxCoeff()).exp();
        x.row(row) = (values.array() * shifted.array() / shifted.sum()).template cast<Scalar>();
    }
}

template <typename Scalar>
void activate(Activation activation, Matrix<Scalar>& x)
{
    if (activation == Activation::SoluLn)
        return solu(x);
    x = x.unaryExpr([activation](Scalar value) {
             return static_cast<Scalar>(activated(activation, static_cast<double>(value)));
         }).eval();
}

template <typename Scalar>
void addRow(Matrix<Scalar>& x, const RowVector<Scalar>& bias)
{
    if (bias.size() > 0)
        x.rowwise() += bias;
}

} // namespace

template <typename Scalar>
Matrix<Scalar> normalized(const Norm<Scalar>& norm, const Matrix<Scalar>& x)
{
    if (norm.kind == NormKind::None)
        return x;
    Matrix<Scalar> out(x.rows(), x.cols());
    for (Eigen::Index row = 0; row < x.rows(); ++row) {
        RowVector<double> values = x.row(row).template cast<double>();
        if (norm.kind == NormKind::LayerNorm)
            values.array() -= values.mean();
        values /= std::sqrt(values.squaredNorm() / static_cast<double>(values.size()) + norm.eps);
        if (norm.w.size() > 0)
            values.array() *= norm.w.template cast<double>().array();
        if (norm.b.size() > 0)
            values += norm.b.template cast<double>();
        out.row(row) = values.template cast<Scalar>();
    }
    return out;
}

template <typename Scalar>
Matrix<Scalar> mlpOutput(const MlpWeights<Scalar>& weights, const ModelConfig& config,
                         const Matrix<Scalar>& x)
{
    Matrix<Scalar> inside = x * weights.W_in; // [n, f]
    if (config.gatedMlp) {
        addRow(inside, weights.b_up);
        Matrix<Scalar> gate = x * weights.W_gate;
        addRow(gate, weights.b_gate);
        activate(config.activation, gate);
        inside.array() *= gate.array();
        addRow(inside, weights.b_in);
    } else {
        addRow(inside, weights.b_in);
        activate(config.activation, inside);
    }
    inside = normalized(weights.ln, inside);
    Matrix<Scalar> out = inside * weights.W_out;
    addRow(out, weights.b_out);
    return out;
}

template Matrix<float> normalized(const Norm<float>&, const Matrix<float>&);
template Matrix<double> normalized(const Norm<double>&, const Matrix<double>&);
template Matrix<float> mlpOutput(const MlpWeights<float>&, const ModelConfig&, const Matrix<float>&);
template Matrix<double> mlpOutput(const MlpWeights<double>&, const ModelConfig&, const Matrix<double>&);

} // namespace headwise
