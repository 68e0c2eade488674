#include "core/base/parallel.h"
#include "core/circuits/circuits.h"
#include "core/model/layer_parts.h"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace headwise {

namespace {

constexpr Eigen::Index tokensPerBlock = 1024;
constexpr Eigen::Index gramTile = 128;

int blockCount(Eigen::Index size, Eigen::Index perBlock)
{
    return static_cast<int>((size + perBlock - 1) / perBlock);
}

/// Layer 0 with attention locked to the token itself: value and output of all heads as one affine map.
template <typename Scalar>
struct LockedAttention {
    Matrix<Scalar> map;       // [d, d] Σ_h W_V W_O
    RowVector<Scalar> offset; // [d] Σ_h b_V W_O + b_O
};

template <typename Scalar>
LockedAttention<Scalar> lockedAttention(const ProcessedWeights& weights)
{
    const ModelConfig& config = weights.config();
    Matrix<double> map = Matrix<double>::Zero(config.dModel, config.dModel);
    RowVector<double> offset = weights.b_O<double>(0);
    for (int head = 0; head < config.nHeads; ++head) {
        const HeadWeights<double> h = weights.head<double>({0, head});
        map.noalias() += h.W_V * h.W_O;
        offset.noalias() += h.b_V * h.W_O;
    }
    return {map.cast<Scalar>(), offset.cast<Scalar>()};
}

/// Everything of layer 0 that an embedding needs, read once.
template <typename Scalar>
struct LayerZero {
    const ProcessedWeights& weights;
    Embedding embedding;
    LockedAttention<Scalar> attention; // effective alone
    Norm<Scalar> ln1;
    std::unique_ptr<const LayerTail<Scalar>> tail; // null for raw

    LayerZero(const ProcessedWeights& source, Embedding kind)
        : weights(source)
        , embedding(kind)
    {
        if (kind == Embedding::Effective) {
            attention = lockedAttention<Scalar>(source);
            ln1 = source.ln1<Scalar>(0);
        }
        if (kind == Embedding::Effective || kind == Embedding::Mlp0)
            tail = std::make_unique<const LayerTail<Scalar>>(source, 0);
    }

