#include "core/model/names/names_row.h"

#include "core/model/config_reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace headwise {
namespace {

using nlohmann::json;

std::vector<std::string> wordsBetween(std::string_view text, char separator)
{
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator)
            parts.emplace_back();
        else if (c != ' ')
            parts.back() += c;
    }
    return parts;
}

/// Reads one row. The first fault ends it.
class NamesRowReader {
public:
    NamesRowReader(std::string file, std::size_t number)
        : m_file(std::move(file))
        , m_where("row " + std::to_string(number + 1) + " of 'tensors'")
    {
    }

    Result<NamesRow> read(const json& value);

private:
    Error fault(const std::string& what) const { return namesFault(m_file, m_where, what); }
    Result<std::vector<const NamedRole*>> rolesOf(const json& value) const;
    Result<Done> checkPattern(const NamesRow& row) const;
    Result<Done> readAxes(const std::string& text, NamesRow& row) const;
    Result<Done> checkAxes(const NamesRow& row) const;

    std::string m_file, m_where;
};

Result<std::vector<const NamedRole*>> NamesRowReader::rolesOf(const json& value) const
{
    const json list = value.is_array() ? value : json::array({value});
    std::vector<const NamedRole*> found;
    for (const json& one : list) {
        const std::string name = one.is_string() ? one.get<std::string>() : shownValue(one);
        const auto all = namedRoles();
        const auto role =
            std::find_if(all.begin(), all.end(), [&](const NamedRole& r) { return r.name == name; });
        if (name == "?")
            return fault("still says '?'; put the tensor's role there or its name under 'ignore'");
        if (role == all.end())
            return fault("has the unknown role " + inQuotes(name)
                         + " (roles are TransformerLens' names, such as 'embed.W_E' and "
                           "'blocks.{layer}.attn.W_Q')");
        if (std::find(found.begin(), found.end(), &*role) != found.end())
            return fault("names the role " + inQuotes(name) + " twice");
        found.push_back(&*role);
    }
    if (found.empty() || found.size() > 3)
        return fault("must have one to three roles");
    for (const NamedRole* role : found)
        if (role->rows != found[0]->rows || role->cols != found[0]->cols
            || (role->heads == SizeKind::One) != (found[0]->heads == SizeKind::One))
            return fault("puts " + inQuotes(found[0]->name) + " and " + inQuotes(role->name)
                         + " into one tensor, whose axes differ");
    return found;
}

Result<Done> NamesRowReader::checkPattern(const NamesRow& row) const
{
    const std::string& name = row.name;
    std::set<std::string> used;
    for (std::size_t at = name.find('{'); at != std::string::npos; at = name.find('{', at + 1)) {
        const std::size_t end = name.find('}', at);
        const std::string word = end == std::string::npos ? "" : name.substr(at + 1, end - at - 1);
        const bool isLayer = word == "layer" || word == "2*layer" || word == "2*layer+1";
        if (!isLayer && word != "head")
            return fault("may have {layer} and {head} in its name, and no other braces");
        const bool isFollowed =
            end + 1 < name.size() && (name[end + 1] == '{' || (name[end + 1] >= '0' && name[end + 1] <= '9'));
        if (!used.insert(isLayer ? "layer" : word).second || isFollowed)
            return fault("may have {layer} and {head} once each, with no digit after them");
    }
    const bool isOfLayers = row.roles[0]->name.starts_with("blocks.");
    if (name.empty() || used.contains("layer") != isOfLayers)
        return fault(isOfLayers ? "needs {layer} in its name, because its role is a layer's"
                                : "must have no {layer} in its name, because its role is the model's");
    for (const NamedRole* role : row.roles)
        if (role->name.starts_with("blocks.") != isOfLayers)
            return fault("mixes roles of the model and of a layer");
    if (used.contains("head") && row.roles[0]->heads == SizeKind::One)
        return fault("has {head} in its name, but its role is not a head's");
    return Done{};
}

/// Returns the size that a word means for a role; nothing if there is no such word.
std::optional<SizeKind> sizeOfWord(std::string_view word, const NamedRole& role)
{
    if (word == "1")
        return SizeKind::One;
    if (word == "parts")
        return SizeKind::Parts;
    if (word == "heads" && role.heads != SizeKind::One)
        return role.heads;
    for (const SizeKind kind : {role.rows, role.cols})
        if (kind != SizeKind::One && word == sizeName(kind))
            return kind;
    return std::nullopt;
}

