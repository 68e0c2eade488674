#include "core/model/names/names_proposal.h"

#include "core/files/json.h"
#include "core/model/config_reader.h"
#include "core/model/names/names_map.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

namespace headwise {
namespace {

using nlohmann::ordered_json;

bool isNumber(const std::string& word)
{
    return !word.empty() && word.size() <= 6
        && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> partsOf(const std::string& name, std::string_view separators)
{
    std::vector<std::string> parts(1);
    for (const char c : name)
        if (separators.find(c) != std::string_view::npos)
            parts.emplace_back();
        else
            parts.back() += c;
    return parts;
}

/// Returns the length of the word before the number in a part such as "block3" or "layer_3"; 0 if it is no such part.
std::size_t layerWordOf(const std::string& part)
{
    const std::size_t digits = part.find_last_not_of("0123456789") + 1;
    std::string word = part.substr(0, digits);
    while (word.ends_with('_') || word.ends_with('-'))
        word.pop_back();
    for (char& c : word)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto isWord = [&](const char* end) { return word.ends_with(end); };
    constexpr std::array words{"block", "blocks", "layer", "layers", "blk"};
    return isNumber(part.substr(digits)) && std::any_of(words.begin(), words.end(), isWord) ? digits : 0;
}

/// "blocks.3.sa.heads.1.key.weight" → "blocks.{layer}.sa.heads.{head}.key.weight"
std::string patternOf(const std::string& name)
{
    std::string pattern;
    bool hasLayer = false;
    std::string before;
    for (const std::string& part : partsOf(name, ".")) {
        std::string shown = part;
        if (isNumber(part) && !hasLayer && !before.empty()) {
            hasLayer = true;
            shown = "{layer}";
        } else if (isNumber(part) && hasLayer && before.find("head") != std::string::npos) {
            shown = "{head}";
        } else if (const std::size_t word = layerWordOf(part); word > 0 && !hasLayer) {
            hasLayer = true;
            shown = part.substr(0, word) + "{layer}";
        }
        pattern += (pattern.empty() && before.empty() ? "" : ".") + shown;
        before = part;
    }
    return pattern;
}

/// Tensors of one pattern.
struct NameGroup {
    std::string pattern;
    std::vector<std::int64_t> shape; ///< The first one's.
    bool isFloat = true, isLayer = false, hasHead = false;
    std::set<std::string>
        words; ///< Lower case, split at dots and underscores; those of two letters too: "w_q".

    bool any(std::initializer_list<const char*> list) const
    {
        return std::any_of(list.begin(), list.end(), [&](const char* word) { return words.contains(word); });
    }
    bool contains(std::initializer_list<const char*> list) const
    {
        return std::any_of(list.begin(), list.end(),
                           [&](const char* part) { return lower.find(part) != std::string::npos; });
    }
    std::string lower;
};

NameGroup groupOf(const StoredTensor& tensor)
{
    NameGroup group;
    group.pattern = patternOf(tensor.name);
    group.shape = tensor.shape;
    group.isFloat = tensor.dtype == DType::F16 || tensor.dtype == DType::BF16 || tensor.dtype == DType::F32
        || tensor.dtype == DType::F64;
    group.isLayer = group.pattern.find("{layer}") != std::string::npos;
    group.hasHead = group.pattern.find("{head}") != std::string::npos;
    for (const char c : group.pattern)
        group.lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const std::string& part : partsOf(group.lower, "._"))
        group.words.insert(part);
    for (const std::string& part : partsOf(group.lower, "."))
        group.words.insert(part);
    return group;
}

bool isAttention(const NameGroup& group)
{
    return group.contains({"att", "self"}) || group.any({"sa", "heads", "mha"});
}

/// The roles of a layer's matrix, or of its bias if there is one; "?" without a guess.
std::vector<std::string> matrixRoles(const NameGroup& g, bool isBias)
{
    const std::string attention = isBias ? "attn.b_" : "attn.W_", mlp = isBias ? "mlp.b_" : "mlp.W_";
    if (g.contains({"qkv", "c_attn", "in_proj", "query_key_value"}))
        return {attention + "Q", attention + "K", attention + "V"};
    if (g.any({"q", "wq", "query", "queries"}))
        return {attention + "Q"};
    if (g.any({"k", "wk", "key", "keys"}))
        return {attention + "K"};
    if (g.any({"v", "wv", "value", "values"}))
        return {attention + "V"};
    if (g.any({"gate", "wg"}))
        return {isBias ? "mlp.b_gate" : "mlp.W_gate"};
    if (isAttention(g))
        return g.any({"o", "wo", "out", "proj", "dense", "output"}) ? std::vector{attention + "O"}
                                                                    : std::vector<std::string>{"?"};
    if (g.any({"out", "down", "fc2", "w2", "linear2", "lin2", "proj", "4h", "2"}) && !g.any({"0", "fc1"}))
        return {g.contains({"h_to_4h"}) ? mlp + "in" : mlp + "out"};
    if (g.any({"in", "up", "fc1", "fc", "w1", "linear1", "lin1", "0"}))
        return {mlp + "in"};
    return {"?"};
}

std::vector<std::string> layerRoles(const NameGroup& g)
{
    const bool isVector = g.shape.size() == 1;
    const bool isShift = g.any({"bias", "b", "beta", "shift"}) || g.contains({"b_"});
    if (isVector && (g.contains({"norm"}) || g.contains({"ln"}))) {
        const bool isSecond = g.contains({"2", "ffn", "mlp", "post", "final"}) || g.any({"ff"});
        const std::string name = isSecond ? "ln2" : "ln1";
        return {name + (isShift ? ".b" : ".w")};
    }
    return matrixRoles(g, isVector || (g.shape.size() == 2 && g.contains({"b_q", "b_k", "b_v"})));
}

std::vector<std::string> rolesOfGroup(const NameGroup& g)
{
    if (g.isLayer) {
        std::vector<std::string> roles = layerRoles(g);
        for (std::string& role : roles)
            if (role != "?")
                role.insert(0, "blocks.{layer}.");
        return roles;
    }
    const bool isOutput =
        g.contains({"unembed", "head", "output", "w_u", "b_u"}) || g.any({"out", "decoder"});
    if (g.shape.size() == 1) {
        if (g.contains({"norm", "ln"}))
            return {g.any({"bias", "b", "beta", "shift"}) ? "ln_final.b" : "ln_final.w"};
        return {isOutput ? "unembed.b_U" : "?"};
    }
    if (g.contains({"pos", "wpe"}))
        return {"pos_embed.W_pos"};
    if (isOutput)
        return {"unembed.W_U"};
    return {g.contains({"emb", "wte", "tok", "w_e"}) ? "embed.W_E" : "?"};
}

bool isNoWeight(const NameGroup& g)
{
    return !g.isFloat || g.shape.empty()
        || g.contains({"mask", "tril", "inv_freq", "freqs", "rotary", "exp_avg", "optimizer", "running_"})
        || (g.isLayer && g.shape.size() >= 4);
}

/// A guess of the axes and what is doubtful about it.
struct GuessedAxes {
    std::string axes; ///< Empty: the usual ones.
    std::string doubt;
};

GuessedAxes guessAxes(const NameGroup& g, const NamedRole& role, bool isFused, std::int64_t dModel)
{
    const std::vector<std::int64_t>& shape = g.shape;
    const bool isMatrix = role.rows != SizeKind::One;
    if (shape.size() == 3 && role.heads != SizeKind::One && isMatrix && !isFused) {
        if (shape[0] == dModel && shape[2] != dModel)
            return {"d_model, heads, d_head", "heads and d_head may be the other way round"};
        return shape[2] == dModel && shape[1] != dModel
            ? GuessedAxes{"heads, d_head, d_model", ""}
            : GuessedAxes{role.kind == TensorKind::W_O ? "heads, d_head, d_model" : "heads, d_model, d_head",
                          shape[1] == shape[2] ? "d_model and d_head are equal" : ""};
    }
    if (shape.size() == 2 && !isMatrix && role.heads != SizeKind::One && !g.hasHead)
        return {"heads, d_head", ""};
    const std::size_t rank = isMatrix ? 2 : 1;
    if (shape.size() != rank)
        return {"", "it has " + std::to_string(shape.size()) + " axes, expected " + std::to_string(rank)};
    std::string doubt = isFused ? "the order may be heads*parts*d_head, one head after the other" : "";
    if (!isMatrix)
        return {"", doubt};
    const std::size_t usual = std::string(role.usual).starts_with("d_model") ? 0 : 1;
    if (shape[0] == shape[1])
        return {"", "both axes have the same size, so it may be transposed"};
    return {shape[usual] == dModel ? "" : "transposed", doubt};
}

/// The size that most kinds of tensors have.
std::int64_t likelyWidth(const std::vector<NameGroup>& groups)
{
    std::map<std::int64_t, int> counts;
    for (const NameGroup& group : groups)
        for (const std::int64_t size : std::set<std::int64_t>(group.shape.begin(), group.shape.end()))
            counts[size] += isNoWeight(group) ? 0 : 1;
    std::int64_t width = 0;
    for (const auto& [size, count] : counts)
        if (size > 1 && (width == 0 || count > counts[width]))
            width = size;
    return width;
}

const NamedRole* roleNamed(const std::string& name)
{
    const auto all = namedRoles();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const NamedRole& role) { return role.name == name; });
    return found == all.end() ? nullptr : &*found;
}