    /// E of these rows of W_E.
    Matrix<Scalar> apply(const Matrix<Scalar>& x) const
    {
        const ModelConfig& config = weights.config();
        if (embedding == Embedding::Mlp0) {
            const Matrix<Scalar> written = mlpOutput(tail->mlp, config, normalized(tail->ln2, x));
            return config.hasSumNorms ? written : normalized(tail->ln2Post, written);
        }
        const Matrix<Scalar> normed = normalized(ln1, x);
        Matrix<Scalar> written = normed * attention.map;
        written.rowwise() += attention.offset;
        return tail->apply(config, x, normed, written);
    }
};

/// The token matrices of one precision.
template <typename Scalar>
struct TokenMatrices {
    Matrix<Scalar> E, layer0E, W_U;
};

template <typename Scalar>
Result<TokenMatrices<Scalar>> readTokenMatrices(const ProcessedWeights& weights, Embedding embedding,
                                                const Task& task)
{
    const ModelConfig& config = weights.config();
    TokenMatrices<Scalar> out;
    out.W_U.resize(config.dModel, config.dVocabOut);
    const auto unembedding = parallelFor(
        blockCount(config.dVocabOut, tokensPerBlock), task, "unembedding", [&](int block) -> Result<Done> {
            const Eigen::Index first = block * tokensPerBlock;
            const Eigen::Index count = std::min<Eigen::Index>(tokensPerBlock, config.dVocabOut - first);
            out.W_U.middleCols(first, count) = weights.W_U<Scalar>(first, count);
            return Done{};
        });
    if (!unembedding)
        return unembedding.error();
    if (embedding == Embedding::Unembed) {
        out.E = out.W_U.transpose();
        return out;
    }
    const bool usesLayerZero = embedding != Embedding::Raw;
    const LayerZero<Scalar> layerZero(weights, embedding);
    out.E.resize(config.dVocab, config.dModel);
    if (embedding == Embedding::Effective)
        out.layer0E.resize(config.dVocab, config.dModel);
    const auto tokens = parallelFor(
        blockCount(config.dVocab, tokensPerBlock), task, "embedding", [&](int block) -> Result<Done> {
            const Eigen::Index first = block * tokensPerBlock;
            const Eigen::Index count = std::min<Eigen::Index>(tokensPerBlock, config.dVocab - first);
            const Matrix<Scalar> x = weights.W_E<Scalar>(first, count);
            if (out.layer0E.size() > 0)
                out.layer0E.middleRows(first, count) = x;
            out.E.middleRows(first, count) = usesLayerZero ? layerZero.apply(x) : x;
            return Done{};
        });
    if (!tokens)
        return tokens.error();
    return out;
}

/// Which of the two factors of a Gram product stands on its side. With one matrix on both sides the product is symmetric.
enum class Turned { None, Left, Right };

/// left · right, leftᵀ · right or left · rightᵀ in double, [d, d], tile by tile of the result, so that the sum over the
/// vocabulary has one order whatever the number of threads; of a symmetric product the upper tiles alone are computed. Blocks
/// are cast as they lie in memory: a cast that turns them takes as long as the product.
template <typename Scalar>
Result<Matrix<double>> gramProduct(const Matrix<Scalar>& left, const Matrix<Scalar>& right, Turned turned,
                                   const Task& task, std::string_view step)
{
    constexpr Eigen::Index tokens = 4096;
    const bool isLeftTurned = turned == Turned::Left, isRightTurned = turned == Turned::Right;
    const bool isSymmetric = &left == &right;
    const Eigen::Index size = isLeftTurned ? left.cols() : left.rows();
    const Eigen::Index vocabulary = isLeftTurned ? left.rows() : left.cols();
    std::vector<std::pair<Eigen::Index, Eigen::Index>> tiles;
    for (Eigen::Index row = 0; row < size; row += gramTile) {
        for (Eigen::Index col = isSymmetric ? row : 0; col < size; col += gramTile)
            tiles.emplace_back(row, col);
    }
    const auto part = [](const Matrix<Scalar>& m, bool hasTokensFirst, Eigen::Index token, Eigen::Index count,
                         Eigen::Index direction, Eigen::Index width) {
        return Matrix<double>(hasTokensFirst
                                  ? m.block(token, direction, count, width).template cast<double>()
                                  : m.block(direction, token, width, count).template cast<double>());
    };
    Matrix<double> out(size, size);
    const auto done = parallelFor(static_cast<int>(tiles.size()), task, step, [&](int index) -> Result<Done> {
        const auto [row, col] = tiles[static_cast<std::size_t>(index)];
        const Eigen::Index rows = std::min(gramTile, size - row);
        const Eigen::Index cols = std::min(gramTile, size - col);
        Matrix<double> tile = Matrix<double>::Zero(rows, cols);
        for (Eigen::Index first = 0; first < vocabulary; first += tokens) {
            if (task.cancelled())
                return stopped();
            const Eigen::Index count = std::min(tokens, vocabulary - first);
            const Matrix<double> a = part(left, isLeftTurned, first, count, row, rows);
            const Matrix<double> b = part(right, !isRightTurned, first, count, col, cols);
            if (isLeftTurned)
                tile.noalias() += a.transpose() * b;
            else if (isRightTurned)
                tile.noalias() += a * b.transpose();
            else
                tile.noalias() += a * b;
        }
        out.block(row, col, rows, cols) = tile;
        if (isSymmetric)
            out.block(col, row, cols, rows) = tile.transpose();
        return Done{};
    });
    if (!done)
        return done.error();
    return out;
}

template <typename Scalar>
Result<Done> addGrams(TokenSide& side, const TokenMatrices<Scalar>& from, const Task& task)
{
    Result<Done> state = Done{};
    const auto put = [&](Matrix<double>& out, const Matrix<Scalar>& left, const Matrix<Scalar>& right,
                         Turned turned, std::string_view step) {
        if (!state)
            return;
        Result<Matrix<double>> gram = gramProduct(left, right, turned, task, step);
        if (gram)
            out = std::move(gram).value();
        else
            state = gram.error();
    };
    const auto square = [&](const Matrix<Scalar>& E) { return E.rows() > 0 && E.rows() == from.W_U.cols(); };
    put(side.UUt, from.W_U, from.W_U, Turned::Right, "Gram matrix of the unembedding");
    put(side.EtE, from.E, from.E, Turned::Left, "Gram matrix of the embedding");
    if (square(from.E))
        put(side.UE, from.W_U, from.E, Turned::None, "unembedding times embedding");
    if (from.layer0E.size() > 0)
        put(side.layer0EtE, from.layer0E, from.layer0E, Turned::Left, "Gram matrix of layer 0");
    if (square(from.layer0E))
        put(side.layer0UE, from.W_U, from.layer0E, Turned::None, "unembedding times layer 0");
    return state;
}

} // namespace

