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

constexpr double heldTokensBytes = 1e9;

using Vectors = TokenMatrix::Vectors;

// Where the matrices follow from what is stored direction by direction, they are read in half of the time: large models read them for
// every question. Each number is still rounded once.

/// Lets lines of a matrix that follows so be read as they are stored. \param which TensorKind::W_E or W_U
TokenMatrix withStored(TokenMatrix matrix, const ProcessedWeights& weights, TensorKind which,
                       const std::optional<StoredEnd>& end)
{
    if (end)
        matrix.setStored(*end, [weights, which](Eigen::Index first, Eigen::Index count) {
            return weights.original().readTokens<double>(which, first, count);
        });
    return matrix;
}

template <typename Scalar>
TokenMatrix unembeddingOf(const ProcessedWeights& weights)
{
    using Read = TokenMatrix::Read<Scalar>;
    Read read = [weights](Eigen::Index first, Eigen::Index count) {
        return weights.W_U<Scalar>(first, count);
    };
    const auto end = weights.storedEnd(TensorKind::W_U);
    if (end) {
        read = [weights, end = *end](Eigen::Index first, Eigen::Index count) {
            Matrix<Scalar> out = weights.original().readColumns<Scalar>(TensorKind::W_U, first, count);
            for (Eigen::Index token = 0; token < count; ++token)
                out.col(token) = (out.col(token).template cast<double>().cwiseProduct(end.factors) - end.mean)
                                     .template cast<Scalar>();
            return out;
        };
    }
    return withStored({Vectors::Columns, weights.config().dVocabOut, std::move(read)}, weights,
                      TensorKind::W_U, end);
}

/// Returns W_E of the weights in use.
template <typename Scalar>
TokenMatrix rawEmbeddingOf(const ProcessedWeights& weights)
{
    using Read = TokenMatrix::Read<Scalar>;
    Read read = [weights](Eigen::Index first, Eigen::Index count) {
        return weights.W_E<Scalar>(first, count);
    };
    const auto end = weights.storedEnd(TensorKind::W_E);
    if (end && !end->isStored()) {
        read = [weights, factors = end->factors](Eigen::Index first, Eigen::Index count) {
            Matrix<Scalar> out = weights.original().readRows<Scalar>(TensorKind::W_E, first, count);
            for (Eigen::Index k = 0; k < out.cols(); ++k)
                out.col(k) = (out.col(k).template cast<double>() * factors(k)).template cast<Scalar>();
            return out;
        };
    }
    return withStored({Vectors::Rows, weights.config().dVocab, std::move(read)}, weights, TensorKind::W_E,
                      end);
}

template <typename Scalar>
TokenMatrix embeddingOf(const ProcessedWeights& weights, Embedding embedding, int layer)
{
    using Read = TokenMatrix::Read<Scalar>;
    const Eigen::Index V = weights.config().dVocab;
    if (embedding == Embedding::Unembed) {
        return {Vectors::Rows, weights.config().dVocabOut,
                Read([weights](Eigen::Index first, Eigen::Index count) -> Matrix<Scalar> {
                    return weights.W_U<Scalar>(first, count).transpose();
                })};
    }
    if (embedding == Embedding::Raw || (embedding == Embedding::Effective && layer == 0))
        return rawEmbeddingOf<Scalar>(weights);
    struct ThroughLayerZero {
        ProcessedWeights weights;
        LayerZero<Scalar> layerZero;

        ThroughLayerZero(const ProcessedWeights& of, Embedding embedding)
            : weights(of)
            , layerZero(weights, embedding)
        {
        }
    };
    const auto through = std::make_shared<const ThroughLayerZero>(weights, embedding);
    return {Vectors::Rows, V, Read([through](Eigen::Index first, Eigen::Index count) {
                return through->layerZero.apply(through->weights.template W_E<Scalar>(first, count));
            })};
}

