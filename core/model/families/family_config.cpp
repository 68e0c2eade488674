#include "core/model/families/family_config.h"

#include "core/model/families/rotary_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

/// Keys of any Hugging Face config that say nothing about the function.
constexpr std::string_view keysWithoutEffect[] = {
    // names, origin and bookkeeping
    "model_type", "architectures", "_name_or_path", "name", "model_name", "transformers_version",
    "torch_dtype", "dtype", "auto_map", "tokenizer_class", "_commit_hash", "transformers.js_config",
    "torchscript", "use_bfloat16", "unsloth_version", "unsloth_fixed", "is_llama_config", "prefix",
    // tokens without a part in the forward pass
    "pad_token_id", "eos_token_id", "sep_token_id", "unk_token_id", "decoder_start_token_id",
    // how the same numbers are computed, and what is returned
    "use_cache", "gradient_checkpointing", "_attn_implementation", "attn_implementation",
    "_attn_implementation_autoset", "chunk_size_feed_forward", "pretraining_tp", "output_attentions",
    "output_hidden_states", "output_scores", "return_dict", "return_dict_in_generate",
    // training and other heads
    "initializer_range", "init_std", "attention_dropout", "hidden_dropout", "hidden_dropout_prob",
    "attention_probs_dropout_prob", "mlp_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop",
    "classifier_dropout", "dropout", "layerdrop", "activation_dropout", "embed_dropout", "embedding_dropout",
    "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
    "summary_first_dropout", "task_specific_params", "id2label", "label2id", "num_labels", "problem_type",
    "finetuning_task", "is_decoder", "tf_legacy_loss", "tie_encoder_decoder", "cross_attention_hidden_size",
    "rotary",
    // generation
    "bad_words_ids", "begin_suppress_tokens", "suppress_tokens", "diversity_penalty", "do_sample",
    "early_stopping", "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty",
    "forced_bos_token_id", "forced_eos_token_id", "length_penalty", "max_length", "max_new_tokens",
    "min_length", "min_new_tokens", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "remove_invalid_values", "repetition_penalty", "temperature", "top_k", "top_p",
    "typical_p"};

void readFamilySizes(const Family& family, FamilyReading& reading)
{
    const FamilyKeys& keys = family.keys;
    const FamilySizes& sizes = family.sizes;
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    const auto size = [&](const Names& names, int standard) {
        return reader.size(names, standard > 0 ? std::optional<int>(standard) : std::nullopt);
    };
    c.nLayers = size(keys.layers, sizes.layers);
    c.nHeads = c.nKvHeads = size(keys.heads, sizes.heads);
    if (!keys.kvHeads.empty()) {
        const bool hasStandard = sizes.kvHeads > 0 && reader.isAbsent(keys.kvHeads[0]);
        c.nKvHeads = reader.optionalSize(keys.kvHeads).value_or(hasStandard ? sizes.kvHeads : c.nHeads);
    }
    c.dModel = size(keys.dModel, sizes.dModel);
    c.dHead = reader.optionalSize(keys.dHead).value_or(sizes.dHead);
    if (c.dHead == 0 && c.dModel % c.nHeads != 0)
        reader.contradiction(std::to_string(c.dModel) + " residual dimensions do not split into "
                             + std::to_string(c.nHeads) + " heads"
                             + (keys.dHead.empty() ? "" : ", and there is no 'head_dim'"));
    if (c.dHead == 0)
        c.dHead = std::max(1, c.dModel / c.nHeads);
    c.dMlp = sizes.dMlp > 0 ? reader.size(keys.dMlp, sizes.dMlp)
                            : reader.optionalSize(keys.dMlp).value_or(standardMlpWidth(c.dModel));
    c.dVocab = c.dVocabOut = size(keys.vocabulary, sizes.vocabulary);
    c.nCtx = size(keys.context, sizes.context);
}

