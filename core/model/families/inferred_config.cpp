#include "core/model/families/inferred_config.h"

#include "core/checkpoint/weight_file.h"
#include "core/files/json.h"
#include "core/model/adapters/adapter.h"
#include "core/model/architecture.h"
#include "core/model/config_reader.h"
#include "core/model/families/stored_mask.h"
#include "core/model/families/unknown_fields.h"
#include "core/model/names/names_library.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace headwise {
namespace {

using nlohmann::json;

/// [] if it is not stored.
std::vector<std::int64_t> shapeOf(const WeightMap& file, const std::string& name)
{
    const int tensor = file.find(name);
    if (tensor < 0)
        return {};
    const auto& shape = file.tensors()[static_cast<std::size_t>(tensor)].shape;
    return {shape.begin(), shape.end()};
}

bool isStored(const WeightMap& file, const std::string& name)
{
    return file.find(name) >= 0;
}

/// How many of PREFIX0NAME, PREFIX1NAME, … there are.
int countLayers(const WeightMap& file, const std::string& prefix, const std::string& name)
{
    const auto nameOf = [&](int layer) { return prefix + std::to_string(layer) + name; };
    int layers = 0;
    while (isStored(file, nameOf(layers)))
        ++layers;
    return layers;
}

InferredConfig inferNanoGpt(const WeightMap& file, const std::string& prefix)
{
    const auto fused = shapeOf(file, prefix + "h.0.attn.c_attn.weight");
    const auto embedding = shapeOf(file, prefix + "wte.weight");
    const auto positions = shapeOf(file, prefix + "wpe.weight");
    const auto inside = shapeOf(file, prefix + "h.0.mlp.c_fc.weight");
    // Hugging Face's GPT-2 has the same names and the transpose of this.
    const bool isIt = fused.size() == 2 && fused[0] == 3 * fused[1];
    if (!isIt || embedding.size() != 2 || positions.size() != 2 || inside.size() != 2)
        return {};
    const json values = {
        {"model_type", "nanogpt"},    {"n_layer", countLayers(file, prefix + "h.", ".attn.c_attn.weight")},
        {"n_embd", fused[1]},         {"n_inner", inside[0]},
        {"vocab_size", embedding[0]}, {"block_size", positions[0]}};
    return {jsonText(values), {"n_head"}};
}

InferredConfig inferGpt2(const WeightMap& file, const std::string& prefix)
{
    const auto fused = shapeOf(file, prefix + "h.0.attn.c_attn.weight");
    const auto embedding = shapeOf(file, prefix + "wte.weight");
    const auto positions = shapeOf(file, prefix + "wpe.weight");
    const auto inside = shapeOf(file, prefix + "h.0.mlp.c_fc.weight");
    const bool isIt = fused.size() == 2 && fused[1] == 3 * fused[0];
    if (!isIt || embedding.size() != 2 || positions.size() != 2 || inside.size() != 2)
        return {};
    const json values = {{"model_type", "gpt2"},
                         {"n_layer", countLayers(file, prefix + "h.", ".attn.c_attn.weight")},
                         {"n_embd", fused[0]},
                         {"n_inner", inside[1]},
                         {"vocab_size", embedding[0]},
                         {"n_positions", positions[0]},
                         {"tie_word_embeddings", !isStored(file, "lm_head.weight")}};
    return {jsonText(values), {"n_head"}, {{ConfigField::Activation, "activation_function"}}};
}

/// Llama's names are also Mistral's, Qwen's, Gemma's and others': which of them it is, no tensor tells for certain.
InferredConfig inferLlamaNamed(const WeightMap& file)
{
    const auto embedding = shapeOf(file, "model.embed_tokens.weight");
    const auto inside = shapeOf(file, "model.layers.0.mlp.gate_proj.weight");
    const auto queries = shapeOf(file, "model.layers.0.self_attn.q_proj.weight");
    if (queries.size() != 2 || embedding.size() != 2 || inside.size() != 2)
        return {};
    const json values = {
        {"num_hidden_layers", countLayers(file, "model.layers.", ".self_attn.q_proj.weight")},
        {"hidden_size", embedding[1]},
        {"intermediate_size", inside[0]},
        {"vocab_size", embedding[0]},
        {"tie_word_embeddings", !isStored(file, "lm_head.weight")}};
    std::vector<std::string> unknown{"model_type", "num_attention_heads", "num_key_value_heads"};
    if (queries[0] != queries[1])
        unknown.emplace_back("head_dim"); // d_model / n_heads otherwise
    return {jsonText(values),
            std::move(unknown),
            {{ConfigField::NormEps, "rms_norm_eps"},
             {ConfigField::RotaryBase, "rope_theta"},
             {ConfigField::Context, "max_position_embeddings"}}};
}

InferredConfig inferMinGpt(const WeightMap& file)
{
    const auto embedding = shapeOf(file, "tok_emb.weight");
    const auto positions = shapeOf(file, "pos_emb");
    const auto inside = shapeOf(file, "blocks.0.mlp.0.weight");
    if (!isStored(file, "blocks.0.attn.query.weight") || embedding.size() != 2 || positions.size() != 3
        || inside.size() != 2)
        return {};
    const json values = {
        {"model_type", "mingpt"},     {"n_layer", countLayers(file, "blocks.", ".attn.query.weight")},
        {"n_embd", embedding[1]},     {"n_inner", inside[0]},
        {"vocab_size", embedding[0]}, {"block_size", positions[1]}};
    return {jsonText(values), {"n_head"}};
}

/// ESM as its authors publish it. Every model but the first few of theirs was trained with token dropout.
InferredConfig inferEsm(const WeightMap& file, const std::string& prefix)
{
    const auto embedding = shapeOf(file, prefix + "embed_tokens.weight");
    const auto positions = shapeOf(file, prefix + "embed_positions.weight");
    const auto rotated = shapeOf(file, prefix + "layers.0.self_attn.rot_emb.inv_freq");
    const auto inside = shapeOf(file, prefix + "layers.0.fc1.weight");
    if (!isStored(file, prefix + "emb_layer_norm_after.weight") || embedding.size() != 2
        || inside.size() != 2)
        return {};
    json values = {{"model_type", "esm_fairseq"},
                   {"num_hidden_layers", countLayers(file, prefix + "layers.", ".fc1.weight")},
                   {"hidden_size", embedding[1]},
                   {"intermediate_size", inside[0]},
                   {"vocab_size", embedding[0]},
                   {"token_dropout", true},
                   {"emb_layer_norm_before", isStored(file, prefix + "emb_layer_norm_before.weight")},
                   {"position_embedding_type", positions.size() == 2 ? "absolute" : "rotary"}};
    if (positions.size() == 2)
        values["max_position_embeddings"] = positions[0];
    if (rotated.size() != 1 || rotated[0] < 1 || embedding[1] % (2 * rotated[0]) != 0)
        return {jsonText(values), {"num_attention_heads"}};
    values["num_attention_heads"] = embedding[1] / (2 * rotated[0]); // all of a head rotates, in pairs
    return {jsonText(values), {}};
}

/// Norms with a bias are LayerNorms, with a weight alone RMSNorms. Empty without either: the model has no norms, or those of
/// either kind were folded.
std::string normalizationOf(const WeightMap& file)
{
    for (const char* name : {"blocks.0.ln1", "ln_final"}) {
        if (isStored(file, std::string(name) + ".b"))
            return "LN";
        if (isStored(file, std::string(name) + ".w"))
            return "RMS";
    }
    return {};
}

/// Adds the windows that the stored masks have, as TransformerLens does for GPT-Neo. Windows of several sizes have no key.
void addWindows(const WeightMap& file, json& values)
{
    int window = 0;
    json types = json::array();
    for (int layer = 0; layer < values["n_layers"].get<int>(); ++layer) {
        const auto mask = storedMask(file, "blocks." + std::to_string(layer) + ".attn.mask");
        const bool isLocal = mask && mask->kind == StoredMask::Kind::Window;
        types.push_back(isLocal ? "local" : "global");
        window = isLocal ? mask->window : window;
    }
    if (window > 0)
        values.update({{"use_local_attn", true}, {"window_size", window}, {"attn_types", types}});
}

/// Adds the direction of attention where the stored masks tell it, and asks for it where they are of no known kind.
void addDirection(const WeightMap& file, InferredConfig& inferred)
{
    const StoredDirection direction = storedDirection(file);
    if (direction == StoredDirection::Unclear)
        inferred.unknown.emplace_back("attention_dir");
    if (direction != StoredDirection::Bidirectional)
        return;
    json values = jsonValue(inferred.text);
    values["attention_dir"] = "bidirectional";
    inferred.text = jsonText(values);
}

InferredConfig inferTransformerLens(const WeightMap& file)
{
    const auto queries = shapeOf(file, "blocks.0.attn.W_Q");
    const auto embedding = shapeOf(file, "embed.W_E");
    const auto output = shapeOf(file, "unembed.W_U");
    if (queries.size() != 3 || embedding.size() != 2)
        return {};
    const auto grouped = shapeOf(file, "blocks.0.attn._W_K");
    const auto inside = shapeOf(file, "blocks.0.mlp.W_in");
    const auto positions = shapeOf(file, "pos_embed.W_pos");
    InferredConfig inferred;
    json values = {{"n_layers", countLayers(file, "blocks.", ".attn.W_Q")},
                   {"d_model", embedding[1]},
                   {"n_heads", queries[0]},
                   {"d_head", queries[2]},
                   {"d_vocab", embedding[0]},
                   {"attn_only", inside.empty()},
                   {"gated_mlp", isStored(file, "blocks.0.mlp.W_gate")}};
    if (const std::string normalization = normalizationOf(file); !normalization.empty())
        values["normalization_type"] = normalization;
    else
        inferred.unknown.emplace_back("normalization_type");
    if (output.size() == 2)
        values["d_vocab_out"] = output[1];
    if (grouped.size() == 3)
        values["n_key_value_heads"] = grouped[0];
    if (inside.size() == 2) {
        values["d_mlp"] = inside[1];
        if (isStored(file, "blocks.0.mlp.ln.w"))
            values["act_fn"] = "solu_ln";
        else
            inferred.open.push_back({ConfigField::Activation, "act_fn"});
    }
    if (isStored(file, "blocks.0.attn.q_norm.w"))
        values["use_qk_norm"] = true;
    if (positions.size() == 2) {
        values["n_ctx"] = positions[0];
    } else {
        inferred.open.push_back({ConfigField::Context, "n_ctx"});
        inferred.open.push_back({ConfigField::Positions, "positional_embedding_type"});
    }
    addWindows(file, values);
    inferred.text = jsonText(values);
    return inferred;
}

InferredConfig inferByNames(const WeightMap& file)
{
    for (const char* prefix : {"transformer.", ""})
        for (const auto infer : {inferNanoGpt, inferGpt2})
            if (InferredConfig inferred = infer(file, prefix); !inferred.text.empty())
                return inferred;
    if (InferredConfig inferred = inferLlamaNamed(file); !inferred.text.empty())
        return inferred;
    if (InferredConfig inferred = inferMinGpt(file); !inferred.text.empty())
        return inferred;
    for (const char* prefix : {"", "encoder.", "encoder.sentence_encoder."})
        if (InferredConfig inferred = inferEsm(file, prefix); !inferred.text.empty())
            return inferred;
    return inferTransformerLens(file);
}

/// The tensors whose shapes tell the sizes of a kind of state dict; the first also tells its kind.
struct Naming {
    std::string_view kind;
    Names prefixes, tensors;
};

constexpr Naming namings[] = {
    {"GPT-2 and nanoGPT",
     {"transformer.", ""},
     {"h.0.attn.c_attn.weight", "wte.weight", "wpe.weight", "h.0.mlp.c_fc.weight"}},
    {"Llama",
     {""},
     {"model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight",
      "model.layers.0.mlp.gate_proj.weight"}},
    {"minGPT", {""}, {"blocks.0.attn.query.weight", "tok_emb.weight", "pos_emb", "blocks.0.mlp.0.weight"}},
    {"TransformerLens", {""}, {"blocks.0.attn.W_Q", "embed.W_E"}},
};

} // namespace

