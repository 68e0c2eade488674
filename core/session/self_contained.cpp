#include "core/session/self_contained.h"

#include "core/base/parallel.h"

#include <algorithm>

namespace headwise {

namespace {

constexpr Eigen::Index selfContainedTokensPerBlock = 1024;

template <typename Scalar>
using RowMajor = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

ResultArray named(std::string path, std::string title, std::string definition)
{
    ResultArray array;
    array.path = std::move(path);
    array.title = std::move(title);
    array.definition = std::move(definition);
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
    const auto V = static_cast<std::size_t>(config.dVocab),
               outputs = static_cast<std::size_t>(config.dVocabOut);
    const std::vector<ArrayAxis> down{Axis::Layer, Axis::Head, Axis::Residual, Axis::HeadDimension};
    const std::vector<ArrayAxis> up{Axis::Layer, Axis::Head, Axis::HeadDimension, Axis::Residual};
    Factors<Scalar> factors = std::move(read).value();
    ResultSet results;
    const auto add = [&results](ResultArray array, std::vector<std::size_t> shape,
                                std::vector<ArrayAxis> axes, ResultArray::Values values) {
        array.shape = std::move(shape);
        array.axes = std::move(axes);
        array.values = std::move(values);
        results.arrays.push_back(std::move(array));
    };
    add(named("factors/qk/a", "W_Q", "W_Q; QK = a b"), {L, H, d, r}, down, std::move(factors.qkA));
    add(named("factors/qk/b", "W_K transposed", "W_Kᵀ; QK = a b"), {L, H, r, d}, up, std::move(factors.qkB));
    add(named("factors/ov/a", "W_V", "W_V; OV = a b"), {L, H, d, r}, down, std::move(factors.ovA));
    add(named("factors/ov/b", "W_O", "W_O; OV = a b"), {L, H, r, d}, up, std::move(factors.ovB));
    add(named("embedding", "Embedding", "W_E of the weights in use"), {V, d}, {Axis::Token, Axis::Residual},
        std::move(E).value());
    add(named("unembedding", "Unembedding", "W_U of the weights in use"), {d, outputs},
        {Axis::Residual, Axis::Token}, std::move(U).value());
    return results;
}

} // namespace

Result<ResultSet> selfContained(const Circuits& circuits, Precision precision, const Task& task)
{
    return precision == Precision::F64 ? copied<double>(circuits, task) : copied<float>(circuits, task);
}

} // namespace headwise
