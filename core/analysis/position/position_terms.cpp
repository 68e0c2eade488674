#include "core/analysis/position/position_terms.h"

namespace headwise {

PositionTerms::PositionTerms(const ProcessedWeights& weights, HeadId head, const Matrix<double>& positions,
                             const DivisorSpread& spread)
    : m_weights(weights)
    , m_mean(spread.positionMean.head(positions.rows()))
    , m_min(spread.positionMin.head(positions.rows()))
    , m_max(spread.positionMax.head(positions.rows()))
    , m_scale(weights.config().attentionScaleOf(head.layer))
{
    const Eigen::Index n = positions.rows();
    FoldedHead h = foldedHead(weights, head);
    const Matrix<double> keys = positions * h.W_K;
    const RowVector<double> bare = h.b_Q * keys.transpose();
    const RowVector<double> band = 1.96 * spread.inverseDeviation.head(n).transpose();
    const RowVector<double> width = bare.cwiseProduct(band).cwiseAbs();
    p = bare.cwiseProduct(spread.inverseMean.head(n).transpose());
    pLow = p - width;
    pHigh = p + width;
    pAtMinSigma = bare.cwiseQuotient(m_min.transpose());
    pAtMaxSigma = bare.cwiseQuotient(m_max.transpose());
    m_queries = positions * h.W_Q;
    m_keys = spread.inverseMean.head(n).asDiagonal() * keys;
    m_relativeWidth = band.cwiseQuotient(spread.inverseMean.head(n).transpose());
    m_queryWeights = std::move(h.W_Q);
}

QueryTerms PositionTerms::at(Eigen::Index query) const
{
    const RowVector<double> pairs = m_queries.row(query) * m_keys.transpose();
    QueryTerms terms;
    terms.pp = pairs / m_mean(query);
    const RowVector<double> width = terms.pp.cwiseProduct(m_relativeWidth).cwiseAbs();
    terms.ppLow = terms.pp - width;
    terms.ppHigh = terms.pp + width;
    terms.ppAtMinSigma = pairs / m_min(query);
    terms.ppAtMaxSigma = pairs / m_max(query);
    terms.pattern = attention(terms.pp + p, query);
    return terms;
}

QueryTokenTerms PositionTerms::at(Eigen::Index query, int token) const
{
    const Matrix<double> e = seenRows(m_weights.ln1<double>(0), m_weights.W_E<double>(token, 1));
    QueryTokenTerms terms;
    terms.sigma = divisors(m_weights.ln1<double>(0), seenPositions(m_weights, query, 1), e)(0, 0);
    terms.pp = m_queries.row(query) * m_keys.transpose() / terms.sigma;
    terms.ep = (e * m_queryWeights) * m_keys.transpose() / terms.sigma;
    terms.pattern = attention(terms.pp + terms.ep + p, query);
    return terms;
}

RowVector<double> PositionTerms::attention(const RowVector<double>& scores, Eigen::Index query) const
{
    const RowVector<double> seen = scores.head(query + 1) * m_scale;
    const RowVector<double> weights = (seen.array() - seen.maxCoeff()).exp();
    RowVector<double> pattern = RowVector<double>::Zero(scores.size());
    pattern.head(query + 1) = weights / weights.sum();
    return pattern;
}

} // namespace headwise
