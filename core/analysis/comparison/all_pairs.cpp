#include "core/analysis/comparison/all_pairs.h"

#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/subspace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

/// Heads of one layer side by side, so that the products of two layers are large ones.
template <typename Scalar>
struct LayerStack {
    std::vector<std::size_t> heads; // into the heads asked for
    Matrix<Scalar> left, right;     // [d, heads · width]; right may be empty
};

template <typename Scalar>
std::vector<LayerStack<Scalar>> stacks(const ModelConfig& config, const std::vector<HeadId>& heads,
                                       Eigen::Index width, bool hasRight)
{
    std::vector<LayerStack<Scalar>> all(static_cast<std::size_t>(config.nLayers));
    for (std::size_t i = 0; i < heads.size(); ++i)
        all[static_cast<std::size_t>(heads[i].layer)].heads.push_back(i);
    for (LayerStack<Scalar>& stack : all) {
        const Eigen::Index cols = static_cast<Eigen::Index>(stack.heads.size()) * width;
        stack.left.resize(config.dModel, cols);
        if (hasRight)
            stack.right.resize(config.dModel, cols);
    }
    return all;
}

/// Σ (L_aᵀ L_b) ∘ (R_aᵀ R_b) of every pair; without R ‖L_aᵀ L_b‖²_F.
template <typename Scalar>
Result<Matrix<double>> pairwise(const std::vector<LayerStack<Scalar>>& stacks, Eigen::Index width,
                                Eigen::Index count, const Task& task)
{
    Matrix<double> values = Matrix<double>::Constant(count, count, notComputed);
    const int layers = static_cast<int>(stacks.size());
    const auto done = parallelFor(layers * layers, task, "pairs of heads", [&](int i) -> Result<Done> {
        const LayerStack<Scalar>& a = stacks[static_cast<std::size_t>(i / layers)];
        const LayerStack<Scalar>& b = stacks[static_cast<std::size_t>(i % layers)];
        if (i / layers > i % layers || a.heads.empty() || b.heads.empty())
            return Done{};
        const Matrix<Scalar> lefts = a.left.transpose() * b.left;
        const Matrix<Scalar> rights =
            a.right.size() > 0 ? Matrix<Scalar>(a.right.transpose() * b.right) : Matrix<Scalar>();
        for (std::size_t m = 0; m < a.heads.size(); ++m) {
            for (std::size_t n = 0; n < b.heads.size(); ++n) {
                const auto at = [&](const Matrix<Scalar>& products) -> Matrix<double> {
                    return products
                        .block(static_cast<Eigen::Index>(m) * width, static_cast<Eigen::Index>(n) * width,
                               width, width)
                        .template cast<double>();
                };
                const Matrix<double> left = at(lefts);
                const double value =
                    rights.size() > 0 ? left.cwiseProduct(at(rights)).sum() : left.squaredNorm();
                const auto row = static_cast<Eigen::Index>(a.heads[m]);
                const auto col = static_cast<Eigen::Index>(b.heads[n]);
                values(row, col) = values(col, row) = value;
            }
        }
        return Done{};
    });
    if (!done)
        return done.error();
    return values;
}

template <typename Scalar>
Result<Matrix<double>> cosines(const AnalysisContext& context, CircuitKind kind, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    const Eigen::Index r = config.dHead;
    auto all = stacks<Scalar>(config, heads, r, true);
    const auto read = parallelFor(config.nLayers, withoutProgress(task), "", [&](int layer) -> Result<Done> {
        LayerStack<Scalar>& stack = all[static_cast<std::size_t>(layer)];
        for (std::size_t i = 0; i < stack.heads.size(); ++i) {
            const HeadWeights<double> w = context.circuits.weights().head<double>(heads[stack.heads[i]]);
            const Matrix<double> left = kind == CircuitKind::Qk ? w.W_Q : w.W_V;
            const Matrix<double> right = kind == CircuitKind::Qk ? w.W_K : Matrix<double>(w.W_O.transpose());
            const double square = (left.transpose() * left).cwiseProduct(right.transpose() * right).sum();
            // Both sides get the same size, so that neither leaves the range of a float.
            const double size = left.norm();
            const auto at = static_cast<Eigen::Index>(i) * r;
            stack.left.middleCols(at, r) = (left / size).template cast<Scalar>();
            stack.right.middleCols(at, r) = (right * (size / std::sqrt(square))).template cast<Scalar>();
        }
        return Done{};
    });
    if (!read)
        return read.error();
    return pairwise(all, r, static_cast<Eigen::Index>(heads.size()), task);
}

Matrix<double> partOf(const HeadWeights<double>& head, HeadPart part)
{
    switch (part) {
    case HeadPart::Q: return head.W_Q;
    case HeadPart::K: return head.W_K;
    case HeadPart::V: return head.W_V;
    case HeadPart::O: break;
    }
    return head.W_O.transpose();
}

template <typename Scalar>
Result<Matrix<double>> kernels(const AnalysisContext& context, HeadPart part, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    const Eigen::Index width = std::min(config.dModel, config.dHead);
    auto all = stacks<Scalar>(config, heads, width, false);
    std::vector<std::pair<std::size_t, std::size_t>> places(heads.size()); // layer, index in it
    for (std::size_t layer = 0; layer < all.size(); ++layer) {
        for (std::size_t i = 0; i < all[layer].heads.size(); ++i)
            places[all[layer].heads[i]] = {layer, i};
    }
    const auto count = static_cast<int>(heads.size());
    const auto read = parallelFor(count, withoutProgress(task), "", [&](int index) -> Result<Done> {
        const auto [layer, i] = places[static_cast<std::size_t>(index)];
        const auto space = columnSpace(
            partOf(context.circuits.weights().head<double>(heads[static_cast<std::size_t>(index)]), part));
        if (!space && space.error().code != ErrorCode::Corrupt)
            return space.error();
        auto columns = all[layer].left.middleCols(static_cast<Eigen::Index>(i) * width, width);
        if (space && space->rank > 0)
            columns = space->basis.template cast<Scalar>();
        else
            columns.setConstant(std::numeric_limits<Scalar>::quiet_NaN());
        return Done{};
    });
    if (!read)
        return read.error();
    return pairwise(all, width, count, task);
}

} // namespace

Result<Matrix<double>> circuitCosines(const AnalysisContext& context, CircuitKind kind, const Task& task)
{
    return context.options.precision == Precision::F64 ? cosines<double>(context, kind, task)
                                                       : cosines<float>(context, kind, task);
}

Result<Matrix<double>> projectionKernels(const AnalysisContext& context, HeadPart part, const Task& task)
{
    return context.options.precision == Precision::F64 ? kernels<double>(context, part, task)
                                                       : kernels<float>(context, part, task);
}

RealNumbers allPairs(const AnalysisContext& context, const Matrix<double>& values)
{
    const std::vector<HeadId> heads = selectedHeads(context.circuits.config(), context.options);
    RealNumbers pairs = RealNumbers::perPair(context.circuits.config());
    for (std::size_t i = 0; i < heads.size(); ++i) {
        for (std::size_t j = 0; j < heads.size(); ++j)
            pairs.set(heads[i], heads[j], values(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)));
    }
    return pairs;
}

} // namespace headwise