void readFamilyNorms(const Family& family, FamilyReading& reading)
{
    const FamilyNorms& norms = family.norms;
    ModelConfig& c = reading.config;
    c.norm = norms.kind;
    c.finalNorm = norms.hasFinal ? norms.kind : NormKind::None;
    c.normEps = reading.reader.number(family.keys.normEps, norms.eps);
    c.normHasParameters = norms.hasParameters;
    // Files that were converted from GGUF have the 1 in their weights.
    c.rmsUsesOffset = norms.addsOne
        && (!reading.reader.isGiven("rmsnorm_uses_offset")
            || reading.reader.flag({"rmsnorm_uses_offset"}, true));
    c.hasPreNorms = norms.before;
    c.hasPostNorms = norms.behind;
    c.hasSumNorms = norms.ofSums;
    c.embeddingNorm = norms.embedding;
    c.qkNorm = norms.qk;
    c.qkNormOverAllHeads = norms.qkOverAllHeads;
    reading.biases.norm = norms.bias != StoredBias::Absent;
    if (norms.weightAddend != 0)
        for (const TensorKind kind : {TensorKind::ln1_w, TensorKind::ln2_w, TensorKind::ln_final_w})
            reading.forms[kind] = {1, norms.weightAddend};
}

void readFamilyPositions(const FamilyPositions& positions, FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    c.positional = positions.kind;
    c.attentionScale = 1 / std::sqrt(c.dHead);
    if (positions.dim > 0) {
        if (!reader.isAbsent("rotary_dim") && !reader.isGiven("rotary_dim"))
            reader.refuse("rotary_dim", "a number of components");
        c.rotary = {reader.size({"rotary_dim"}, positions.dim), positions.base, true};
    } else if (positions.kind == Positional::Rotary) {
        c.rotary =
            readRotary(c, reading.json, reader, {positions.base, positions.part, positions.originalContext});
        c.rotary.adjacentPairs = positions.adjacent;
    }
}

void readFamilyMlp(const Family& family, FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    c.gatedMlp = !family.tensors.mlp.gate.empty();
    c.activation = reader.activation(family.keys.activation, family.activation);
    if (c.activation == Activation::SoluLn)
        for (const std::string_view key : family.keys.activation)
            if (reader.isGiven(key))
                reader.refuse(key, "a " + c.architecture + " model stores no norm inside its MLP");
    c.parallelBlocks =
        family.parallelKey.empty() ? family.isParallel : reader.flag({family.parallelKey}, family.isParallel);
}

std::optional<bool> announced(const BiasRule& rule, ConfigReader& reader)
{
    if (rule.key.empty())
        return std::nullopt;
    return rule.standard ? reader.flag({rule.key}, *rule.standard) : reader.optionalFlag(rule.key);
}

void readFamilyBiases(const FamilyBiases& biases, FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    c.attentionBiases = announced(biases.attention, reading.reader);
    c.mlpBiases =
        biases.mlp.key == biases.attention.key ? c.attentionBiases : announced(biases.mlp, reading.reader);
    const auto isCounted = [](const BiasRule& rule, std::optional<bool> said) {
        return said.value_or(rule.stored == StoredBias::Present || rule.isUsual);
    };
    reading.biases.attention = isCounted(biases.attention, c.attentionBiases);
    reading.biases.mlp = isCounted(biases.mlp, c.mlpBiases);
    reading.biases.unembed = biases.unembed;
    if (biases.output)
        reading.biases.attentionOutput = isCounted(*biases.output, std::nullopt);
}

/// `layer_types` ("full_attention" or "sliding_attention" per layer) if it is there; otherwise nothing.
/// \returns [n_layers] true where a layer slides, or empty
std::vector<bool> readSlidingLayers(FamilyReading& reading)
{
    reading.reader.ignore(Names{"layer_types"});
    if (!reading.reader.isGiven("layer_types"))
        return {};
    const json& types = reading.json["layer_types"];
    std::vector<bool> slides;
    if (types.is_array())
        for (const json& type : types)
            if (type == "full_attention" || type == "sliding_attention")
                slides.push_back(type == "sliding_attention");
    if (static_cast<int>(slides.size()) != reading.config.nLayers)
        reading.reader.refuse("layer_types", "full_attention or sliding_attention for each of the layers");
    slides.resize(believedLayers(reading.config));
    return slides;
}