InferredConfig inferConfig(const WeightMap& file)
{
    InferredConfig inferred = inferByNames(file);
    if (inferred.text.empty())
        return inferred;
    addDirection(file, inferred);
    if (!inferred.open.empty()) {
        json values = jsonValue(inferred.text);
        values[unknownFieldsKey] = namesOfUnknown(inferred.open);
        inferred.text = jsonText(values);
    }
    return inferred;
}

Result<Done> checkNames(const WeightMap& file, const std::string& path)
{
    const std::string name = "embed.embed.W_E";
    if (!isStored(file, name))
        return Done{};
    return Error{
        ErrorCode::Unsupported,
        "'" + path + "' holds '" + name
            + "', the names of a TransformerLens HookedEncoder (BERT), which this version does not read; open the Hugging Face model that it was converted from."};
}

std::string recognisedNames(const WeightMap& file)
{
    for (const Naming& naming : namings)
        for (const std::string_view prefix : naming.prefixes) {
            std::vector<std::string> missing;
            for (const std::string_view name : naming.tensors)
                if (const std::string whole = std::string(prefix) + std::string(name); !isStored(file, whole))
                    missing.push_back("'" + whole + "'");
            if (missing.size() == naming.tensors.size())
                continue;
            const std::string named = "its tensors are named as in " + std::string(naming.kind);
            return missing.empty()
                ? named
                : named + ", but " + listed(missing) + (missing.size() == 1 ? " is missing" : " are missing");
        }
    const auto& tensors = file.tensors();
    if (tensors.empty())
        return "it holds no tensors";
    return "its " + std::to_string(tensors.size()) + " tensors, such as '" + tensors.front().name + "' "
        + shapeText(tensors.front().shape)
        + ", have names that match no architecture (`info --tensors` shows all of them)";
}

MissingConfig missingConfig(const ModelSource& asked)
{
    const auto apart = takeAdapterApart(asked);
    if (!apart)
        return {};
    const ModelSource& source = apart->base;
    const auto named = openNamed(source);
    if (!named) // a map that contradicts the file; its sentence says where
        return {};
    if (*named)
        return {!(*named)->model.unknown.empty(), (*named)->model.unknown};
    std::error_code code;
    const std::filesystem::path folder =
        std::filesystem::is_directory(source.path, code) ? source.path : source.path.parent_path();
    if (source.configFile || std::filesystem::exists(folder / "config.json", code))
        return {};
    const Result<WeightMap> weights = WeightMap::open(source.path);
    const Result<OwnConfig> own = ownConfig(source.path);
    if (!weights || !own || !own->text.empty() || !checkNames(*weights, {}))
        return {};
    const InferredConfig inferred = inferConfig(*weights);
    MissingConfig missing{true, inferred.unknown, {}};
    for (const UnknownField& field : inferred.open)
        missing.optional.push_back(field.key);
    return missing;
}

} // namespace headwise
