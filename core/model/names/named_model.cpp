#include "core/model/names/named_model.h"

#include "core/files/json.h"
#include "core/model/config_reader.h"
#include "core/model/families/unknown_fields.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace headwise {
namespace {

using nlohmann::json;

struct SizeKey {
    std::string_view key;
    SizeKind size;
};

constexpr std::array sizeKeys{
    SizeKey{"n_heads", SizeKind::Heads},       SizeKey{"n_key_value_heads", SizeKind::KvHeads},
    SizeKey{"d_model", SizeKind::Model},       SizeKey{"d_head", SizeKind::Head},
    SizeKey{"d_mlp", SizeKind::Mlp},           SizeKey{"d_vocab", SizeKind::Vocabulary},
    SizeKey{"d_vocab_out", SizeKind::Outputs}, SizeKey{"n_ctx", SizeKind::Context},
};

/// Describes one file by one map.
class NamedDescription {
public:
    NamedDescription(const NamesMap& map, const WeightMap& file, const json& said);

    Result<NamedModel> describe();

private:
    Result<Done> findTensors();
    Result<Done> checkCounts() const;
    Result<Done> takeStack();
    Result<Done> checkHeads() const;
    void addUnknown(json& values);
    void addStructure(json& values) const;
    void addSizes(json& values);
    Result<Done> addParts();

    bool has(TensorKind kind) const { return m_kinds.contains(kind); }
    std::string nameOf(int tensor) const { return m_file.tensors()[static_cast<std::size_t>(tensor)].name; }
    Error missing(const std::string& what) const
    {
        return {ErrorCode::NotFound,
                "'" + m_file.path().string() + "' has no " + what + " according to the names map '"
                    + m_map.file + "'; fix the map or use another one."};
    }
    Error strangeLayers(const std::string& why) const
    {
        return {ErrorCode::NotFound,
                "'" + m_file.path().string() + "' has " + std::to_string(m_layers)
                    + (m_layers == 1 ? " layer" : " layers") + " according to the names map '" + m_map.file
                    + "', " + why + "; fix the map or use another one."};
    }

