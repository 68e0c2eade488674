#include "tests/core/analysis/spectra/dense_directions.h"

#include "tests/support/dense_algebra.h"

#include <algorithm>
#include <numeric>

namespace headwise::test {

std::vector<int> ranked(const Eigen::VectorXd& scores)
{
    std::vector<int> ids(static_cast<std::size_t>(scores.size()));
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) { return scores(a) > scores(b); });
    return ids;
}

DenseDirections denseDirections(const Circuits& circuits, CircuitKind kind, HeadId head)
{
    const ModelConfig& config = circuits.config();
    const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
    const Matrix<double> W_U = circuits.weights().W_U<double>(0, config.dVocabOut);
    const DenseSvd svd(denseCircuit(circuits, kind, head));
    DenseDirections out{svd.singularValues(),
                        (svd.matrixU().cwiseProduct(svd.matrixV())).colwise().sum().transpose(),
                        E * svd.matrixU(),
                        {}};
    out.second = kind == CircuitKind::Ov ? Matrix<double>(W_U.transpose() * svd.matrixV())
                                         : Matrix<double>(E * svd.matrixV());
    for (Eigen::Index k = 0; k < out.first.cols(); ++k) {
        Eigen::Index largest = 0;
        out.first.col(k).cwiseAbs().maxCoeff(&largest);
        if (out.first(largest, k) < 0) {
            out.first.col(k) *= -1;
            out.second.col(k) *= -1;
        }
    }
    return out;
}

LeftDirections leftDirections(const Matrix<double>& m)
{
    const DenseSvd svd(m);
    return {svd.singularValues(), svd.matrixU()};
}

} // namespace headwise::test