/// \param own the config before withFullRope
void readFamilyWindows(const Family& family, const json& own, FamilyReading& reading)
{
    const FamilyWindows& rule = family.windows;
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    if (!rule.any)
        return;
    const int standard = reader.isAbsent("sliding_window") ? rule.absent : rule.null;
    const int window = reader.optionalSize({"sliding_window"}).value_or(standard);
    const bool isAssumed = reader.isAbsent("sliding_window") && window > 0;
    const int first = rule.firstKey.empty() ? 0 : reader.count(rule.firstKey, 28);
    const int pattern = rule.patternKeys.empty() ? rule.pattern : reader.size(rule.patternKeys, rule.pattern);
    std::vector<bool> slides = rule.listed ? readSlidingLayers(reading) : std::vector<bool>();
    const bool isListed = !slides.empty();
    for (int layer = 0; !isListed && layer < static_cast<int>(believedLayers(c)); ++layer) {
        if (!c.layerRotary.empty()) // Then the layers without positions are those that slide.
            slides.push_back(c.rotaryOf(layer).dim == 0);
        else
            slides.push_back(pattern > 0 ? (layer + 1) % pattern != 0 : layer >= first);
    }
    if (rule.switchKey.empty() || reader.flag({rule.switchKey}, false))
        c.windows = windowsOf(slides, window);
    if (isAssumed && !c.windows.empty())
        reader.assume("sliding_window", std::to_string(window));
    if (family.positions.onlyWhereSliding)
        for (const bool slidesHere : slides)
            c.layerRotary.push_back(slidesHere && window > 0 ? c.rotary : Rotary{});
    if (!family.positions.apartWhereSliding)
        return;
    const std::string_view baseKey = family.positions.slidingBaseKey;
    const double base = baseKey.empty() ? c.rotary.base : reader.number({baseKey}, 10000);
    const Rotary sliding = readSlidingRotary(c, own, reader, base);
    if (sliding != c.rotary)
        for (const bool slidesHere : slides)
            c.layerRotary.push_back(slidesHere ? sliding : c.rotary);
}

/// Where the model is a part of a larger one, its own config with what the outer one alone says.
/// \param part "text_config"; empty: it is none
json partOf(const json& config, const std::string& part)
{
    if (part.empty() || !config.contains(part) || !config[part].is_object())
        return config;
    json inner = config[part];
    for (const char* key : {"quantization_config", "bos_token_id", "architectures"})
        if (!inner.contains(key) && config.contains(key))
            inner[key] = config[key];
    return inner;
}

/// Takes down the stacks of a model with several, and says how another one is opened.
void readStacks(const Family& family, FamilyReading& reading)
{
    std::string names;
    reading.config.stacks = {std::string(family.stack)};
    for (const Family& other : families())
        if (other.whole == family.whole && other.stack != family.stack) {
            names += (names.empty() ? "" : " or ") + std::string(other.stack);
            reading.config.stacks.emplace_back(other.stack);
        }
    reading.reader.note("The " + std::string(family.stack) + " stack is open; --set stack=" + names
                        + " opens another one of this model.");
}

/// Where `key` is an object, its entries under KEY.ENTRY too.
json withEntriesOf(json config, std::string_view key)
{
    const auto found = config.find(key);
    if (found == config.end() || !found->is_object())
        return config;
    const json nested = *found;
    for (const auto& [name, value] : nested.items())
        config.emplace(std::string(key) + "." + name, value); // unless --set gave it so
    config.erase(key);
    return config;
}