std::string whyNotEmbedding(const ModelConfig& config, Embedding embedding)
{
    if (embedding == Embedding::Mlp0 && config.attentionOnly)
        return "The embedding 'mlp0' needs an MLP in layer 0, and this model has none; use raw, effective or "
               "unembed.";
    return {};
}

struct TokenVectors::Reader {
    const ProcessedWeights& weights;
    Embedding embedding;
    std::optional<LayerZero<float>> layerZero; // none where it is not passed
};

TokenVectors::TokenVectors(const ProcessedWeights& weights, Embedding embedding, int layer)
{
    auto reader = std::make_unique<Reader>(Reader{weights, embedding, std::nullopt});
    if (embedding == Embedding::Mlp0 || (embedding == Embedding::Effective && layer > 0))
        reader->layerZero.emplace(weights, embedding);
    m_reader = std::move(reader);
}

TokenVectors::~TokenVectors() = default;

Matrix<float> TokenVectors::rows(Eigen::Index firstToken, Eigen::Index count) const
{
    if (m_reader->embedding == Embedding::Unembed)
        return m_reader->weights.W_U<float>(firstToken, count).transpose();
    const Matrix<float> x = m_reader->weights.W_E<float>(firstToken, count);
    return m_reader->layerZero ? m_reader->layerZero->apply(x) : x;
}

Result<std::shared_ptr<const TokenSide>> tokenSide(const Circuits& circuits, Embedding embedding,
                                                   const Task& task, Precision precision, TokenParts parts)
{
    if (std::string reason = whyNotEmbedding(circuits.config(), embedding); !reason.empty())
        return Error{ErrorCode::InvalidArgument, std::move(reason)};
    try {
        auto side = std::make_shared<TokenSide>();
        side->embedding = embedding;
        if (precision == Precision::F64) {
            Result<TokenMatrices<double>> exact =
                readTokenMatrices<double>(circuits.weights(), embedding, task);
            if (!exact)
                return exact.error();
            if (const auto done = parts == TokenParts::WithGrams ? addGrams(*side, *exact, task) : Done{};
                !done)
                return done.error();
            TokenMatrices<double> matrices = std::move(exact).value();
            side->E = matrices.E.cast<float>();
            side->layer0E = matrices.layer0E.cast<float>();
            side->W_U = matrices.W_U.cast<float>();
            side->E64 = std::move(matrices.E);
            side->layer0E64 = std::move(matrices.layer0E);
            side->W_U64 = std::move(matrices.W_U);
        } else {
            Result<TokenMatrices<float>> rounded =
                readTokenMatrices<float>(circuits.weights(), embedding, task);
            if (!rounded)
                return rounded.error();
            if (const auto done = parts == TokenParts::WithGrams ? addGrams(*side, *rounded, task) : Done{};
                !done)
                return done.error();
            TokenMatrices<float> matrices = std::move(rounded).value();
            side->E = std::move(matrices.E);
            side->layer0E = std::move(matrices.layer0E);
            side->W_U = std::move(matrices.W_U);
        }
        return std::shared_ptr<const TokenSide>(std::move(side));
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::OutOfMemory,
                     "There is not enough memory for the embedding and the unembedding of this model; close "
                     "other programs "
                     "or ask for analyses of qk and ov alone."};
    }
}

} // namespace headwise
