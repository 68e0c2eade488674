#include "core/model/families/families.h"
#include "core/model/families/llama_names.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

/// What both generations share: norms that multiply by 1 + w, and embeddings times √d_model on their way in.
ModelConfig readGemmaCommon(const json& config, ConfigReader& reader, const LlamaDefaults& defaults)
{
    ModelConfig c = readLlamaNames(config, reader, defaults);
    c.rmsUsesOffset = true;
    c.embeddingScale = std::sqrt(c.dModel);
    // Some old files say "gelu" under hidden_act and mean the tanh form, as the family's own code does.
    c.activation = reader.activation({"hidden_activation"}, "gelu_pytorch_tanh");
    reader.onlySupports("attention_bias", {"false"});
    reader.onlySupports("use_bidirectional_attention", {"false"});
    return c;
}

/// Scores are divided by its root.
double readAttentionScale(ConfigReader& reader)
{
    const double scalar = reader.number({"query_pre_attn_scalar"}, 256);
    if (scalar <= 0)
        reader.contradiction("'query_pre_attn_scalar' is " + shownValue(scalar)
                             + ", expected a positive number");
    return 1 / std::sqrt(scalar);
}

/// A cap that is written as null is none; only an absent key means the family's own.
double readCap(ConfigReader& reader, std::string_view name, double standard)
{
    return std::max(0.0, reader.number({name}, reader.isAbsent(name) ? standard : 0));
}

Result<ModelDescription> readGemma(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readGemmaCommon(config, reader,
                                    {.architecture = "gemma",
                                     .nLayers = 28,
                                     .nHeads = 16,
                                     .dModel = 3072,
                                     .dMlp = 24576,
                                     .dHead = 256,
                                     .dVocab = 256000,
                                     .nCtx = 8192,
                                     .activation = "gelu_pytorch_tanh",
                                     .tied = true});
    return describe(std::move(c), reader, {});
}

Result<ModelDescription> readGemma2(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readGemmaCommon(config, reader,
                                    {.architecture = "gemma2",
                                     .nLayers = 26,
                                     .nHeads = 8,
                                     .nKvHeads = 4,
                                     .dModel = 2304,
                                     .dMlp = 9216,
                                     .dHead = 256,
                                     .dVocab = 256000,
                                     .nCtx = 8192,
                                     .activation = "gelu_pytorch_tanh",
                                     .tied = true});
    c.hasPostNorms = true;
    c.attentionScale = readAttentionScale(reader);
    c.attentionSoftCap = readCap(reader, "attn_logit_softcapping", 50);
    c.outputSoftCap = readCap(reader, "final_logit_softcapping", 30);
    const int window = reader.optionalSize({"sliding_window"}).value_or(4096);
    std::vector<bool> slides = readSlidingLayers(c, config, reader);
    if (slides.empty())
        for (std::size_t layer = 0; layer < believedLayers(c); ++layer)
            slides.push_back(layer % 2 == 0); // The first layer slides.
    c.windows = windowsOf(slides, window);
    static constexpr std::string_view harmless[] = {"sliding_window_size", "cache_implementation"};
    reader.ignore(harmless);
    return describe(std::move(c), reader, {});
}

/// Where the language model is a part of a larger one, its own config with what the outer one alone says.
json languageModel(const json& config)
{
    if (!config.contains("text_config") || !config["text_config"].is_object())
        return config;
    json inner = config["text_config"];
    for (const char* key : {"quantization_config", "bos_token_id", "architectures"})
        if (!inner.contains(key) && config.contains(key))
            inner[key] = config[key];
    return inner;
}

Result<ModelDescription> readGemma3(const json& outer, std::string_view file)
{
    const json own = languageModel(outer);
    const json config = withFullRope(own);
    ConfigReader reader(config, file);
    ModelConfig c = readGemmaCommon(config, reader,
                                    {.architecture = "gemma3",
                                     .nLayers = 26,
                                     .nHeads = 8,
                                     .nKvHeads = 4,
                                     .dModel = 2304,
                                     .dMlp = 9216,
                                     .dHead = 256,
                                     .dVocab = 262208,
                                     .nCtx = 131072,
                                     .rotaryBase = 1e6,
                                     .activation = "gelu_pytorch_tanh",
                                     .tied = true});
    c.hasPostNorms = true;
    c.qkNorm = NormKind::Rms;
    c.attentionScale = readAttentionScale(reader);
    c.attentionSoftCap = readCap(reader, "attn_logit_softcapping", 0);
    c.outputSoftCap = readCap(reader, "final_logit_softcapping", 0);
    const int window = reader.optionalSize({"sliding_window"}).value_or(4096);
    const int pattern = reader.size({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
    const double localBase = reader.number({"rope_local_base_freq"}, 10000);
    std::vector<bool> slides = readSlidingLayers(c, config, reader);
    if (slides.empty())
        for (std::size_t layer = 0; layer < believedLayers(c); ++layer)
            slides.push_back((layer + 1) % static_cast<std::size_t>(pattern) != 0);
    c.windows = windowsOf(slides, window);
    rotateSlidingLayers(c, slides, readSlidingRotary(c, own, reader, localBase));
    static constexpr std::string_view harmless[] = {"cache_implementation"};
    reader.ignore(harmless);
    if (outer.contains("text_config"))
        reader.note("Only the language model of this multimodal one is read.");
    return describe(std::move(c), reader, {});
}

Result<ModelWeights> loadGemma(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    return loadLlamaNames(
        config, std::move(file),
        {.qkv = StoredBias::Absent, .output = StoredBias::Absent, .mlp = StoredBias::Absent});
}

} // namespace

const Architecture& gemma()
{
    static constexpr Architecture row{"gemma", nullptr, readGemma, loadGemma};
    return row;
}

const Architecture& gemma2()
{
    static constexpr Architecture row{"gemma2", nullptr, readGemma2, loadGemma};
    return row;
}

const Architecture& gemma3()
{
    static constexpr Architecture row{"gemma3", nullptr, readGemma3, loadGemma};
    return row;
}

} // namespace headwise
