#include "core/checkpoint/gguf_config.h"

#include "core/checkpoint/gguf_value.h"
#include "core/files/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace headwise {
namespace {

using nlohmann::json;

/// Keys behind the architecture's name, and their names in a Llama's config.json.
constexpr GgufRename configKeys[] = {
    {"block_count", "num_hidden_layers"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"context_length", "max_position_embeddings"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"rope.freq_base", "rope_theta"},
    {"vocab_size", "vocab_size"},
};
constexpr std::string_view rmsEps = "attention.layer_norm_rms_epsilon",
                           layerEps = "attention.layer_norm_epsilon";

/// Keys behind the architecture's name that do not change the function, or that are read elsewhere by name.
constexpr std::string_view otherKeys[] = {"expert_count",
                                          "expert_used_count",
                                          "rope.scaling.type",
                                          "rope.scaling.factor",
                                          "rope.scaling.finetuned",
                                          "rope.scaling.original_context_length",
                                          "rope.dimension_count",
                                          "tensor_data_layout",
                                          "pooling_type",
                                          rmsEps,
                                          layerEps,
                                          "attention.sliding_window_pattern"};

/// A key behind the architecture's name that changes the function, unless its value asks for what is done anyway.
struct FunctionKey {
    std::string_view key;
    double neutral = 0;
    bool zeroIsNone = true; ///< llama.cpp reads 0 as if the key were absent.
};

/// Writes one file's metadata as a config. It refuses anything that a config.json cannot express.
class GgufConfigWriter {
public:
    GgufConfigWriter(const GgufHeader& header, std::string_view fileName,
                     const GgufArchitecture& architecture)
        : m_header(header)
        , m_file(fileName)
        , m_architecture(architecture)
    {
    }

    Result<GgufConfig> write();

private:
    std::string key(std::string_view part) const
    {
        return std::string(m_architecture.name) + "." + std::string(part);
    }
    const GgufValue* find(const std::string& name) const
    {
        const auto value = m_header.metadata.find(name);
        return value == m_header.metadata.end() ? nullptr : &value->second;
    }
    std::optional<double> number(std::string_view part) const
    {
        const GgufValue* value = find(key(part));
        const std::optional<json> found = value ? ggufNumber(*value) : std::nullopt;
        return found ? std::optional(found->get<double>()) : std::nullopt;
    }
    std::string word(const std::string& name) const
    {
        const GgufValue* value = find(name);
        return value && std::holds_alternative<std::string>(*value) ? std::get<std::string>(*value) : "";
    }
    bool hasTensor(std::string_view name) const
    {
        return std::any_of(m_header.tensors.begin(), m_header.tensors.end(),
                           [&](const StoredTensor& tensor) { return tensor.name == name; });
    }
    std::int64_t count(const char* name) const
    {
        const auto found = m_config.find(name);
        return found != m_config.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    }
    double headSize() const; ///< 0 if the sizes do not tell.
    std::int64_t kvHeads() const
    {
        return count("num_key_value_heads") > 0 ? count("num_key_value_heads") : count("num_attention_heads");
    }
    GgufRename epsKey() const { return {m_architecture.hasLayerNorm ? layerEps : rmsEps, "rms_norm_eps"}; }

    Result<Done> readKey(const GgufRename& row);
    Result<Done> readKeys();
    void readDirection();
    Result<Done> refuseOthers() const;
    std::vector<FunctionKey> functionKeys() const;
    Result<Done> refuseFunctionKeys() const;
    std::string unreadKeys() const; ///< Lists the first six, with a verb; empty if all keys were read.
    void addVocabulary();
    void addRotation();
    void addFamilyKeys();
    void spellAsTheFamily();