/// Builds the map of a file.
class NamesProposer {
public:
    explicit NamesProposer(const WeightMap& file)
    {
        std::set<std::string> seen;
        for (const StoredTensor& tensor : file.tensors())
            if (NameGroup group = groupOf(tensor); seen.insert(group.pattern).second && seen.size() <= 500)
                m_groups.push_back(std::move(group));
    }

    NamesProposal propose();

private:
    void addRow(const NameGroup& group);
    ordered_json assumed();

    std::vector<NameGroup> m_groups;
    std::int64_t m_width = 0;
    std::map<std::string, std::string> m_taken; ///< Role → pattern.
    ordered_json m_rows = ordered_json::array(), m_ignored = ordered_json::array();
    NamesProposal m_proposal;
};

void NamesProposer::addRow(const NameGroup& group)
{
    std::vector<std::string> roles = rolesOfGroup(group);
    const NamedRole* role = roleNamed(roles[0]);
    const std::string shape = "'" + group.pattern + "' " + shapeText(group.shape);
    GuessedAxes guess;
    if (!role) {
        roles = {"?"};
        guess.doubt = "no role is known for it";
    } else if (const auto taken = m_taken.find(roles[0]); taken != m_taken.end()) {
        guess.doubt = "'" + taken->second + "' is " + roles[0] + " already";
        roles = {"?"};
    } else {
        m_taken[roles[0]] = group.pattern;
        guess = guessAxes(group, *role, roles.size() > 1, m_width);
    }
    ordered_json row{{"name", group.pattern}};
    row["is"] = roles.size() == 1 ? ordered_json(roles[0]) : ordered_json(roles);
    if (!guess.axes.empty())
        row["axes"] = guess.axes;
    if (!guess.doubt.empty()) {
        row["comment"] = shapeText(group.shape) + ": " + guess.doubt;
        m_proposal.questions.push_back(shape + ": " + guess.doubt + ".");
    }
    m_rows.push_back(row);
}