/// Returns a token side without Gram products.
Result<TokenSide> tokenMatrices(const ProcessedWeights& weights, Embedding embedding, const Task& task,
                                Precision precision, bool isHeld)
{
    TokenSide side;
    side.embedding = embedding;
    side.E = tokenVectors(weights, embedding, 1, precision);
    side.W_U = outputVectors(weights, precision);
    if (embedding == Embedding::Effective)
        side.layer0E = tokenVectors(weights, embedding, 0, precision);
    const bool isComputed = embedding == Embedding::Effective || embedding == Embedding::Mlp0;
    const auto hold = [&](TokenMatrix& matrix, std::string_view step) -> Result<Done> {
        auto read = matrix.held(task, step);
        if (!read)
            return read.error();
        matrix = std::move(read).value();
        return Done{};
    };
    Result<Done> done = Done{};
    if (isHeld)
        done = hold(side.W_U, "unembedding");
    if (done && (isHeld || isComputed))
        done = hold(side.E, "embedding");
    if (done && isHeld)
        done = hold(side.layer0E, "embedding");
    if (!done)
        return done.error();
    return side;
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
        return squareProduct(left, m_m, turned, task);
    }
    Result<Matrix<double>> before(const Matrix<double>& right, Turned turned, const Task& task) const
    {
        if (m_isDiagonal)
            return Matrix<double>(m_m.diagonal().asDiagonal() * right);
        return squareProduct(m_m, right, turned, task);
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

/// Computes the Gram products of a token side.
Result<Done> addGrams(TokenSide& side, const ProcessedWeights& weights, const Task& task)
{
    Result<Done> state = Done{};
    const auto put = [&](Matrix<double>& out, const TokenMatrix& left, const TokenMatrix& right,
                         std::string_view step) {
        if (!state || out.size() > 0)
            return;
        Result<Matrix<double>> gram = gramProduct(left, right, task, step);
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
    const auto isSquare = [&](const TokenMatrix& E) { return !E.isEmpty() && E.count() == side.W_U.count(); };
    put(side.UUt, side.W_U, side.W_U, "Gram matrix of the unembedding");
    if (side.embedding == Embedding::Unembed && state) // E is W_Uᵀ
        side.EtE = side.UE = side.UUt;
    put(side.EtE, side.E, side.E, "Gram matrix of the embedding");
    if (isSquare(side.E))
        put(side.UE, side.W_U, side.E, "unembedding times embedding");
    if (!side.layer0E.isEmpty())
        put(side.layer0EtE, side.layer0E, side.layer0E, "Gram matrix of layer 0");
    if (isSquare(side.layer0E))
        put(side.layer0UE, side.W_U, side.layer0E, "unembedding times layer 0");
    for (const TokenMatrix* E : {&side.E, &side.layer0E}) { // so that no view waits for them later
        if (!state)
            return state;
        if (const auto statistics = E->statistics(task, "mean token"); !statistics)
            state = statistics.error();
    }
    return state;
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

TokenMatrix tokenVectors(const ProcessedWeights& weights, Embedding embedding, int layer, Precision precision)
{
    return precision == Precision::F64 ? embeddingOf<double>(weights, embedding, layer)
                                       : embeddingOf<float>(weights, embedding, layer);
}

TokenMatrix outputVectors(const ProcessedWeights& weights, Precision precision)
{
    return precision == Precision::F64 ? unembeddingOf<double>(weights) : unembeddingOf<float>(weights);
}

bool holdsTokens(const ModelConfig& config, Embedding embedding, Precision precision)
{
    const double vectors = config.dVocabOut + (embedding == Embedding::Effective ? 2.0 : 1.0) * config.dVocab;
    const double each = precision == Precision::F64 ? 4 + 8 : 4;
    return vectors * config.dModel * each <= heldTokensBytes;
}

Result<std::shared_ptr<const TokenSide>> tokenSide(const Circuits& circuits, Embedding embedding,
                                                   const Task& task, Precision precision, TokenParts parts)
{
    const ModelConfig& config = circuits.config();
    if (std::string reason = whyNotEmbedding(config, embedding); !reason.empty())
        return Error{ErrorCode::InvalidArgument, std::move(reason)};
    // Analyses of whole matrices go on with an image model's class token; lists of tokens do not.
    if (std::string none = whyNoVocabulary(config); parts == TokenParts::MatricesAlone && !none.empty())
        return Error{ErrorCode::InvalidArgument, std::move(none)};
    try {
        const bool isHeld = parts != TokenParts::GramsAlone && holdsTokens(config, embedding, precision);
        auto read = tokenMatrices(circuits.weights(), embedding, task, precision, isHeld);
        if (!read)
            return read.error();
        if (parts == TokenParts::MatricesAlone)
            return std::make_shared<const TokenSide>(std::move(read).value());
        return withGrams(*read, circuits, task);
    } catch (const std::bad_alloc&) {
        return noRoomForTokens();
    }
}

Result<std::shared_ptr<const TokenSide>> withGrams(const TokenSide& read, const Circuits& circuits,
                                                   const Task& task)
{
    try {
        auto side = std::make_shared<TokenSide>(read);
        if (const auto done = addGrams(*side, circuits.weights(), task); !done)
            return done.error();
        return std::shared_ptr<const TokenSide>(std::move(side));
    } catch (const std::bad_alloc&) {
        return noRoomForTokens();
    }
}

} // namespace headwise
