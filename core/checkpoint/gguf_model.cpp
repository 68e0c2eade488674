#include "core/checkpoint/block_formats.h"
#include "core/checkpoint/gguf.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace headwise {
namespace {

using nlohmann::json;

/// Keys after "llama.", and their names in config.json.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> configKeys{{
    {"block_count", "num_hidden_layers"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"context_length", "max_position_embeddings"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"rope.freq_base", "rope_theta"},
    {"vocab_size", "vocab_size"},
}};

/// Keys after "llama." that do not change the function, or that are read elsewhere by name.
constexpr std::array<std::string_view, 9> otherKeys{"expert_count",
                                                    "expert_used_count",
                                                    "rope.scaling.type",
                                                    "rope.scaling.finetuned",
                                                    "rope.scaling.original_context_length",
                                                    "tensor_data_layout",
                                                    "pooling_type",
                                                    "attention.layer_norm_epsilon",
                                                    "attention.sliding_window_pattern"};

/// A key after "llama." that changes the function, unless its value asks for what is done anyway.
struct FunctionKey {
    std::string_view key;
    double neutral = 0;
    bool zeroIsNone = true; ///< llama.cpp reads 0 as if the key were absent.
};

/// Names of a block's tensors, without ".weight" or ".bias".
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> blockNames{{
    {"attn_norm", "input_layernorm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> modelNames{{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
}};

template <std::size_t size>
std::optional<std::string>
renamed(const std::array<std::pair<std::string_view, std::string_view>, size>& table, std::string_view name)
{
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.first == name; });
    return found == table.end() ? std::nullopt : std::optional(std::string(found->second));
}

/// Returns "model.layers.3.self_attn.q_proj.weight" for "blk.3.attn_q.weight", and any unknown name unchanged.
std::string originalName(const std::string& name)
{
    const auto dot = name.rfind('.');
    const std::string stem = name.substr(0, dot), kind = dot == std::string::npos ? "" : name.substr(dot);
    if (const auto whole = renamed(modelNames, stem))
        return *whole + kind;
    if (!stem.starts_with("blk."))
        return name;
    const auto end = stem.find('.', 4);
    if (end == std::string::npos)
        return name;
    const auto part = renamed(blockNames, std::string_view(stem).substr(end + 1));
    return part ? "model.layers." + stem.substr(4, end - 4) + "." + *part + kind : name;
}

/// Returns a number, or the single value that all entries of a per-layer array share.
std::optional<json> numberOf(const GgufValue& value)
{
    if (const auto* integer = std::get_if<std::int64_t>(&value))
        return json(*integer);
    if (const auto* real = std::get_if<double>(&value)) {
        // The file stores floats: 1e-5 must come back as 1e-5, not as 9.99999974737875e-06.
        char shortest[64];
        const auto end = std::to_chars(shortest, shortest + sizeof shortest, static_cast<float>(*real)).ptr;
        double exact = 0;
        std::from_chars(shortest, end, exact);
        return json(exact);
    }
    const auto* numbers = std::get_if<std::vector<double>>(&value);
    if (!numbers || numbers->empty()
        || std::count(numbers->begin(), numbers->end(), numbers->front()) != std::ssize(*numbers))
        return std::nullopt;
    return json(static_cast<std::int64_t>(numbers->front()));
}

std::string ggufModelShown(const GgufValue& value)
{
    if (const auto* text = std::get_if<std::string>(&value))
        return json(*text).dump(-1, ' ', false, json::error_handler_t::replace);
    const std::optional<json> number = numberOf(value);
    return number ? number->dump() : "a list";
}

/// Converts one file's metadata and tensors. It refuses anything that a config.json cannot express.
class Converter {
public:
    Converter(const GgufHeader& header, std::string_view fileName)
        : m_header(header)
        , m_file(fileName)
    {
    }

    Result<GgufModel> convert();

private:
    const GgufValue* find(const std::string& key) const
    {
        const auto value = m_header.metadata.find(key);
        return value == m_header.metadata.end() ? nullptr : &value->second;
    }
    std::string word(const std::string& key) const
    {
        const GgufValue* value = find(key);
        return value && std::holds_alternative<std::string>(*value) ? std::get<std::string>(*value) : "";
    }
    std::int64_t count(const char* key) const
    {
        const auto number = m_config.find(key);
        return number != m_config.end() && number->is_number_integer() ? number->get<std::int64_t>() : 0;
    }
    Result<Done> readKeys();
    void readDirection();
    Result<Done> refuseOthers() const;
    std::vector<FunctionKey> functionKeys() const;
    Result<Done> refuseFunctionKeys() const;
    std::string unreadKeys() const; ///< Lists the first six, with a verb; empty if all keys were read.
    void addVocabulary();
    Result<Done> undoPermutation(StoredTensor& tensor) const;