    const NamesMap& m_map;
    const WeightMap& m_file;
    json m_said; ///< Facts of the map and what the user says.
    std::vector<NamedTensor> m_tensors;
    std::set<TensorKind> m_kinds;
    int m_layers = 0;
    NamedSizes m_sizes;
    NamedModel m_model;
};

NamedDescription::NamedDescription(const NamesMap& map, const WeightMap& file, const json& said)
    : m_map(map)
    , m_file(file)
    , m_said(jsonValue(map.facts))
{
    m_said.update(said);
    m_model.map = map.file;
    m_model.architecture = map.name;
    m_model.notes = map.notes;
}

Result<Done> NamedDescription::findTensors()
{
    std::string prefix;
    std::ptrdiff_t most = -1;
    const auto fits = [&](const std::string& start, const std::string& name) {
        return name.starts_with(start)
            && std::any_of(m_map.rows.begin(), m_map.rows.end(), [&](const NamesRow& row) {
                   return matchName(row.name, std::string_view(name).substr(start.size())).has_value();
               });
    };
    for (const std::string& start : m_map.prefixes) {
        const auto count = std::count_if(m_file.tensors().begin(), m_file.tensors().end(),
                                         [&](const StoredTensor& t) { return fits(start, t.name); });
        if (count > most) {
            most = count;
            prefix = start;
        }
    }
    for (std::size_t i = 0; i < m_file.tensors().size(); ++i) {
        const std::string& name = m_file.tensors()[i].name;
        const NamesRow* found = nullptr;
        for (const NamesRow& row : m_map.rows) {
            const auto numbers = name.starts_with(prefix)
                ? matchName(row.name, std::string_view(name).substr(prefix.size()))
                : std::nullopt;
            if (!numbers)
                continue;
            if (found)
                return Error{ErrorCode::Corrupt,
                             "Tensor '" + name + "' fits two rows of the names map '" + m_map.file + "', '"
                                 + found->name + "' and '" + row.name + "'."};
            found = &row;
            m_tensors.push_back({&row, static_cast<int>(i), *numbers});
            for (const NamedRole* role : row.roles)
                m_kinds.insert(role->kind);
        }
        const bool isIgnored = std::any_of(m_map.ignored.begin(), m_map.ignored.end(),
                                           [&](const std::string& p) { return matchesPattern(name, p); });
        if (!found)
            (isIgnored ? m_model.ignored : m_model.others).push_back(name);
    }
    return Done{};
}

/// Every row that is about a layer must be about all of them, and every head of each.
Result<Done> NamedDescription::checkCounts() const
{
    using Place = std::pair<int, int>;
    std::map<const NamesRow*, std::set<Place>> places;
    std::map<const NamesRow*, int> heads;
    for (const NamedTensor& one : m_tensors) {
        places[one.row].insert({one.numbers.layer, one.numbers.head});
        heads[one.row] = std::max(heads[one.row], one.numbers.head + 1);
    }
    std::vector<std::string> absent;
    for (const auto& [row, found] : places) {
        const bool isOfLayer = row->roles[0]->name.starts_with("blocks.");
        const auto needed = static_cast<std::int64_t>(isOfLayer ? m_layers : 1) * std::max(1, heads.at(row));
        // A second norm is missing where attention and MLP share the first.
        const bool mayLack =
            row->roles[0]->kind == TensorKind::ln2_w || row->roles[0]->kind == TensorKind::ln2_b;
        if (static_cast<std::int64_t>(found.size()) != needed && !mayLack)
            absent.push_back("'" + row->name + "' (" + std::to_string(found.size()) + " of "
                             + std::to_string(needed) + ")");
    }
    if (!absent.empty())
        return missing("complete set of " + listed(absent));
    if (const auto roles = missingRoles(m_kinds); !roles.empty())
        return missing("tensor for " + std::string(tensorKindName(roles.front()->kind)));
    return Done{};
}

/// Takes the user's key "stack" where the map reads one of an encoder-decoder, its fact "open_stack".
Result<Done> NamedDescription::takeStack()
{
    const auto asked = m_said.find("stack");
    const auto read = m_said.find("open_stack");
    if (asked == m_said.end() || read == m_said.end())
        return Done{};
    if (*asked != *read && !asked->is_null())
        return Error{
            ErrorCode::Unsupported,
            "'" + m_file.path().string() + "' has no stack " + shownValue(*asked)
                + " according to the names map '" + m_map.file
                + "'; an encoder-decoder has decoder, encoder and cross, each with a map of its own."};
    m_said.erase("stack");
    return Done{};
}

/// Returns a size as the config's reader takes it; 0 for everything else.
std::int64_t saidSize(const json& value)
{
    const double number = value.is_number() ? value.get<double>() : 0;
    return number >= 1 && number <= mostTokens && number == std::floor(number)
        ? static_cast<std::int64_t>(number)
        : 0;
}

/// Adds what the presence of tensors tells.
void NamedDescription::addStructure(json& values) const
{
    values.erase("model_type"); // the keys are TransformerLens'
    values.erase("architectures");
    values["attn_only"] = !has(TensorKind::W_in);
    values["gated_mlp"] = has(TensorKind::W_gate);
    if (has(TensorKind::q_norm_w))
        values["use_qk_norm"] = true;
    if (has(TensorKind::W_pos) && !values.contains("positional_embedding_type"))
        values["positional_embedding_type"] = "standard";
    if (values.contains("normalization_type"))
        return;
    const auto any = [&](std::initializer_list<TensorKind> kinds) {
        return std::any_of(kinds.begin(), kinds.end(), [&](TensorKind kind) { return has(kind); });
    };
    if (any({TensorKind::ln1_b, TensorKind::ln1_post_b, TensorKind::ln_final_b}))
        values["normalization_type"] = "LN";
    else if (any({TensorKind::ln1_w, TensorKind::ln1_post_w, TensorKind::ln_final_w}))
        values["normalization_type"] = "RMS";
}

void NamedDescription::addSizes(json& values)
{
    values["n_layers"] = m_layers;
    for (const SizeKey& one : sizeKeys)
        if (m_sizes.of(one.size) > 0)
            values[std::string(one.key)] = m_sizes.of(one.size);
    if (values.value("n_key_value_heads", json()) == values.value("n_heads", json()))
        values.erase("n_key_value_heads");
    if (values.contains("n_ctx"))
        return;
    constexpr int usualContext = 2048; // nothing but the length of the longest prompt depends on it
    values["n_ctx"] = usualContext;
    m_model.assumed.push_back({"n_ctx", std::to_string(usualContext)});
}

void NamedDescription::addUnknown(json& values)
{
    const auto isSaid = [&](const char* key) { return values.contains(key); };
    if (m_sizes.of(SizeKind::Heads) == 0 || m_sizes.of(SizeKind::Head) == 0)
        m_model.unknown.emplace_back("n_heads");
    if (!isSaid("positional_embedding_type")) // answers from the weights do without
        values[unknownFieldsKey] = json::array({configFieldName(ConfigField::Positions)});
    if (!isSaid("normalization_type"))
        m_model.unknown.emplace_back("normalization_type");
    if (!has(TensorKind::W_U) && !isSaid("tie_word_embeddings"))
        m_model.unknown.emplace_back("tie_word_embeddings");
}

Result<Done> NamedDescription::addParts()
{
    if (m_sizes.of(SizeKind::Heads) > mostHeads / std::max(1, m_layers))
        return Error{ErrorCode::Corrupt,
                     "The names map '" + m_map.file + "' gives each of " + std::to_string(m_layers)
                         + " layers " + std::to_string(m_sizes.of(SizeKind::Heads))
                         + " heads, more than any model has."};
    std::set<std::tuple<TensorKind, int, int>> taken;
    for (const NamedTensor& one : m_tensors)
        for (std::size_t i = 0; i < one.row->roles.size(); ++i) {
            const NamedRole& role = *one.row->roles[i];
            const int layer = std::max(0, one.numbers.layer);
            const auto add = [&](int head, std::int64_t slot) {
                m_model.parts.push_back(
                    {role.kind, layer, head, one.tensor, m_sizes.slice(*one.row, i, slot)});
                return taken.insert({role.kind, layer, head}).second;
            };
            const auto heads = role.heads == SizeKind::One ? 1 : static_cast<int>(m_sizes.of(role.heads));
            bool isFirst = true;
            if (one.numbers.head >= 0)
                isFirst = add(one.numbers.head, 0);
            else
                for (int head = 0; head < heads; ++head)
                    isFirst = add(head, head) && isFirst;
            if (!isFirst)
                return Error{ErrorCode::Corrupt,
                             "Tensor '" + nameOf(one.tensor) + "' is the second for " + std::string(role.name)
                                 + " according to the names map '" + m_map.file + "'."};
        }
    return Done{};
}

/// Numbered heads must be as many as the sizes say, in every matrix of theirs.
Result<Done> NamedDescription::checkHeads() const
{
    std::map<std::string_view, std::int64_t> counts;
    for (const NamedTensor& one : m_tensors)
        for (const NamedRole* role : one.row->roles)
            counts[role->name] += one.numbers.head >= 0 ? 1 : 0;
    for (const NamedTensor& one : m_tensors)
        for (const NamedRole* role : one.row->roles)
            if (const std::int64_t needed = m_layers * m_sizes.of(role->heads);
                one.numbers.head >= 0 && counts.at(role->name) != needed)
                return missing("complete set of " + std::string(role->name) + " ("
                               + std::to_string(counts.at(role->name)) + " of " + std::to_string(needed)
                               + ")");
    return Done{};
}

Result<NamedModel> NamedDescription::describe()
{
    if (const auto found = findTensors(); !found)
        return found.error();
    for (const NamedTensor& one : m_tensors) {
        m_layers = std::max(m_layers, one.numbers.layer + 1);
        if (one.numbers.head < 0)
            continue;
        for (const NamedRole* role : one.row->roles)
            m_sizes.set(role->heads, std::max<std::int64_t>(m_sizes.of(role->heads), one.numbers.head + 1));
    }
    if (m_layers > mostLayers)
        return strangeLayers("more than the " + std::to_string(mostLayers) + " that Headwise accepts");
    if (m_said.contains("n_layers") && m_said["n_layers"] != m_layers)
        return strangeLayers("but n_layers is " + shownValue(m_said["n_layers"]));
    if (const auto complete = checkCounts(); !complete)
        return complete.error();
    if (const auto taken = takeStack(); !taken)
        return taken.error();
    json values = jsonValue(m_map.assumed);
    for (const auto& [key, value] : values.items())
        if (!m_said.contains(key))
            m_model.assumed.push_back(
                {key, value.is_string() ? value.get<std::string>() : shownValue(value)});
    values.update(m_said);
    for (const SizeKey& one : sizeKeys)
        if (const auto said = values.find(one.key); said != values.end() && saidSize(*said) > 0)
            m_sizes.set(one.size, saidSize(*said));
    if (const auto ranks = m_sizes.checkRanks(m_tensors, m_file, m_map.file); !ranks)
        return ranks.error();
    m_sizes.solve(m_tensors, m_file);

    addStructure(values);
    addSizes(values);
    addUnknown(values);
    if (has(TensorKind::W_U))
        std::erase_if(m_model.assumed,
                      [](const AssumedKey& one) { return one.key == "tie_word_embeddings"; });
    m_model.config = jsonText(values);
    if (!m_model.unknown.empty())
        return std::move(m_model);
    if (const auto checked = m_sizes.check(m_tensors, m_file, m_map.file); !checked)
        return checked.error();
    if (const auto complete = checkHeads(); !complete)
        return complete.error();
    if (const auto added = addParts(); !added)
        return added.error();
    return std::move(m_model);
}

} // namespace

Result<NamedModel> describeByNames(const NamesMap& map, const WeightMap& file, const json& said)
{
    return NamedDescription(map, file, said).describe();
}

} // namespace headwise