Result<Done> NamesRowReader::readAxes(const std::string& text, NamesRow& row) const
{
    const bool hasHead = row.name.find("{head}") != std::string::npos;
    const bool isUsual = text.empty() || text == "transposed";
    for (const std::string& dimension :
         wordsBetween(isUsual ? std::string(row.roles[0]->usual) : text, ',')) {
        auto& factors = row.axes.emplace_back();
        for (const std::string& word : wordsBetween(dimension, '*')) {
            const std::optional<SizeKind> size = sizeOfWord(word, *row.roles[0]);
            if (!size)
                return fault("has the axis " + inQuotes(word) + ", which " + inQuotes(row.roles[0]->name)
                             + " does not have; the usual axes are " + inQuotes(row.roles[0]->usual));
            if (isUsual && hasHead && word == "heads")
                continue;
            factors.push_back(*size);
        }
    }
    if (isUsual && row.roles.size() > 1) {
        // Side by side along the axis that the parts do not share with the residual stream.
        const auto main = std::find_if(row.axes.begin(), row.axes.end(), [](const auto& factors) {
            return factors.size() != 1 || factors[0] != SizeKind::Model;
        });
        if (main != row.axes.end())
            main->insert(main->begin(), SizeKind::Parts);
    }
    if (text == "transposed")
        std::reverse(row.axes.begin(), row.axes.end());
    return checkAxes(row);
}

Result<Done> NamesRowReader::checkAxes(const NamesRow& row) const
{
    const NamedRole& role = *row.roles[0];
    const auto count = [&](SizeKind kind) {
        std::ptrdiff_t n = 0;
        for (const auto& factors : row.axes)
            n += std::count(factors.begin(), factors.end(), kind);
        return n;
    };
    std::size_t rank = 0;
    for (const auto& factors : row.axes)
        rank += factors.size();
    const std::string axes = "has the axes " + axesText(row.axes);
    if (rank > 12)
        return fault("has more axes than any tensor");
    for (const SizeKind kind : {role.rows, role.cols})
        if (kind != SizeKind::One && count(kind) != 1)
            return fault(axes + ", expected " + std::string(sizeName(kind)) + " once in them");
    if (count(SizeKind::Parts) != (row.roles.size() > 1 ? 1 : 0))
        return fault(axes + ", expected 'parts' once if it has several roles, and otherwise not at all");
    if (role.heads == SizeKind::One)
        return Done{};
    const bool hasHead = row.name.find("{head}") != std::string::npos;
    const bool isShared = role.kind == TensorKind::q_norm_w || role.kind == TensorKind::k_norm_w;
    const std::ptrdiff_t heads = count(role.heads);
    if (hasHead ? heads != 0 : heads > 1 || (heads == 0 && !isShared))
        return fault(axes + ", expected heads once, either there or as {head} in its name");
    return Done{};
}

Result<NamesRow> NamesRowReader::read(const json& value)
{
    if (!value.is_object())
        return fault("must be an object with 'name' and 'is'");
    if (const auto known = checkNamesKeys(value, {"name", "is", "axes", "skip", "comment"}, m_file, m_where);
        !known)
        return known.error();
    const auto textOf = [&](const char* key) -> std::optional<std::string> {
        const auto found = value.find(key);
        if (found == value.end())
            return std::string();
        return found->is_string() ? std::optional<std::string>(found->get<std::string>()) : std::nullopt;
    };
    const std::optional<std::string> name = textOf("name"), axes = textOf("axes");
    if (!name || name->empty() || !axes || !textOf("comment") || !value.contains("is"))
        return fault("must have 'name' and 'is', and 'axes' and 'comment' must be texts");
    m_where += " (" + inQuotes(*name) + ")";
    Result<std::vector<const NamedRole*>> roles = rolesOf(value["is"]);
    if (!roles)
        return roles.error();
    NamesRow row{*name, *std::move(roles), {}, 0};
    if (const auto fits = checkPattern(row); !fits)
        return fits.error();
    if (const auto read = readAxes(*axes, row); !read)
        return read.error();
    if (const auto skip = value.find("skip"); skip != value.end()) {
        if (!skip->is_number_unsigned() || *skip > 1'000'000u || row.roles[0]->kind != TensorKind::W_pos)
            return fault("may have 'skip', a number of rows, only for 'pos_embed.W_pos'");
        row.skip = skip->get<int>();
    }
    return row;
}

} // namespace

Result<NamesRow> readNamesRow(const json& value, std::size_t number, const std::string& file)
{
    return NamesRowReader(file, number).read(value);
}

Error namesFault(const std::string& file, const std::string& where, const std::string& what)
{
    return {ErrorCode::Corrupt, "Names map '" + file + "': " + where + " " + what + "."};
}

Result<Done> checkNamesKeys(const json& object, std::initializer_list<const char*> known,
                            const std::string& file, const std::string& where)
{
    for (const auto& [key, value] : object.items())
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            std::vector<std::string> names;
            for (const char* name : known)
                names.push_back(inQuotes(name));
            return namesFault(file, where,
                              "has the unknown key " + inQuotes(key) + ", expected " + listed(names));
        }
    return Done{};
}

std::string inQuotes(std::string_view text)
{
    return "'" + std::string(text) + "'";
}

} // namespace headwise