    const GgufHeader& m_header;
    std::string m_file;
    json m_config = json::object();
};

Result<Done> Converter::readKeys()
{
    for (const auto& [key, name] : configKeys) {
        const GgufValue* value = find("llama." + std::string(key));
        if (!value)
            continue;
        std::optional<json> number = numberOf(*value);
        if (!number)
            return Error{
                ErrorCode::Unsupported,
                "In '" + m_file + "' the key 'llama." + std::string(key)
                    + "' is not a number, or differs between layers, which this version does not read."};
        m_config[std::string(name)] = *std::move(number);
    }
    for (const std::string_view needed :
         {"num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "rms_norm_eps"})
        if (!m_config.contains(needed))
            return Error{ErrorCode::Corrupt,
                         "File '" + m_file + "' says nothing about '" + std::string(needed)
                             + "' in its metadata; convert the model again with a current llama.cpp."};
    return Done{};
}

/// Without a causal mask the function is that of `attention_dir`, a key of config.json that every family understands.
void Converter::readDirection()
{
    const GgufValue* causal = find("llama.attention.causal");
    const std::optional<json> number = causal ? numberOf(*causal) : std::nullopt;
    if (number && number->get<double>() == 0)
        m_config["attention_dir"] = "bidirectional";
}

Result<Done> Converter::refuseOthers() const
{
    const GgufValue* experts = find("llama.expert_count");
    const std::string scaling = word("llama.rope.scaling.type");
    const bool hasExperts = experts && *experts != GgufValue(std::int64_t{0});
    if (!hasExperts && (scaling.empty() || scaling == "none"))
        return Done{};
    return Error{
        ErrorCode::Unsupported,
        "File '" + m_file + "' "
            + (hasExperts ? "is a mixture of experts" : "scales its rotary positions ('" + scaling + "')")
            + ", which this version does not read from GGUF; open the model it was converted from."};
}

/// Source: llama.cpp `src/llama-model.cpp`, where the graph of the architecture "llama" uses these keys.
std::vector<FunctionKey> Converter::functionKeys() const
{
    const auto width = static_cast<double>(count("hidden_size"));
    const auto heads = static_cast<double>(count("num_attention_heads"));
    const auto given = static_cast<double>(count("head_dim"));
    const double headSize = given > 0 ? given : heads > 0 ? std::floor(width / heads) : 0;
    const bool isScaled = word("llama.rope.scaling.type") != "none";
    std::vector<FunctionKey> keys{{"rope.dimension_count", headSize, false},
                                  {"attention.value_length", headSize, false},
                                  {"embedding_length_out", width},
                                  {"rope.scale_linear", 1},
                                  {"rope.scaling.attn_factor", 1},
                                  {"attention.scale", headSize > 0 ? 1 / std::sqrt(headSize) : 0},
                                  {"attention.output_scale", 1},
                                  {"attention.temperature_scale", 0},
                                  {"attention.sliding_window", 0},
                                  {"attention.clamp_kqv", 0},
                                  {"attention.max_alibi_bias", 0},
                                  {"attention.causal", 1, false},
                                  {"attn_logit_softcapping", 0},
                                  {"final_logit_softcapping", 0},
                                  {"logit_scale", 1},
                                  {"embedding_scale", 1},
                                  {"residual_scale", 1},
                                  {"use_parallel_residual", 0}};
    if (isScaled) // llama.cpp's default is the type linear.
        keys.push_back({"rope.scaling.factor", 1});
    return keys;
}

Result<Done> Converter::refuseFunctionKeys() const
{
    for (const FunctionKey& row : functionKeys()) {
        const GgufValue* value = find("llama." + std::string(row.key));
        if (!value)
            continue;
        const std::optional<json> number = numberOf(*value);
        const double found = number ? number->get<double>() : std::nan("");
        const bool isNeutral = std::abs(found - row.neutral) <= 1e-5 * std::abs(row.neutral)
            || (row.zeroIsNone && found == 0)
            || (row.key == "attention.causal" && found == 0) // of readDirection
            || (row.key == "attention.sliding_window" && count("max_position_embeddings") > 0
                && found >= static_cast<double>(count("max_position_embeddings")));
        if (!isNeutral)
            return Error{
                ErrorCode::Unsupported,
                "In '" + m_file + "', 'llama." + std::string(row.key) + "' = " + ggufModelShown(*value)
                    + " changes the model's function and this version does not read it from GGUF; open the model it was converted from."};
    }
    return Done{};
}

std::string Converter::unreadKeys() const
{
    constexpr int most = 6;
    int unread = 0;
    std::string text;
    const std::vector<FunctionKey> checked = functionKeys();
    for (const auto& [name, value] : m_header.metadata) {
        if (!name.starts_with("llama."))
            continue;
        const std::string_view key = std::string_view(name).substr(6);
        const bool isKnown = key == "rope.scaling.factor" || renamed(configKeys, key)
            || std::find(otherKeys.begin(), otherKeys.end(), key) != otherKeys.end()
            || std::any_of(checked.begin(), checked.end(),
                           [&](const FunctionKey& row) { return row.key == key; });
        if (!isKnown && unread++ < most)
            text += (text.empty() ? "'" : ", '") + name + "'";
    }
    if (unread > most)
        text += " and " + std::to_string(unread - most) + " more";
    return unread == 0 ? "" : text + (unread == 1 ? " is" : " are");
}

void Converter::addVocabulary()
{
    const GgufValue* tokens = find("tokenizer.ggml.tokens");
    if (!m_config.contains("vocab_size") && tokens
        && std::holds_alternative<std::vector<std::string>>(*tokens))
        m_config["vocab_size"] = std::get<std::vector<std::string>>(*tokens).size();
    for (const StoredTensor& tensor : m_header.tensors)
        if (tensor.name == "token_embd.weight" && tensor.shape.size() == 2)
            m_config["vocab_size"] = tensor.shape[0];
    const GgufValue* bos = find("tokenizer.ggml.bos_token_id");
    if (bos && std::holds_alternative<std::int64_t>(*bos))
        m_config["bos_token_id"] = std::get<std::int64_t>(*bos);
}

Result<Done> Converter::undoPermutation(StoredTensor& tensor) const
{
    const bool isQuery = tensor.name.find(".attn_q.") != std::string::npos;
    if (!isQuery && tensor.name.find(".attn_k.") == std::string::npos)
        return Done{};
    const std::int64_t heads = isQuery || count("num_key_value_heads") == 0 ? count("num_attention_heads")
                                                                            : count("num_key_value_heads");
    const std::int64_t rows = tensor.shape.empty() ? 0 : tensor.shape[0];
    const std::int64_t width = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
    if (heads <= 0 || tensor.shape.size() > 2 || rows <= 0 || rows % 2 != 0 || rows / 2 % heads != 0
        || (blockSize(tensor.dtype).numbers > 0 && tensor.shape.size() != 2))
        return Error{ErrorCode::Corrupt,
                     "Tensor '" + tensor.name + "' of '" + m_file + "' has shape " + shapeText(tensor.shape)
                         + ", which does not split into " + std::to_string(heads)
                         + " heads of rotary pairs."};
    const std::int64_t half = rows / heads / 2;
    tensor.axes = {{heads, 2 * half * width}, {2, width}, {half, 2 * width}};
    if (tensor.shape.size() == 2)
        tensor.axes.push_back({width, 1});
    return Done{};
}

Result<GgufModel> Converter::convert()
{
    const std::string architecture = word("general.architecture");
    if (architecture != "llama")
        return Error{
            ErrorCode::Unsupported,
            "File '" + m_file + "' holds a model of the architecture '" + architecture
                + "'; of GGUF files, this version reads 'llama'. Open the model it was converted from."};
    if (const Result<Done> keys = readKeys(); !keys)
        return keys.error();
    if (const Result<Done> others = refuseOthers(); !others)
        return others.error();
    if (const Result<Done> keys = refuseFunctionKeys(); !keys)
        return keys.error();
    readDirection();
    addVocabulary();
    m_config["model_type"] = "llama";
    m_config["hidden_act"] = "silu";
    GgufModel model;
    bool isTied = true;
    for (StoredTensor tensor : m_header.tensors) {
        if (const Result<Done> undone = undoPermutation(tensor); !undone)
            return undone.error();
        isTied = isTied && tensor.name != "output.weight";
        tensor.name = originalName(tensor.name);
        model.tensors.push_back(std::move(tensor));
    }
    if (const std::string unread = unreadKeys(); !unread.empty())
        model.warnings.push_back("In '" + m_file + "', of its metadata, " + unread + " unknown and ignored.");
    m_config["tie_word_embeddings"] = isTied;
    model.config = m_config.dump();
    return model;
}

} // namespace

Result<GgufModel> huggingFaceModel(const GgufHeader& header, std::string_view fileName)
{
    return Converter(header, fileName).convert();
}

} // namespace headwise
