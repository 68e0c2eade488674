#include "core/model/names/names_map.h"

#include "core/files/json.h"
#include "core/model/config_reader.h"
#include "core/model/names/names_row.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace headwise {
namespace {

using nlohmann::json;

constexpr int newestVersion = 1;
constexpr std::string_view versionKey = "headwise_names";
constexpr std::size_t mostRows = 500;
constexpr std::size_t mostDigits = 6; // of a layer or head

/// Config keys that a layout may settle: those of TransformerLens that change the function, and its sizes.
constexpr std::array factKeys{"n_layers",
                              "n_heads",
                              "n_key_value_heads",
                              "d_model",
                              "d_head",
                              "d_mlp",
                              "d_vocab",
                              "d_vocab_out",
                              "n_ctx",
                              "normalization_type",
                              "eps",
                              "final_rms",
                              "open_stack",
                              "embedding_times_root_d_model",
                              "positions_over_root_d_model",
                              "rmsnorm_uses_offset",
                              "norm_placement",
                              "use_normalization_before_and_after",
                              "act_fn",
                              "parallel_attn_mlp",
                              "attention_dir",
                              "positional_embedding_type",
                              "shortformer_pos",
                              "rotary_dim",
                              "rotary_base",
                              "rotary_adjacent_pairs",
                              "use_attn_scale",
                              "attn_scale",
                              "scale_attn_by_inverse_layer_idx",
                              "attn_scores_soft_cap",
                              "output_logits_soft_cap",
                              "use_qk_norm",
                              "tie_word_embeddings",
                              "bos_token_id",
                              "model_name"};

/// Reads one map. The first fault ends it.
class MapReader {
public:
    explicit MapReader(std::string file)
        : m_file(std::move(file))
    {
    }

    Result<NamesMap> read(const json& top);

private:
    Error fault(const std::string& where, const std::string& what) const
    {
        return namesFault(m_file, where, what);
    }
    Result<Done> checkKeys(const json& object, std::initializer_list<const char*> known,
                           const std::string& where) const
    {
        return checkNamesKeys(object, known, m_file, where);
    }
    Result<std::vector<std::string>> texts(const json& top, const char* key) const;
    Result<std::string> facts(const json& top, const char* key) const;
    Result<Done> checkHead(const json& top) const;
    Result<NamesConfigFile> configFile(const json& top) const;
    Result<Done> addLists(const json& top, NamesMap& map) const;

