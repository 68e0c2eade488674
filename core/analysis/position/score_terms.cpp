#include "core/analysis/position/score_terms.h"

#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"

#include <cmath>
#include <utility>

namespace headwise {

Matrix<double> ScoreTerms::six() const
{
    Matrix<double> sum = pairs[0] + pairs[1] + pairs[2] + pairs[3];
    sum.rowwise() += e + p;
    return sum;
}

TermSizes ScoreTerms::sizes() const
{
    const Eigen::Index n = score.rows();
    TermSizes sums{};
    for (Eigen::Index i = 0; i < n; ++i) {
        for (std::size_t pair = 0; pair < pairs.size(); ++pair)
            sums[pair] += pairs[pair].row(i).head(i + 1).squaredNorm();
        sums[4] += e.head(i + 1).squaredNorm();
        sums[5] += p.head(i + 1).squaredNorm();
        sums[6] += constant(i) * constant(i) * static_cast<double>(i + 1);
    }
    const double count = static_cast<double>(n) * static_cast<double>(n + 1) / 2;
    for (double& sum : sums)
        sum = std::sqrt(sum / count);
    return sums;
}

PromptParts promptParts(const ProcessedWeights& weights, const std::vector<int>& ids)
{
    const auto n = static_cast<Eigen::Index>(ids.size());
    const Norm<double> norm = weights.ln1<double>(0);
    Matrix<double> e(n, weights.config().dModel);
    for (Eigen::Index i = 0; i < n; ++i)
        e.row(i) = weights.W_E<double>(ids[static_cast<std::size_t>(i)], 1);
    PromptParts parts;
    parts.normed = normalized<double>(norm, e + weights.W_pos<double>(0, n));
    parts.e = seenRows(norm, std::move(e));
    parts.p = seenPositions(weights, 0, n);
    parts.sigma = divisors(norm, parts.p, parts.e).diagonal();
    return parts;
}

ScoreTerms scoreTerms(const ProcessedWeights& weights, HeadId head, const PromptParts& parts)
{
    const FoldedHead h = foldedHead(weights, head);
    const Eigen::VectorXd inverse = parts.sigma.cwiseInverse();
    const Matrix<double> e = inverse.asDiagonal() * parts.e;
    const Matrix<double> p = inverse.asDiagonal() * parts.p;
    const Matrix<double> qe = e * h.W_Q, qp = p * h.W_Q, ke = e * h.W_K, kp = p * h.W_K; // [n, r]
    ScoreTerms out;
    out.pairs = {qe * ke.transpose(), qe * kp.transpose(), qp * ke.transpose(), qp * kp.transpose()};
    out.e = h.b_Q * ke.transpose();
    out.p = h.b_Q * kp.transpose();
    out.constant = h.b_K * (qe + qp).transpose();
    out.constant.array() += h.b_Q.dot(h.b_K);
    out.bare = parts.sigma.asDiagonal() * out.pairs[0] * parts.sigma.asDiagonal();
    const QueriesAndKeys<double> qk =
        queriesAndKeys(weights.head<double>(head), SharedQkScale{}, 0, parts.normed);
    out.score = qk.q * qk.k.transpose();
    return out;
}

TermSizes randomTermSizes(const FoldedHead& head, const PromptParts& parts)
{
    const Eigen::ArrayXd inverse = parts.sigma.array().square().inverse();
    const Eigen::ArrayXd e = parts.e.rowwise().squaredNorm().array() * inverse;
    const Eigen::ArrayXd p = parts.p.rowwise().squaredNorm().array() * inverse;
    const double d = static_cast<double>(parts.e.cols());
    const Matrix<double> Q = head.W_Q.transpose() * head.W_Q;
    const Matrix<double> K = head.W_K.transpose() * head.W_K;
    const double pair = Q.cwiseProduct(K).sum() / (d * d);
    const double prior = (head.b_Q * head.W_K.transpose()).squaredNorm() / d;
    const double query = (head.W_Q * head.b_K.transpose()).squaredNorm() / d;
    const double fixed = head.b_Q.dot(head.b_K) * head.b_Q.dot(head.b_K);
    TermSizes sums{};
    double eKeys = 0, pKeys = 0; // of the keys up to i
    for (Eigen::Index i = 0; i < e.size(); ++i) {
        eKeys += e(i);
        pKeys += p(i);
        sums[0] += e(i) * eKeys * pair;
        sums[1] += e(i) * pKeys * pair;
        sums[2] += p(i) * eKeys * pair;
        sums[3] += p(i) * pKeys * pair;
        sums[4] += eKeys * prior;
        sums[5] += pKeys * prior;
        sums[6] += ((e(i) + p(i)) * query + fixed) * static_cast<double>(i + 1);
    }
    const double count = static_cast<double>(e.size()) * static_cast<double>(e.size() + 1) / 2;
    for (double& sum : sums)
        sum = std::sqrt(sum / count);
    return sums;
}

} // namespace headwise