    const GgufHeader& m_header;
    std::string m_file;
    const GgufArchitecture& m_architecture;
    json m_config = json::object(); ///< Until spellAsTheFamily(), with the keys of a Llama.
};

double GgufConfigWriter::headSize() const
{
    const auto width = static_cast<double>(count("hidden_size"));
    const auto heads = static_cast<double>(count("num_attention_heads"));
    const auto given = static_cast<double>(count("head_dim"));
    return given > 0 ? given : heads > 0 ? std::floor(width / heads) : 0;
}

Result<Done> GgufConfigWriter::readKey(const GgufRename& row)
{
    const GgufValue* value = find(key(row.from));
    if (!value)
        return Done{};
    std::optional<json> found = ggufNumber(*value);
    if (!found)
        return Error{ErrorCode::Unsupported,
                     "In '" + m_file + "' the key '" + key(row.from)
                         + "' is not a number, or differs between layers, which this version does not read."};
    if (row.to == "sliding_window" && *found == 0) // llama.cpp writes null so
        return Done{};
    if (row.to == "use_parallel_residual")
        found = json(*found != 0);
    m_config[std::string(row.to)] = *std::move(found);
    return Done{};
}

Result<Done> GgufConfigWriter::readKeys()
{
    std::vector<GgufRename> rows(std::begin(configKeys), std::end(configKeys));
    rows.push_back(epsKey());
    rows.insert(rows.end(), m_architecture.keys.begin(), m_architecture.keys.end());
    for (const GgufRename& row : rows)
        if (const Result<Done> read = readKey(row); !read)
            return read;
    for (const std::string_view needed :
         {"num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "rms_norm_eps"})
        if (!m_config.contains(needed))
            return Error{ErrorCode::Corrupt,
                         "File '" + m_file + "' has no '" + std::string(needed)
                             + "' in its metadata; convert the model again with a current llama.cpp."};
    return Done{};
}

/// Without a causal mask the function is that of `attention_dir`, a key of config.json that every family understands.
void GgufConfigWriter::readDirection()
{
    if (number("attention.causal") == 0.0)
        m_config["attention_dir"] = "bidirectional";
}

Result<Done> GgufConfigWriter::refuseOthers() const
{
    const GgufValue* experts = find(key("expert_count"));
    const std::string scaling = word(key("rope.scaling.type"));
    const bool hasExperts = experts && *experts != GgufValue(std::int64_t{0});
    const bool isRead = scaling == "linear" && m_architecture.scalesLinearly;
    if (!hasExperts && (scaling.empty() || scaling == "none" || isRead))
        return Done{};
    return Error{
        ErrorCode::Unsupported,
        "File '" + m_file + "' "
            + (hasExperts ? "is a mixture of experts" : "scales its rotary positions ('" + scaling + "')")
            + ", which this version does not read from GGUF; open the model it was converted from."};
}

/// Source: llama.cpp `src/llama-model.cpp`, where the graphs use these keys.
std::vector<FunctionKey> GgufConfigWriter::functionKeys() const
{
    const auto width = static_cast<double>(count("hidden_size"));
    const double size = headSize();
    std::vector<FunctionKey> keys{{"rope.dimension_count", size, false},
                                  {"attention.value_length", size, false},
                                  {"embedding_length_out", width},
                                  {"rope.scale_linear", 1},
                                  {"rope.scaling.attn_factor", 1},
                                  {"attention.scale", size > 0 ? 1 / std::sqrt(size) : 0},
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
    if (word(key("rope.scaling.type")) != "none" && !m_architecture.scalesLinearly)
        keys.push_back({"rope.scaling.factor", 1}); // llama.cpp's default is the type linear.
    std::erase_if(keys, [this](const FunctionKey& row) {
        return newName(m_architecture.keys, row.key).has_value()
            || (row.key == "rope.dimension_count" && m_architecture.rotatesPart);
    });
    return keys;
}

Result<Done> GgufConfigWriter::refuseFunctionKeys() const
{
    for (const FunctionKey& row : functionKeys()) {
        const GgufValue* value = find(key(row.key));
        if (!value)
            continue;
        const double found = number(row.key).value_or(std::nan(""));
        const bool isNeutral = std::abs(found - row.neutral) <= 1e-5 * std::abs(row.neutral)
            || (row.zeroIsNone && found == 0)
            || (row.key == "attention.causal" && found == 0) // of readDirection
            || (row.key == "attention.sliding_window" && count("max_position_embeddings") > 0
                && found >= static_cast<double>(count("max_position_embeddings")));
        if (!isNeutral)
            return Error{
                ErrorCode::Unsupported,
                "In '" + m_file + "', '" + key(row.key) + "' = " + ggufShown(*value)
                    + " changes the model's function and this version does not read it from GGUF; open the model it was converted from."};
    }
    return Done{};
}

std::string GgufConfigWriter::unreadKeys() const
{
    constexpr int most = 6;
    int unread = 0;
    std::string text;
    const std::vector<FunctionKey> checked = functionKeys();
    const std::string prefix = key("");
    for (const auto& [name, value] : m_header.metadata) {
        if (!name.starts_with(prefix))
            continue;
        const std::string_view part = std::string_view(name).substr(prefix.size());
        const auto isPart = [part](std::string_view other) { return other == part; };
        const bool isKnown = newName(m_architecture.keys, part) || newName(configKeys, part)
            || std::any_of(std::begin(otherKeys), std::end(otherKeys), isPart)
            || std::any_of(checked.begin(), checked.end(),
                           [&](const FunctionKey& row) { return isPart(row.key); });
        if (!isKnown && unread++ < most)
            text += (text.empty() ? "'" : ", '") + name + "'";
    }
    if (unread > most)
        text += " and " + std::to_string(unread - most) + " more";
    return unread == 0 ? "" : text + (unread == 1 ? " is" : " are");
}

void GgufConfigWriter::addVocabulary()
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

/// The rotated part of a head, and a linear scaling or divisors of the frequencies.
void GgufConfigWriter::addRotation()
{
    const double size = headSize();
    if (const auto rotated = number("rope.dimension_count");
        rotated && m_architecture.rotatesPart && size > 0) {
        const double part = *rotated / size; // the family takes the whole number below the product
        m_config["partial_rotary_factor"] =
            std::floor(size * part) < *rotated ? std::nextafter(part, 2.0) : part;
    }
    const auto factor = number("rope.scaling.factor");
    if (m_architecture.scalesLinearly && factor && *factor != 0 && word(key("rope.scaling.type")) != "none")
        m_config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", *factor}};
    if (m_header.rotaryDivisors.empty())
        return;
    // As llama.cpp uses them: at every length, and with cosine and sine as they are.
    constexpr std::int64_t standardContext = 2048;
    m_config["rope_scaling"] = {
        {"rope_type", "longrope"},
        {"short_factor", m_header.rotaryDivisors},
        {"factor", 1},
        {"attention_factor", 1},
        {"original_max_position_embeddings", std::max(standardContext, count("max_position_embeddings"))}};
}

/// Keys of a family that GGUF tells by other means.
void GgufConfigWriter::addFamilyKeys()
{
    const std::int64_t heads = count("num_attention_heads");
    if (m_architecture.statesHeads && heads > 0) {
        m_config.emplace("num_key_value_heads", heads);
        if (const std::int64_t size = count("hidden_size") / heads; size > 0)
            m_config.emplace("head_dim", size);
    }
    if (m_architecture.normsWithOne)
        m_config["rmsnorm_uses_offset"] = false;
    if (m_architecture.layersOfWideScores > 0) {
        const bool isWide = heads > 0 && count("num_hidden_layers") == m_architecture.layersOfWideScores;
        m_config["query_pre_attn_scalar"] =
            isWide ? static_cast<double>(count("hidden_size")) / static_cast<double>(heads) : headSize();
    }
    for (const GgufRename& flag : m_architecture.flags)
        m_config[std::string(flag.to)] = hasTensor(flag.from);
    if (m_architecture.hasGroupedForm) {
        const bool areGrouped = kvHeads() != 1 && kvHeads() != heads;
        m_config["new_decoder_architecture"] = areGrouped;
        if (areGrouped)
            m_config["num_ln_in_parallel_attn"] = hasTensor("blk.0.attn_norm_2.weight") ? 2 : 1;
        m_config["multi_query"] = kvHeads() == 1;
    }
}

void GgufConfigWriter::spellAsTheFamily()
{
    m_config["model_type"] = m_architecture.type;
    m_config["tie_word_embeddings"] = !hasTensor("output.weight");
    m_config.update(jsonValue(m_architecture.constants));
    for (const GgufRename& row : m_architecture.config) {
        const auto found = m_config.find(row.from);
        if (found == m_config.end())
            continue;
        json value = *found;
        m_config.erase(found);
        if (!row.to.empty())
            m_config[std::string(row.to)] = std::move(value);
    }
}

Result<GgufConfig> GgufConfigWriter::write()
{
    if (const Result<Done> keys = readKeys(); !keys)
        return keys.error();
    if (const Result<Done> others = refuseOthers(); !others)
        return others.error();
    if (const Result<Done> keys = refuseFunctionKeys(); !keys)
        return keys.error();
    readDirection();
    addVocabulary();
    addRotation();
    addFamilyKeys();
    GgufConfig config{.heads = count("num_attention_heads"),
                      .kvHeads = kvHeads(),
                      .hasSecondNorm = hasTensor("blk.0.attn_norm_2.weight")};
    if (const std::string unread = unreadKeys(); !unread.empty())
        config.warning = "In '" + m_file + "', of its metadata, " + unread + " unknown and ignored.";
    spellAsTheFamily();
    config.text = jsonText(m_config);
    return config;
}

} // namespace

std::optional<std::string> newName(std::span<const GgufRename> names, std::string_view name)
{
    for (const GgufRename& row : names)
        if (row.from == name)
            return std::string(row.to);
    return std::nullopt;
}

Result<GgufConfig> ggufConfig(const GgufHeader& header, std::string_view fileName,
                              const GgufArchitecture& architecture)
{
    return GgufConfigWriter(header, fileName, architecture).write();
}

} // namespace headwise
