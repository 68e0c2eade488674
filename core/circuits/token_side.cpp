#include "core/base/parallel.h"
#include "core/circuits/circuits.h"
#include "core/circuits/gram_product.h"
#include "core/circuits/layer_zero.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index tokenSideTokensPerBlock = 1024;

int blockCount(Eigen::Index size, Eigen::Index perBlock)
{
    return static_cast<int>((size + perBlock - 1) / perBlock);
}

/// The token matrices in one precision.
template <typename Scalar>
struct ReadMatrices {
    Matrix<Scalar> E, layer0E, W_U;
};

template <typename Scalar>
Result<ReadMatrices<Scalar>> readTokenMatrices(const ProcessedWeights& weights, Embedding embedding,
                                               const Task& task)
{
    const ModelConfig& config = weights.config();
    ReadMatrices<Scalar> out;
    out.W_U.resize(config.dModel, config.dVocabOut);
    const auto unembedding =
        parallelFor(blockCount(config.dVocabOut, tokenSideTokensPerBlock), task, "unembedding",
                    [&](int block) -> Result<Done> {
                        const Eigen::Index first = block * tokenSideTokensPerBlock;
                        const Eigen::Index count =
                            std::min<Eigen::Index>(tokenSideTokensPerBlock, config.dVocabOut - first);
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
    const auto tokens =
        parallelFor(blockCount(config.dVocab, tokenSideTokensPerBlock), task, "embedding",
                    [&](int block) -> Result<Done> {
                        const Eigen::Index first = block * tokenSideTokensPerBlock;
                        const Eigen::Index count =
                            std::min<Eigen::Index>(tokenSideTokensPerBlock, config.dVocab - first);
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

/// The same as a token side holds them: rounded, and besides as they are if they are in double.
template <typename Scalar>
Result<std::shared_ptr<const TokenSide::Matrices>> heldMatrices(Result<ReadMatrices<Scalar>> result)
{
    if (!result)
        return result.error();
    ReadMatrices<Scalar> read = std::move(result).value();
    auto held = std::make_shared<TokenSide::Matrices>();
    if constexpr (std::is_same_v<Scalar, float>) {
        held->E = std::move(read.E);
        held->layer0E = std::move(read.layer0E);
        held->W_U = std::move(read.W_U);
    } else {
        held->E = read.E.template cast<float>();
        held->layer0E = read.layer0E.template cast<float>();
        held->W_U = read.W_U.template cast<float>();
        held->E64 = std::move(read.E);
        held->layer0E64 = std::move(read.layer0E);
        held->W_U64 = std::move(read.W_U);
    }
    return std::shared_ptr<const TokenSide::Matrices>(std::move(held));
}

Error noRoomForTokens()
{
    return {
        ErrorCode::OutOfMemory,
        "There is not enough memory for the embedding and the unembedding of this model; close other programs or use only analyses of qk and ov."};
}

/// Gram products of the raw embedding and the unembedding.
struct EndGrams {
    Matrix<double> EtE, UUt, UE;
};

/// A square factor of products, which only scales if it is diagonal, as the ends of a model without centring are.
class EndFactor {
public:
    explicit EndFactor(const Matrix<double>& m)
        : m_m(m)
        , m_isDiagonal(m.isDiagonal(0))
    {
    }

    Result<Matrix<double>> after(const Matrix<double>& left, Turned turned, const Task& task) const
    {
        if (m_isDiagonal)
            return Matrix<double>(left * m_m.diagonal().asDiagonal());
        return gramProduct(left, m_m, turned, task, "tied embedding");
    }
    Result<Matrix<double>> before(const Matrix<double>& right, Turned turned, const Task& task) const
    {
        if (m_isDiagonal)
            return Matrix<double>(m_m.diagonal().asDiagonal() * right);
        return gramProduct(m_m, right, turned, task, "tied embedding");
    }

private:
    const Matrix<double>& m_m;
    const bool m_isDiagonal;
};

/// Computes them of a tied model from the Gram matrix of the stored embedding G and the sums of its columns s: with W_E = S A and
/// W_U = B Sᵀ − m 1ᵀ, EᵀE = Aᵀ G A, W_U E = B G A − m (s A) and W_U W_Uᵀ = B G Bᵀ − (B sᵀ) mᵀ − m (B sᵀ)ᵀ + V m mᵀ.
Result<EndGrams> tiedGrams(const ProcessedWeights& weights, const TiedEnds& ends, const Task& task)
{
    const Eigen::Index V = weights.config().dVocab;
    const auto read = [&](Eigen::Index first, Eigen::Index count) {
        return weights.original().readRows<double>(TensorKind::W_E, first, count);
    };
    const auto stored = rowSums(V, weights.config().dModel, read, task, "Gram matrix of the tied embedding");
    if (!stored)
        return stored.error();
    const Task inner{task.stop, {}, task.threads};
    const EndFactor A(ends.E), B(ends.U);
    const auto right = A.after(stored->gram, Turned::None, inner); // G A
    if (!right)
        return right.error();
    const auto left = B.after(stored->gram, Turned::Right, inner); // G Bᵀ
    if (!left)
        return left.error();
    Result<Matrix<double>> EtE = A.before(*right, Turned::Left, inner);
    Result<Matrix<double>> UE = B.before(*right, Turned::None, inner);
    Result<Matrix<double>> UUt = B.before(*left, Turned::None, inner);
    for (const Result<Matrix<double>>* part : {&EtE, &UE, &UUt}) {
        if (!*part)
            return part->error();
    }
    EndGrams grams{std::move(EtE).value(), std::move(UUt).value(), std::move(UE).value()};
    const RowVector<double> inSums = stored->column * ends.E, outSums = stored->column * ends.U.transpose();
    const RowVector<double> mean = ends.mean.transpose();
    grams.UE.noalias() -= ends.mean * inSums;
    grams.UUt.noalias() -= ends.mean * outSums;
    grams.UUt.noalias() -= outSums.transpose() * mean;
    grams.UUt.noalias() += static_cast<double>(V) * ends.mean * mean;
    return grams;
}

/// Returns a matrix as a token side holds it in one precision.
template <typename Scalar>
const Matrix<Scalar>& heldAs(const Matrix<float>& rounded, const Matrix<double>& exact)
{
    if constexpr (std::is_same_v<Scalar, float>)
        return rounded;
    else
        return exact;
}

/// Computes what `side` lacks of them from its matrices in one precision.
template <typename Scalar>
Result<Done> addGrams(TokenSide& side, const ProcessedWeights& weights, const Task& task)
{
    const Matrix<Scalar>& E = heldAs<Scalar>(side.E, side.E64);
    const Matrix<Scalar>& layer0E = heldAs<Scalar>(side.layer0E, side.layer0E64);
    const Matrix<Scalar>& W_U = heldAs<Scalar>(side.W_U, side.W_U64);
    Result<Done> state = Done{};
    const auto put = [&](Matrix<double>& out, const Matrix<Scalar>& left, const Matrix<Scalar>& right,
                         Turned turned, std::string_view step) {
        if (!state || out.size() > 0)
            return;
        Result<Matrix<double>> gram = gramProduct(left, right, turned, task, step);
        if (gram)
            out = std::move(gram).value();
        else
            state = gram.error();
    };
    const bool isRaw = side.embedding == Embedding::Raw;
    if (isRaw || side.embedding == Embedding::Effective) {
        if (const auto ends = weights.tiedEnds()) {
            auto grams = tiedGrams(weights, *ends, task);
            if (!grams)
                return grams.error();
            EndGrams made = std::move(grams).value();
            side.UUt = std::move(made.UUt);
            (isRaw ? side.EtE : side.layer0EtE) = std::move(made.EtE);
            (isRaw ? side.UE : side.layer0UE) = std::move(made.UE);
        }
    }
    const auto square = [&](const Matrix<Scalar>& in) { return in.rows() > 0 && in.rows() == W_U.cols(); };
    put(side.UUt, W_U, W_U, Turned::Right, "Gram matrix of the unembedding");
    if (side.embedding == Embedding::Unembed && state) // E is W_Uᵀ
        side.EtE = side.UE = side.UUt;
    put(side.EtE, E, E, Turned::Left, "Gram matrix of the embedding");
    if (square(E))
        put(side.UE, W_U, E, Turned::None, "unembedding times embedding");
    if (layer0E.size() > 0)
        put(side.layer0EtE, layer0E, layer0E, Turned::Left, "Gram matrix of layer 0");
    if (square(layer0E))
        put(side.layer0UE, W_U, layer0E, Turned::None, "unembedding times layer 0");
    return state;
}

/// The Gram products of a tied model's raw embedding, without the matrices.
Result<std::shared_ptr<const TokenSide>> gramsAlone(const Circuits& circuits, const TiedEnds& ends,
                                                    const Task& task)
{
    auto grams = tiedGrams(circuits.weights(), ends, task);
    if (!grams)
        return grams.error();
    EndGrams made = std::move(grams).value();
    auto side = std::make_shared<TokenSide>();
    side->EtE = std::move(made.EtE);
    side->UUt = std::move(made.UUt);
    side->UE = std::move(made.UE);
    const ModelConfig& config = circuits.config();
    side->source = std::make_shared<const TokenSide::Source>(
        TokenSide::Source{circuits.weights(), config.dVocab, config.dVocabOut});
    return std::shared_ptr<const TokenSide>(std::move(side));
}

} // namespace

std::string whyNotEmbedding(const ModelConfig& config, Embedding embedding)
{
    if (embedding == Embedding::Mlp0 && config.attentionOnly)
        return "The embedding 'mlp0' needs an MLP in layer 0, but this model has none; use raw, effective or unembed.";
    if ((embedding == Embedding::Mlp0 || embedding == Embedding::Effective) && config.needsEncoder)
        return whyNoForward(config);
    // Both pass the tokens through MLP 0 and its norm.
    constexpr std::array throughLayer0{ConfigField::NormEps, ConfigField::Activation};
    if (embedding == Embedding::Mlp0 || embedding == Embedding::Effective)
        return whyUnknown(config, throughLayer0, "This embedding");
    return {};
}

struct TokenVectors::Reader {
    const ProcessedWeights& weights;
    Embedding embedding;
    std::optional<LayerZero<float>> layerZero; // empty if the tokens do not pass through it
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
    // Analyses of whole matrices go on with an image model's class token; lists of tokens do not.
    if (std::string none = whyNoVocabulary(circuits.config());
        parts == TokenParts::MatricesAlone && !none.empty())
        return Error{ErrorCode::InvalidArgument, std::move(none)};
    try {
        const auto ends = parts == TokenParts::GramsAlone && embedding == Embedding::Raw
            ? circuits.weights().tiedEnds()
            : std::nullopt;
        if (ends)
            return gramsAlone(circuits, *ends, task);
        auto matrices = precision == Precision::F64
            ? heldMatrices(readTokenMatrices<double>(circuits.weights(), embedding, task))
            : heldMatrices(readTokenMatrices<float>(circuits.weights(), embedding, task));
        if (!matrices)
            return matrices.error();
        auto side = std::make_shared<const TokenSide>(embedding, std::move(matrices).value());
        if (parts == TokenParts::MatricesAlone)
            return side;
        return withGrams(*side, circuits, task);
    } catch (const std::bad_alloc&) {
        return noRoomForTokens();
    }
}

Result<std::shared_ptr<const TokenSide>> withGrams(const TokenSide& read, const Circuits& circuits,
                                                   const Task& task)
{
    try {
        auto side = std::make_shared<TokenSide>(read.embedding, read.matrices);
        const auto done = side->W_U64.size() > 0 ? addGrams<double>(*side, circuits.weights(), task)
                                                 : addGrams<float>(*side, circuits.weights(), task);
        if (!done)
            return done.error();
        return std::shared_ptr<const TokenSide>(std::move(side));
    } catch (const std::bad_alloc&) {
        return noRoomForTokens();
    }
}

} // namespace headwise
