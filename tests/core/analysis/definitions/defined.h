#pragma once

#include "tests/support/dense_algebra.h"
#include "tests/support/every_input.h"
#include "tests/support/reference_forward.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

// Arrays recomputed from their definitions and the weights alone, in dense float64.

namespace headwise::test::definitions {

using Numbers = std::vector<double>;
using Dense = Matrix<double>;

inline Numbers listOf(const Eigen::VectorXd& values)
{
    return {values.begin(), values.end()};
}

inline Numbers falling(Numbers values, std::size_t count)
{
    std::sort(values.begin(), values.end(), std::greater<>());
    values.resize(std::min(count, values.size()));
    return values;
}

inline double deviationOf(const RowVector<double>& x)
{
    return std::sqrt((x.array() - x.mean()).square().mean());
}

/// A model, the dense matrices of its definitions, and what the program says of it in double.
struct Defined {
    QTemporaryDir folder;
    std::filesystem::path path; ///< on disk, for the reference's forward passes
    Circuits circuits;
    ModelConfig config;
    AnalysisOptions options;
    ResultSet results;
    Dense E, U, P;
    double eps = 0;

    explicit Defined(const test::ToyOptions& toy)
        : path(std::filesystem::path(folder.path().toStdString()) / "toy")
        , circuits(writtenCircuits(path, toy))
        , config(circuits.config())
        , options(test::everyInput(config, {{0, 0}, {1, 1}}))
    {
        options.precision = Precision::F64;
        options.inputs.keyPosition = 1;
        std::iota(options.inputs.direction.begin(), options.inputs.direction.end(), 1.0);
        options.inputs.relations = {{"pairs", {{" one", " two"}, {" John", " Mary"}, {" two", " word7"}}}};
        results = test::analysed(circuits, test::fittingAnalyses(config, options), options);
        const ProcessedWeights& weights = circuits.weights();
        E = weights.W_E<double>(0, config.dVocab);
        U = weights.W_U<double>(0, config.dVocabOut);
        if (config.positional == Positional::Learned)
            P = weights.W_pos<double>(0, config.nCtx);
        eps = weights.ln1<double>(0).eps;
    }

    HeadWeights<double> w(HeadId head) const { return circuits.weights().head<double>(head); }
    Dense qk(HeadId head) const { return w(head).W_Q * w(head).W_K.transpose(); }
    Dense ov(HeadId head) const { return w(head).W_V * w(head).W_O; }
    Dense fullQk(HeadId head) const { return E * qk(head) * E.transpose(); }
    Dense fullOv(HeadId head) const { return E * ov(head) * U; }
    int token() const { return *options.inputs.token; }
    double sigma(const RowVector<double>& x) const
    {
        return std::sqrt(deviationOf(x) * deviationOf(x) + eps);
    }
    RowVector<double> normed(const RowVector<double>& x) const
    {
        return (x.array() - x.mean()).matrix() / sigma(x);
    }
    /// σ̄ of a token: mean over positions of σ.
    double meanSigma(Eigen::Index token) const
    {
        double sum = 0;
        for (Eigen::Index i = 0; i < P.rows(); ++i)
            sum += sigma(E.row(token) + P.row(i));
        return sum / static_cast<double>(P.rows());
    }
    /// The score of two inputs, scaled.
    double score(HeadId head, const RowVector<double>& x, const RowVector<double>& y) const
    {
        const auto h = w(head);
        return (normed(x) * h.W_Q + h.b_Q).dot(normed(y) * h.W_K + h.b_K)
            * config.attentionScaleOf(head.layer);
    }
    /// Returns the input of layer 0 at a position of the prompt.
    RowVector<double> promptInput(Eigen::Index i) const
    {
        return E.row(options.inputs.prompt[static_cast<std::size_t>(i)]) + P.row(i);
    }
    double positionScore(HeadId head, Eigen::Index i, Eigen::Index j) const
    {
        return score(head, P.row(i), P.row(j));
    }
    /// Numbers of every head, one after the other. \param of returns a double or Numbers
    template <typename Of>
    Numbers perHead(const Of& of, int lastLayer = 1) const
    {
        Numbers all;
        for (int layer = 0; layer <= lastLayer; ++layer) {
            for (int head = 0; head < config.nHeads; ++head) {
                if constexpr (std::is_same_v<decltype(of(HeadId{})), double>)
                    all.push_back(of({layer, head}));
                else
                    std::ranges::copy(of({layer, head}), std::back_inserter(all));
            }
        }
        return all;
    }
    static Circuits writtenCircuits(const std::filesystem::path& path, const test::ToyOptions& toy)
    {
        test::writeToyModel(path, toy);
        return test::circuitsOf(path);
    }
    /// Numbers of every earlier and later head; NaN elsewhere.
    template <typename Of>
    Numbers perPair(const Of& of) const
    {
        return perHead([&](HeadId first) {
            return perHead([&](HeadId second) {
                return first.layer < second.layer ? of(first, second)
                                                  : std::numeric_limits<double>::quiet_NaN();
            });
        });
    }
};

inline double positivityOf(const Dense& m)
{
    const Eigen::VectorXcd lambda = test::eigenvaluesOf(m);
    return lambda.sum().real() / lambda.cwiseAbs().sum();
}

inline Numbers entriesOf(const Dense& m)
{
    return {m.data(), m.data() + m.size()};
}

/// The k largest entries of every row.
inline Numbers largestOfRows(const Dense& m, std::size_t k)
{
    Numbers all;
    for (Eigen::Index row = 0; row < m.rows(); ++row)
        std::ranges::copy(falling(listOf(m.row(row).transpose()), k), std::back_inserter(all));
    return all;
}

/// Number of entries of a row above that of the diagonal.
inline double ownRank(const Dense& m, Eigen::Index t)
{
    return static_cast<double>((m.row(t).array() > m(t, t)).count());
}

inline double medianOf(Numbers values)
{
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// The columns' span, as orthonormal vectors.
inline Dense basisOf(const Dense& m)
{
    const test::DenseSvd svd(m);
    return svd.matrixU().leftCols((svd.singularValues().array() > 1e-6 * svd.singularValues()(0)).count());
}

inline double excessOf(const Numbers& norms)
{
    const Eigen::Map<const Eigen::ArrayXd> x(norms.data(), static_cast<Eigen::Index>(norms.size()));
    const double deviation =
        std::sqrt((x - x.mean()).square().sum() / (static_cast<double>(norms.size()) - 1));
    return (x - (x.mean() + 2 * deviation)).cwiseMax(0).sum();
}

/// One array of an analysis, its definition, and that definition computed from the weights alone.
/// Numbers that the definition gives as NaN are not compared.
struct Definition {
    const char* path;
    const char* text;
    std::function<Numbers(const Defined&)> numbers;
    bool isOfRotary = false; ///< of the model with rotary positions and grouped heads
};

} // namespace headwise::test::definitions
