#include "core/session/self_contained.h"

#include "core/base/parallel.h"

#include <algorithm>

namespace headwise {

namespace {

constexpr Eigen::Index selfContainedTokensPerBlock = 1024;

template <typename Scalar>
using RowMajor = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

ResultArray described(std::string path, std::vector<std::size_t> shape, ResultArray::Values values,
                      std::vector<ArrayAxis> axes, std::string definition, std::string title)
{
    ResultArray array;
    array.path = std::move(path);
    array.shape = std::move(shape);
    array.values = std::move(values);
    array.axes = std::move(axes);
    array.definition = std::move(definition);
    array.title = std::move(title);
    return array;
}

/// Reads the four factors of every head, each head's [rows, cols] row by row.
template <typename Scalar>
struct Factors {
    std::vector<Scalar> qkA, qkB, ovA, ovB;
};

template <typename Scalar>
Result<Factors<Scalar>> readFactors(const Circuits& circuits, const Task& task)
{
    const ModelConfig& config = circuits.config();
    const int heads = config.nLayers * config.nHeads;
    const auto each = static_cast<std::ptrdiff_t>(config.dModel) * config.dHead;
    const std::vector<Scalar> zeros(static_cast<std::size_t>(heads * each));
    Factors<Scalar> out{zeros, zeros, zeros, zeros};
    const auto done = parallelFor(heads, task, "heads copied", [&](int index) -> Result<Done> {
        const auto weights =
            circuits.weights().template head<Scalar>({index / config.nHeads, index % config.nHeads});
        const auto put = [&](std::vector<Scalar>& to, const Matrix<Scalar>& from) {
            Eigen::Map<RowMajor<Scalar>>(to.data() + index * each, from.rows(), from.cols()) = from;
        };
        put(out.qkA, weights.W_Q);
        put(out.qkB, weights.W_K.transpose());
        put(out.ovA, weights.W_V);
        put(out.ovB, weights.W_O);
        return Done{};
    });
    if (!done)
        return done.error();
    return out;
}

template <typename Scalar>
Result<std::vector<Scalar>> readEmbedding(const Circuits& circuits, const Task& task)
{
    const ModelConfig& config = circuits.config();
    std::vector<Scalar> out(static_cast<std::size_t>(config.dVocab)
                            * static_cast<std::size_t>(config.dModel));
    Eigen::Map<RowMajor<Scalar>> matrix(out.data(), config.dVocab, config.dModel);
    for (Eigen::Index first = 0; first < config.dVocab; first += selfContainedTokensPerBlock) {
        if (task.cancelled())
            return stopped();
        const Eigen::Index count = std::min<Eigen::Index>(selfContainedTokensPerBlock, config.dVocab - first);
        matrix.middleRows(first, count) = circuits.weights().template W_E<Scalar>(first, count);
    }
    return out;
}

template <typename Scalar>
Result<std::vector<Scalar>> readUnembedding(const Circuits& circuits, const Task& task)
{
    const ModelConfig& config = circuits.config();
    std::vector<Scalar> out(static_cast<std::size_t>(config.dVocabOut)
                            * static_cast<std::size_t>(config.dModel));
    Eigen::Map<RowMajor<Scalar>> matrix(out.data(), config.dModel, config.dVocabOut);
    for (Eigen::Index first = 0; first < config.dVocabOut; first += selfContainedTokensPerBlock) {
        if (task.cancelled())
            return stopped();
        const Eigen::Index count =
            std::min<Eigen::Index>(selfContainedTokensPerBlock, config.dVocabOut - first);
        matrix.middleCols(first, count) = circuits.weights().template W_U<Scalar>(first, count);
    }
    return out;
}

template <typename Scalar>
Result<ResultSet> copied(const Circuits& circuits, const Task& task)
{
    auto read = readFactors<Scalar>(circuits, task);
    if (!read)
        return read.error();
    auto E = readEmbedding<Scalar>(circuits, task);
    if (!E)
        return E.error();
    auto U = readUnembedding<Scalar>(circuits, task);
    if (!U)
        return U.error();
    const ModelConfig& config = circuits.config();
    const std::size_t L = config.nLayers, H = config.nHeads, d = config.dModel, r = config.dHead;
    const std::vector<ArrayAxis> down{Axis::Layer, Axis::Head, Axis::Residual, Axis::HeadDimension};
    const std::vector<ArrayAxis> up{Axis::Layer, Axis::Head, Axis::HeadDimension, Axis::Residual};
    Factors<Scalar> factors = std::move(read).value();
    ResultSet results;
    results.arrays.push_back(
        described("factors/qk/a", {L, H, d, r}, std::move(factors.qkA), down, "W_Q; QK = a b", "W_Q"));
    results.arrays.push_back(described("factors/qk/b", {L, H, r, d}, std::move(factors.qkB), up,
                                       "W_Kᵀ; QK = a b", "W_K transposed"));
    results.arrays.push_back(
        described("factors/ov/a", {L, H, d, r}, std::move(factors.ovA), down, "W_V; OV = a b", "W_V"));
    results.arrays.push_back(
        described("factors/ov/b", {L, H, r, d}, std::move(factors.ovB), up, "W_O; OV = a b", "W_O"));
    results.arrays.push_back(described("embedding", {static_cast<std::size_t>(config.dVocab), d},
                                       std::move(E).value(), {Axis::Token, Axis::Residual},
                                       "W_E of the weights in use", "Embedding"));
    results.arrays.push_back(described("unembedding", {d, static_cast<std::size_t>(config.dVocabOut)},
                                       std::move(U).value(), {Axis::Residual, Axis::Token},
                                       "W_U of the weights in use", "Unembedding"));
    return results;
}

} // namespace

Result<ResultSet> selfContained(const Circuits& circuits, Precision precision, const Task& task)
{
    return precision == Precision::F64 ? copied<double>(circuits, task) : copied<float>(circuits, task);
}

} // namespace headwise
