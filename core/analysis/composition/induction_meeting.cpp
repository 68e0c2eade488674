#include "core/analysis/composition/induction_meeting.h"

#include "core/base/decompositions.h"
#include "core/circuits/spectrum.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

Matrix<double> atUnitNorm(const Matrix<double>& m)
{
    const double norm = m.stableNorm();
    return norm > 0 && std::isfinite(norm) ? Matrix<double>(m / norm) : m;
}

namespace {

/// Returns how much the circuit M of a pair is like a projection onto as many token directions as it can have: 1 if it is a
/// multiple of one. By Cauchy and Schwarz |tr M| ≤ √rank ‖M‖_F, so a circuit of a single direction cannot exceed 1/n.
/// Traces of products with Eᵀ E stand for those of M, which is [V, V].
template <typename Scalar>
double sameToken(const Writer<Scalar>& writer, const Reader<Scalar>& reader, const Matrix<Scalar>& written,
                 Eigen::Index tokens)
{
    const Matrix<double>& w = written.template cast<double>();
    const Matrix<Scalar> read = writer.V.transpose() * reader.SQ;
    const double trace = w.cwiseProduct(read.template cast<double>()).sum();
    const double squares = (w * reader.QSQ).cwiseProduct(writer.VSV * w).sum();
    if (!(squares > 0))
        return std::numeric_limits<double>::quiet_NaN();
    const auto rank = static_cast<double>(std::min({reader.Q.rows(), reader.Q.cols(), tokens}));
    return std::clamp(reader.share * trace * std::abs(trace) / (rank * squares), -1.0, 1.0);
}

/// Returns a matrix with the non-zero eigenvalues of E W_Q W_Kᵀ W_Oᵀ W_Vᵀ Eᵀ, permuted cyclically so that it is smallest.
/// A product and its cyclic permutations share all non-zero eigenvalues.
/// Fewer zeros help: eigenvalue solvers are inaccurate for many zeros at once.
/// \param written W_O W_K, [r, r]
template <typename Scalar>
Matrix<Scalar> circleOf(const Writer<Scalar>& writer, const Reader<Scalar>& reader,
                        const Matrix<Scalar>& written, const TokenMatrix& E)
{
    const Eigen::Index r = reader.Q.cols();
    const Eigen::Index d = reader.Q.rows();
    if (E.count() < std::min(r, d)) {
        const Matrix<Scalar> queries = rowsTimes(E, reader.Q);
        const Matrix<Scalar> values = rowsTimes(E, writer.V);
        return queries * written.transpose() * values.transpose();
    }
    if (d < r)
        return reader.SQ * written.transpose() * writer.V.transpose();
    const Matrix<Scalar> read = writer.V.transpose() * reader.SQ;
    return written.transpose() * read;
}

} // namespace

template <typename Scalar>
Result<Reader<Scalar>> readerOf(const HeadWeights<double>& head, const Matrix<double>& gram)
{
    const Matrix<double> Q = atUnitNorm(head.W_Q), K = atUnitNorm(head.W_K);
    const auto R = triangularFactor(Q);
    if (!R)
        return R.error();
    if (!K.allFinite())
        return Error{ErrorCode::Corrupt, "A key weight is NaN or infinite."};
    const Matrix<double> SQ = gram * Q, unitSQ = atUnitNorm(SQ);
    return Reader<Scalar>{Q.cast<Scalar>(),
                          K.cast<Scalar>(),
                          unitSQ.cast<Scalar>(),
                          R->template cast<Scalar>(),
                          (*R * K.transpose()).norm(),
                          Q.transpose() * unitSQ,
                          SQ.stableNorm() / gram.stableNorm()};
}

template <typename Scalar>
Result<Writer<Scalar>> writerOf(const HeadWeights<double>& head, const Matrix<double>& gram)
{
    const Matrix<double> V = atUnitNorm(head.W_V), O = atUnitNorm(head.W_O);
    const auto R = triangularFactor(V);
    if (!R)
        return R.error();
    if (!O.allFinite())
        return Error{ErrorCode::Corrupt, "An output weight is NaN or infinite."};
    return Writer<Scalar>{V.cast<Scalar>(), O.cast<Scalar>(), R->template cast<Scalar>(), (*R * O).norm(),
                          V.transpose() * (gram * V) / gram.stableNorm()};
}

template <typename Scalar>
Result<PairNumbers> meet(const Writer<Scalar>& writer, const Reader<Scalar>& reader, const TokenMatrix& E)
{
    const Matrix<Scalar> written = writer.O * reader.K;
    const double composition = static_cast<double>((writer.coreV * written * reader.coreQ.transpose()).norm())
        / (writer.norm * reader.norm);
    const auto lambda = eigenvalues<Scalar>(circleOf(writer, reader, written, E));
    if (!lambda && lambda.error().code != ErrorCode::Corrupt)
        return lambda.error();
    return PairNumbers{composition,
                       lambda ? positivity({lambda->data(), static_cast<std::size_t>(lambda->size())})
                              : std::numeric_limits<double>::quiet_NaN(),
                       sameToken(writer, reader, written, E.count())};
}

template Result<Reader<float>> readerOf(const HeadWeights<double>&, const Matrix<double>&);
template Result<Reader<double>> readerOf(const HeadWeights<double>&, const Matrix<double>&);
template Result<Writer<float>> writerOf(const HeadWeights<double>&, const Matrix<double>&);
template Result<Writer<double>> writerOf(const HeadWeights<double>&, const Matrix<double>&);
template Result<PairNumbers> meet(const Writer<float>&, const Reader<float>&, const TokenMatrix&);
template Result<PairNumbers> meet(const Writer<double>&, const Reader<double>&, const TokenMatrix&);

} // namespace headwise