ordered_json NamesProposer::assumed()
{
    ordered_json assumed = ordered_json::object();
    const auto has = [&](const char* role) { return m_taken.contains(role); };
    if (has("blocks.{layer}.ln1.b") || has("ln_final.b"))
        assumed["normalization_type"] = "LN";
    else if (has("blocks.{layer}.ln1.w") || has("ln_final.w"))
        assumed["normalization_type"] = "RMS";
    else
        assumed["normalization_type"] = nullptr;
    if (has("blocks.{layer}.mlp.W_in"))
        assumed["act_fn"] = has("blocks.{layer}.mlp.W_gate") ? "silu" : "relu";
    assumed["positional_embedding_type"] = has("pos_embed.W_pos") ? "standard" : "rotary";
    if (!has("unembed.W_U"))
        assumed["tie_word_embeddings"] = true;
    assumed["attention_dir"] = "causal";
    std::string list;
    for (const auto& [key, value] : assumed.items())
        list += (list.empty() ? "" : ", ") + key + "="
            + (value.is_string() ? value.get<std::string>() : jsonText(value));
    m_proposal.questions.push_back(
        "The tensors do not show these facts, which are guesses under 'assumed': " + list + ".");
    return assumed;
}

NamesProposal NamesProposer::propose()
{
    m_width = likelyWidth(m_groups);
    for (const NameGroup& group : m_groups)
        if (!isNoWeight(group))
            addRow(group);
        else
            m_ignored.push_back(group.pattern.find('{') == std::string::npos
                                    ? group.pattern
                                    : group.pattern.substr(0, group.pattern.find('{')) + "*"
                                        + group.pattern.substr(group.pattern.rfind('}') + 1));
    ordered_json map{{"headwise_names", 1}, {"name", "custom"}, {"tensors", m_rows}};
    if (!m_ignored.empty())
        map["ignore"] = m_ignored;
    map["assumed"] = assumed();
    m_proposal.map = jsonText(map, 2) + "\n";
    return std::move(m_proposal);
}

} // namespace

NamesProposal proposeNames(const WeightMap& file)
{
    return NamesProposer(file).propose();
}

} // namespace headwise