/// The numbers of some methods are decoded where the weights are read (packed_parts.h); others are refused.
void readQuantization(FamilyReading& reading)
{
    static constexpr std::string_view methods[] = {
        "gptq", "awq", "bitsandbytes", "fp8", "fbgemm_fp8", "compressed-tensors", "mxfp4"};
    const auto found = reading.json.find("quantization_config");
    const json method =
        found != reading.json.end() && found->is_object() ? found->value("quant_method", json()) : json();
    const bool isDecoded = method.is_string()
        && std::find(std::begin(methods), std::end(methods), method.get<std::string>()) != std::end(methods);
    if (isDecoded)
        reading.reader.ignore(Names{"quantization_config"});
    else
        reading.reader.onlySupports("quantization_config", {});
}

/// Encoders, cross-attention and most quantisations are refused for every family; keys that change nothing are ignored.
void readOtherKeys(const Family& family, FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, family.isTied);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    if (family.scalesEmbedding)
        c.embeddingScale = std::sqrt(c.dModel);
    for (const FixedKey& fixed : family.fixed)
        if (!fixed.key.empty())
            reader.onlySupports(fixed.key, fixed.value.empty() ? Names{} : Names{fixed.value});
    if (family.whole.empty())
        reader.onlySupports("is_encoder_decoder", {"false"});
    else
        reader.ignore(Names{"is_encoder_decoder"});
    reader.onlySupports("add_cross_attention", {"false"});
    reader.onlySupports("pruned_heads", {"{}"});
    readQuantization(reading);
    reader.ignore(keysWithoutEffect);
    reader.ignore(family.ignored);
}

} // namespace

void readDirection(ModelConfig& config, ConfigReader& reader)
{
    if (!reader.isGiven("attention_dir"))
        return;
    const std::string direction = reader.text({"attention_dir"}, "");
    if (direction != "causal" && direction != "bidirectional")
        reader.refuse("attention_dir", "causal or bidirectional");
    config.bidirectional = direction == "bidirectional";
}

std::size_t believedLayers(const ModelConfig& config)
{
    return static_cast<std::size_t>(std::min(config.nLayers, mostLayers));
}

std::vector<int> windowsOf(const std::vector<bool>& slides, int window)
{
    if (window == 0 || std::find(slides.begin(), slides.end(), true) == slides.end())
        return {};
    std::vector<int> windows;
    windows.reserve(slides.size());
    for (const bool sliding : slides)
        windows.push_back(sliding ? window : 0);
    return windows;
}

Result<ModelDescription> readFamilyConfig(const Family& family, const json& outer, std::string_view file)
{
    if (family.code.readAll)
        return family.code.readAll(outer, file);
    const std::string part(family.hasTextConfig ? "text_config" : family.part);
    json own = partOf(outer, part);
    if (!family.nestedKey.empty())
        own = withEntriesOf(std::move(own), family.nestedKey);
    const json config = family.positions.apartWhereSliding ? withFullRope(own) : own;
    ConfigReader reader(config, file);
    ModelDescription description;
    ModelConfig& c = description.config;
    FamilyReading reading{c, config, reader, description.biases, description.forms, file, family.stack};
    c.architecture = family.name;
    readFamilySizes(family, reading);
    readFamilyNorms(family, reading);
    readFamilyPositions(family.positions, reading);
    readFamilyMlp(family, reading);
    readFamilyBiases(family.biases, reading);
    readOtherKeys(family, reading);
    if (family.code.read)
        family.code.read(reading);
    readFamilyWindows(family, own, reading);
    readDirection(c, reader);
    description.biases.oneNorm = family.norms.oneIfParallel && c.parallelBlocks && !reading.hasSecondNorm;
    if (family.hasTextConfig && outer.contains("text_config"))
        reader.note("Only the language model of this multimodal one is read.");
    reader.ignore(Names{family.whole.empty() ? "" : "stack"});
    if (!family.whole.empty() && (family.part.empty() || outer.contains(part)))
        readStacks(family, reading);
    if (!reader.unknownActivation().empty())
        c.unknown.push_back({ConfigField::Activation, reader.unknownActivation()});
    Result<std::vector<std::string>> warnings = reader.finish();
    if (!warnings)
        return warnings.error();
    description.warnings = *std::move(warnings);
    description.assumed = reader.assumed();
    return description;
}

} // namespace headwise
