#include "core/circuits/mlp_tokens.h"

#include "core/base/parallel.h"
#include "core/circuits/gram_product.h"
#include "core/circuits/layer_zero.h"

#include <algorithm>
#include <new>
#include <type_traits>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index mlpTokensPerBlock = 1024;

template <typename Scalar>
Result<Matrix<Scalar>> tokensOfMlp0(const ProcessedWeights& weights, Embedding embedding, const Task& task)
{
    const ModelConfig& config = weights.config();
    const LayerZero<Scalar> layerZero(weights, embedding, LayerZeroEnd::BeforeMlp);
    Matrix<Scalar> E(config.dVocab, config.dModel);
    const auto blocks = static_cast<int>((config.dVocab + mlpTokensPerBlock - 1) / mlpTokensPerBlock);
    const auto done = parallelFor(blocks, task, "what MLP 0 reads", [&](int block) -> Result<Done> {
        const Eigen::Index first = block * mlpTokensPerBlock;
        const Eigen::Index count = std::min<Eigen::Index>(mlpTokensPerBlock, config.dVocab - first);
        E.middleRows(first, count) = layerZero.apply(weights.W_E<Scalar>(first, count));
        return Done{};
    });
    if (!done)
        return done.error();
    return E;
}

/// Returns a token side of these vectors alone.
template <typename Scalar>
Result<std::shared_ptr<const TokenSide>> sideOf(Result<Matrix<Scalar>> read, Embedding embedding,
                                                TokenParts parts, const Task& task)
{
    if (!read)
        return read.error();
    auto side = std::make_shared<TokenSide>();
    side->embedding = embedding;
    side->E = TokenMatrix(TokenMatrix::Vectors::Rows, std::move(read).value());
    if (parts == TokenParts::WithGrams) {
        auto gram = gramProduct(side->E, side->E, task, "Gram matrix of what MLP 0 reads");
        if (!gram)
            return gram.error();
        side->EtE = std::move(gram).value();
    }
    return std::shared_ptr<const TokenSide>(std::move(side));
}

} // namespace

bool readsBeforeMlp0(Embedding embedding, int layer)
{
    return layer == 0 && (embedding == Embedding::Effective || embedding == Embedding::Mlp0);
}

std::string_view mlp0Reads(Embedding embedding, const ModelConfig& config)
{
    if (!readsBeforeMlp0(embedding, 0))
        return {};
    return embedding == Embedding::Mlp0 || config.parallelBlocks
        ? "; MLP 0, whose output is in this E, reads W_E"
        : "; MLP 0, whose output is in this E, reads W_E after layer 0's attention alone";
}

double mlp0TokensBytes(const ModelConfig& config, Embedding embedding, Precision precision)
{
    const double each = precision == Precision::F64 ? 4 + 8 : 4;
    return readsBeforeMlp0(embedding, 0) ? each * config.dVocab * config.dModel : 0;
}

Result<std::shared_ptr<const TokenSide>> tokensOfMlp(const Circuits& circuits,
                                                     std::shared_ptr<const TokenSide> tokens, int layer,
                                                     const Task& task, TokenParts parts)
{
    if (!readsBeforeMlp0(tokens->embedding, layer))
        return tokens;
    try {
        return tokens->E.isExact() ? sideOf(tokensOfMlp0<double>(circuits.weights(), tokens->embedding, task),
                                            tokens->embedding, parts, task)
                                   : sideOf(tokensOfMlp0<float>(circuits.weights(), tokens->embedding, task),
                                            tokens->embedding, parts, task);
    } catch (const std::bad_alloc&) {
        return Error{
            ErrorCode::OutOfMemory,
            "There is not enough memory for the input of MLP 0; close other programs or use the raw embedding."};
    }
}

} // namespace headwise
