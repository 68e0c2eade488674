#include "core/base/decompositions.h"
#include "core/base/parallel.h"
#include "core/model/processing_state.h"

#include <spdlog/fmt/fmt.h>

#include <limits>

namespace headwise {

namespace {

/// left · rightᵀ = U diag(S) Vᵀ with `count` columns each; the columns beyond the shorter side are 0.
ThinSvd padded(ThinSvd svd, Eigen::Index count)
{
    const Eigen::Index k = svd.S.size();
    svd.U.conservativeResize(Eigen::NoChange, count);
    svd.V.conservativeResize(Eigen::NoChange, count);
    svd.S.conservativeResize(count);
    svd.U.rightCols(count - k).setZero();
    svd.V.rightCols(count - k).setZero();
    svd.S.tail(count - k).setZero();
    return svd;
}

/// An orthonormal basis of the columns of m, [rows, min(rows, cols)], and m in it.
///
/// \param withoutMean the columns of m sum to 0, and so shall those of the basis, even the ones a lost rank leaves free
Result<ThinQr> basisOf(const Matrix<double>& m, bool withoutMean)
{
    if (!withoutMean)
        return thinQr(m);
    Matrix<double> withOnes(m.rows(), m.cols() + 1);
    withOnes << Eigen::VectorXd::Ones(m.rows()), m;
    auto qr = thinQr(std::move(withOnes));
    if (!qr)
        return qr.error();
    return ThinQr{qr->Q.rightCols(m.cols()), qr->R.bottomRightCorner(m.cols(), m.cols())};
}

/// The thin SVD of left · rightᵀ from the QR of both, with left.cols() columns.
Result<ThinSvd> productSvd(const Matrix<double>& left, const Matrix<double>& right, bool rightWithoutMean)
{
    const auto l = thinQr(left);
    if (!l)
        return l.error();
    const auto r = basisOf(right, rightWithoutMean);
    if (!r)
        return r.error();
    auto core = thinSvd(l->R * r->R.transpose());
    if (!core)
        return core.error();
    ThinSvd svd = padded({l->Q * core->U, core->S, r->Q * core->V}, left.cols());
    const double rounding =
        static_cast<double>(left.rows()) * std::numeric_limits<double>::epsilon() * svd.S.maxCoeff();
    svd.S = (svd.S.array() > rounding).select(svd.S, 0);
    for (Eigen::Index i = 0; i < svd.S.size(); ++i) {
        Eigen::Index largest = 0;
        svd.U.col(i).cwiseAbs().maxCoeff(&largest);
        if (svd.U(largest, i) < 0) {
            svd.U.col(i) *= -1;
            svd.V.col(i) *= -1;
        }
    }
    return svd;
}

Matrix<double> withBias(const Matrix<double>& W, const RowVector<double>& b)
{
    Matrix<double> out(W.rows() + 1, W.cols());
    out << W, b;
    return out;
}

bool hasCentredRows(const Matrix<double>& m)
{
    const double size = m.cwiseAbs().maxCoeff();
    return m.rows() < m.cols() && m.rowwise().mean().cwiseAbs().maxCoeff() <= 1e-12 * size;
}

Result<HeadWeights<double>> refactorHead(HeadWeights<double> head)
{
    const Eigen::Index d = head.W_Q.rows();
    const auto qk = productSvd(withBias(head.W_Q, head.b_Q), withBias(head.W_K, head.b_K), false);
    if (!qk)
        return qk.error();
    const Eigen::VectorXd root = qk->S.cwiseSqrt();
    const Matrix<double> Q = qk->U * root.asDiagonal();
    const Matrix<double> K = qk->V * root.asDiagonal();
    head.W_Q = Q.topRows(d);
    head.b_Q = Q.row(d);
    head.W_K = K.topRows(d);
    head.b_K = K.row(d);

    const auto ov = productSvd(head.W_V, head.W_O.transpose(), hasCentredRows(head.W_O));
    if (!ov)
        return ov.error();
    head.W_V = ov->U * ov->S.asDiagonal();
    head.W_O = ov->V.transpose();
    head.b_V.setZero();
    return head;
}

} // namespace

Result<std::vector<HeadWeights<double>>> refactorHeads(const ProcessedWeights& folded, const Task& task)
{
    const ModelConfig& config = folded.config();
    std::vector<HeadWeights<double>> heads(static_cast<std::size_t>(config.nLayers) * config.nHeads);
    const auto done =
        parallelFor(static_cast<int>(heads.size()), task, "heads refactored", [&](int index) -> Result<Done> {
            const HeadId id{index / config.nHeads, index % config.nHeads};
            auto head = refactorHead(folded.head<double>(id));
            if (!head)
                return Error{
                    head.error().code,
                    fmt::format("Head {} cannot be refactored: {}", headLabel(id), head.error().message)};
            heads[static_cast<std::size_t>(index)] = *std::move(head);
            return Done{};
        });
    if (!done)
        return done.error();
    return heads;
}

} // namespace headwise
