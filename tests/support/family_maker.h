#pragma once

// Helpers of the makers of tiny checkpoints; not for others.

#include "tests/support/family_model.h"
#include "tests/support/tensor_writer.h"

#include <QJsonArray>
#include <QJsonObject>

#include <string>

namespace headwise::test {

// Different primes if the layout allows it. d_model = n · d_head if the family has no head size of its own.
inline constexpr std::size_t layers = 3, n = 3, h = 8, m = n * h, f = 13, V = 11, C = 17;

/// One family's checkpoint during construction.
struct Maker {
    QJsonObject config;
    TensorWriter write{1, true};

    void linear(const std::string& name, std::size_t out, std::size_t in, bool bias)
    {
        write.matrix(name + ".weight", {out, in}, in);
        if (bias)
            write.bias(name + ".bias", {out});
    }
    void layerNorm(const std::string& name, std::size_t size = m)
    {
        write.normWeight(name + ".weight", size);
        write.bias(name + ".bias", {size});
    }
};

inline std::string block(const std::string& stem, std::size_t layer)
{
    return stem + std::to_string(layer) + ".";
}

// Llama's names
void mistral(Maker& make);
void mixtral(Maker& make);
void mixtralInOneTensor(Maker& make);
void qwen2(Maker& make);
void qwen3(Maker& make);
void gemma(Maker& make);
void gemma2(Maker& make);
void gemma3(Maker& make);
void gemma3InAMultimodalModel(Maker& make);
void llama3(Maker& make);
void phi3(Maker& make);
void stableLm(Maker& make);
void stableLmParallel(Maker& make);
void olmo(Maker& make);
void olmo2(Maker& make);
void olmo3(Maker& make);
void smolLm3(Maker& make);

// decoders, most of 6 query heads over 2 key/value heads of 4 components
inline constexpr std::size_t queryHeads = 6, sharedHeads = 2, headWidth = 4,
                             residual = queryHeads * headWidth;
QJsonObject decoderConfig(const char* type, const char* architecture);
void gatedMlp(Maker& make, const std::string& b, std::size_t width = f);
void rmsLayers(Maker& make); ///< Llama's names but for attention and MLP
void starCoder2(Maker& make);
void cohere(Maker& make);
void cohereWithHeadNorms(Maker& make);
void cohere2(Maker& make);
void granite(Maker& make);
void qwen3Moe(Maker& make);
void qwen3MoeInOneTensor(Maker& make);
void gptOss(Maker& make);
void deepSeekV2(Maker& make);
void deepSeekV2InGroups(Maker& make); ///< the large V2: a token's experts come from its best groups
void deepSeekV3(Maker& make);
void deepSeekV2Lite(Maker& make); ///< queries without a latent, a first layer without experts, YaRN
void nemotron(Maker& make);
void internLm2(Maker& make);
void baichuan7b(Maker& make);
void baichuan13b(Maker& make);
void mpt(Maker& make);

// their own
void opt(Maker& make);
void opt350m(Maker& make);
void galactica(Maker& make); ///< an OPT without biases and norms' weights
void bloom(Maker& make);
void falcon7b(Maker& make);
void falcon40b(Maker& make);
void falconRw(Maker& make);
void gpt1(Maker& make);
void bert(Maker& make);
void bertBase(Maker& make); ///< without the head that predicts tokens, with gamma and beta
void nanoGpt(Maker& make);
void nanoGptWithoutBiases(Maker& make);
void minGpt(Maker& make);
void shortformer(Maker& make);
void normsBehindAdditions(Maker& make);
void normsBeforeAndBehindAdditions(Maker& make);

// encoders
void roberta(Maker& make);
void distilBert(Maker& make);
void electra(Maker& make);
void electraSmall(Maker& make);     ///< embeddings narrower than the residual stream
void electraGenerator(Maker& make); ///< with the head that predicts tokens
void esm1b(Maker& make);
void esm2(Maker& make);
void vit(Maker& make);
void clip(Maker& make); ///< text and image stacks
void t5(Maker& make);
void t5Gated(Maker& make); ///< version 1.1
void bart(Maker& make);

} // namespace headwise::test