    std::string m_file;
};

Result<std::vector<std::string>> MapReader::texts(const json& top, const char* key) const
{
    std::vector<std::string> all;
    const auto found = top.find(key);
    if (found == top.end())
        return all;
    if (!found->is_array() || found->size() > mostRows)
        return fault(inQuotes(key), "must be a list of texts");
    for (const json& one : *found) {
        if (!one.is_string())
            return fault(inQuotes(key), "must be a list of texts, found " + shownValue(one));
        all.push_back(one.get<std::string>());
    }
    return all;
}

Result<std::string> MapReader::facts(const json& top, const char* key) const
{
    const auto found = top.find(key);
    if (found == top.end())
        return std::string("{}");
    if (!found->is_object())
        return fault(inQuotes(key), "must be an object of config keys, found " + shownValue(*found));
    for (const auto& [name, value] : found->items()) {
        if (std::find(factKeys.begin(), factKeys.end(), name) == factKeys.end())
            return fault(inQuotes(key), "has the unknown config key " + inQuotes(name));
        if (value.is_structured())
            return fault(inQuotes(key),
                         "gives " + inQuotes(name) + " a list or an object, expected one value");
    }
    return found->dump();
}

Result<Done> MapReader::checkHead(const json& top) const
{
    if (!top.is_object() || !top.contains(versionKey))
        return fault("it", "is not a names map: there is no " + inQuotes(versionKey));
    const json& version = top[std::string(versionKey)];
    if (!version.is_number_unsigned() || version == 0u)
        return fault(inQuotes(versionKey), "is " + shownValue(version) + ", expected 1");
    if (version > newestVersion)
        return Error{ErrorCode::Unsupported,
                     "Names map '" + m_file + "' has version " + shownValue(version)
                         + ", but this Headwise reads version 1; update Headwise."};
    for (const char* key : {"name", "comment"})
        if (top.contains(key) && (!top[key].is_string() || top[key] == ""))
            return fault(inQuotes(key), "must be a text");
    return checkKeys(top,
                     {"headwise_names", "name", "comment", "prefixes", "tensors", "ignore", "facts",
                      "assumed", "config", "notes"},
                     "it");
}

Result<NamesConfigFile> MapReader::configFile(const json& top) const
{
    NamesConfigFile read;
    const auto found = top.find("config");
    if (found == top.end())
        return read;
    if (!found->is_object())
        return fault("'config'", "must be an object with 'file' and 'keys'");
    if (const auto known = checkKeys(*found, {"file", "keys", "none"}, "'config'"); !known)
        return known.error();
    const json file = found->value("file", json()), keys = found->value("keys", json());
    // A map comes from strangers: it may point at a file in the folder of the weights and at no other.
    if (!file.is_string() || file.get_ref<const std::string&>().empty()
        || file.get_ref<const std::string&>().find_first_of(std::string_view("/\\:\0", 4))
            != std::string::npos
        || file.get_ref<const std::string&>().starts_with(".") || !keys.is_object())
        return fault("'config'", "must have 'file', the name of a file beside the weights, and 'keys'");
    read.file = file.get<std::string>();
    for (const auto& [key, value] : keys.items()) {
        if (std::find(factKeys.begin(), factKeys.end(), key) == factKeys.end() || !value.is_string())
            return fault("'config'",
                         "has the unknown config key " + inQuotes(key)
                             + ", or its name in the file is not a text");
        read.keys[key] = value.get<std::string>();
    }
    const auto none = texts(*found, "none");
    if (!none)
        return none.error();
    read.none = *none;
    return read;
}

Result<Done> MapReader::addLists(const json& top, NamesMap& map) const
{
    const auto prefixes = texts(top, "prefixes"), ignored = texts(top, "ignore"), notes = texts(top, "notes");
    for (const auto* list : {&prefixes, &ignored, &notes})
        if (!*list)
            return list->error();
    const auto certain = facts(top, "facts"), assumed = facts(top, "assumed");
    for (const auto* object : {&certain, &assumed})
        if (!*object)
            return object->error();
    const auto config = configFile(top);
    if (!config)
        return config.error();
    if (!prefixes->empty())
        map.prefixes = *prefixes;
    map.ignored = *ignored;
    map.notes = *notes;
    map.facts = *certain;
    map.assumed = *assumed;
    map.config = *config;
    return Done{};
}

Result<NamesMap> MapReader::read(const json& top)
{
    if (const auto known = checkHead(top); !known)
        return known.error();
    NamesMap map;
    map.file = m_file;
    map.name = top.value("name", "custom");
    if (const auto added = addLists(top, map); !added)
        return added.error();
    const auto rows = top.find("tensors");
    if (rows == top.end() || !rows->is_array() || rows->empty() || rows->size() > mostRows)
        return fault("'tensors'", "must be a list of rows, each with 'name' and 'is'");
    for (std::size_t i = 0; i < rows->size(); ++i) {
        Result<NamesRow> one = readNamesRow((*rows)[i], i, m_file);
        if (!one)
            return one.error();
        map.rows.push_back(*std::move(one));
    }
    return map;
}

} // namespace

Result<NamesMap> readNamesMap(std::string_view text, const std::string& file)
{
    const Result<json> top = parseJson(text, file);
    if (!top)
        return top.error();
    return MapReader(file).read(*top);
}

namespace {

/// A word of a pattern that stands for a number: in the tensor's name it is `factor` · layer + `more`, or the head.
struct NumberWord {
    std::string_view text;
    int factor, more; ///< factor 0: the head
};

constexpr NumberWord numberWords[]{
    {"{layer}", 1, 0}, {"{2*layer}", 2, 0}, {"{2*layer+1}", 2, 1}, {"{head}", 0, 0}};

} // namespace

std::optional<NameNumbers> matchName(std::string_view pattern, std::string_view name)
{
    NameNumbers numbers;
    while (!pattern.empty()) {
        const NumberWord* word =
            std::find_if(std::begin(numberWords), std::end(numberWords),
                         [&](const NumberWord& one) { return pattern.starts_with(one.text); });
        if (word == std::end(numberWords)) {
            if (name.empty() || name[0] != pattern[0])
                return std::nullopt;
            name.remove_prefix(1);
            pattern.remove_prefix(1);
            continue;
        }
        std::size_t digits = 0;
        int value = 0;
        while (digits < name.size() && digits <= mostDigits && name[digits] >= '0' && name[digits] <= '9')
            value = 10 * value + (name[digits++] - '0');
        if (digits == 0 || digits > mostDigits || (digits > 1 && name[0] == '0'))
            return std::nullopt;
        if (word->factor > 0 && value % word->factor != word->more)
            return std::nullopt;
        if (word->factor > 0)
            numbers.layer = value / word->factor;
        else
            numbers.head = value;
        name.remove_prefix(digits);
        pattern.remove_prefix(word->text.size());
    }
    return name.empty() ? std::optional(numbers) : std::nullopt;
}

} // namespace headwise
