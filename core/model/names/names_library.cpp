#include "core/model/names/names_library.h"

#include "core/checkpoint/weight_file.h"
#include "core/files/json.h"
#include "core/model/families/config_text.h"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace headwise {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t mostNamesBytes = 4u << 20;

bool isRegularFile(const fs::path& path)
{
    std::error_code code;
    return !path.empty() && fs::is_regular_file(path, code);
}

Result<NamesMap> readNamesFile(const fs::path& path)
{
    const Result<std::string> text = readTextFile(path, mostNamesBytes);
    if (!text)
        return text.error();
    return readNamesMap(*text, path.string());
}

/// SHA-256 of every tensor's name and shape, in lower-case hex.
std::string namesFingerprint(const WeightMap& file)
{
    std::string all;
    for (const StoredTensor& tensor : file.tensors())
        all += tensor.name + '\0' + shapeText(tensor.shape) + '\n';
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    EVP_Digest(all.data(), all.size(), digest.data(), &size, EVP_sha256(), nullptr);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
        constexpr std::string_view digits = "0123456789abcdef";
        hex += digits[digest[i] >> 4];
        hex += digits[digest[i] & 15];
    }
    return hex;
}

/// Adds what the map's config file tells and the user does not.
Result<json> withConfigFile(const NamesMap& map, const fs::path& folder, json said)
{
    if (map.config.file.empty() || !isRegularFile(folder / map.config.file))
        return said;
    const std::string name = (folder / map.config.file).string();
    const Result<json> values = readConfigFile(folder / map.config.file);
    if (!values)
        return values.error();
    const auto valueOf = [&](const std::string& key) {
        const auto found = values->find(key);
        return found == values->end() || found->is_structured() ? json() : *found;
    };
    for (const std::string& key : map.config.none)
        if (const json value = valueOf(key); !value.is_null() && value != false)
            return Error{
                ErrorCode::Unsupported,
                "File '" + name + "' sets '" + key
                    + "', which changes the function and which this names map cannot say; open the model's Hugging Face conversion."};
    for (const auto& [key, other] : map.config.keys)
        if (const json value = valueOf(other); !value.is_null() && !said.contains(key))
            said[key] = value;
    return said;
}

/// Describes by the first built-in map that explains every tensor; nothing if there is none.
/// Errors: those of the config file beside such a model; Unsupported for a stack that no map reads.
Result<std::optional<NamedModel>> describeByBuiltIn(const WeightMap& file, const json& said,
                                                    const std::vector<std::string>& ignored)
{
    std::optional<Error> otherStack;
    for (const std::string& text : builtInNamesTexts()) {
        Result<NamesMap> read = readNamesMap(text, "built-in");
        if (!read)
            continue; // names_library_test reads all of them
        NamesMap map = *std::move(read);
        map.file = "built-in " + map.name;
        const Result<json> all = withConfigFile(map, file.folder(), said);
        const Result<NamedModel> model = describeByNames(map, file, all ? *all : said);
        if (!model) {
            if (model.error().code == ErrorCode::Unsupported)
                otherStack = model.error();
            continue;
        }
        const auto isExplained = [&](const std::string& name) {
            return std::any_of(ignored.begin(), ignored.end(),
                               [&](const std::string& pattern) { return matchesPattern(name, pattern); });
        };
        if (!std::all_of(model->others.begin(), model->others.end(), isExplained))
            continue;
        if (!all)
            return all.error();
        return std::optional(*model);
    }
    if (otherStack)
        return *otherStack;
    return std::optional<NamedModel>();
}

} // namespace

fs::path userNamesFile(const WeightMap& file)
{
    const char* data = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    const fs::path base = data && *data == '/' ? fs::path(data)
        : home && *home == '/'                 ? fs::path(home) / ".local/share"
                                               : fs::path();
    return base.empty() ? base : base / "headwise/names" / (namesFingerprint(file) + ".json");
}

Result<NamedModel> tryNamesMap(std::string_view text, const std::string& name, const WeightMap& file)
{
    const Result<NamesMap> map = readNamesMap(text, name);
    if (!map)
        return map.error();
    return describeByNames(*map, file, json::object());
}

Result<std::optional<NamedSource>> openNamed(const ModelSource& source)
{
    json said = json::object();
    for (const auto& [key, value] : source.overrides)
        said[key] = overrideValue(value);
    std::error_code code;
    if (!fs::exists(source.path, code))
        return std::optional<NamedSource>();
    const fs::path folder = fs::is_directory(source.path, code) ? source.path : source.path.parent_path();
    fs::path path = source.namesFile.value_or(fs::path());
    if (!source.namesFile && isRegularFile(folder / namesFileName))
        path = folder / namesFileName;
    if (path.empty() && (source.configFile || fs::exists(folder / "config.json", code)))
        return std::optional<NamedSource>();
    Result<WeightMap> opened = WeightMap::open(source.path);
    if (!opened && !path.empty())
        return opened.error();
    const Result<OwnConfig> own = ownConfig(source.path);
    if (!opened || (path.empty() && (!own || !own->text.empty())))
        return std::optional<NamedSource>();
    const auto file = std::make_shared<const WeightMap>(*std::move(opened));
    if (path.empty() && isRegularFile(userNamesFile(*file)))
        path = userNamesFile(*file);
    if (path.empty()) {
        const Result<std::optional<NamedModel>> model = describeByBuiltIn(*file, said, source.ignored);
        if (!model)
            return model.error();
        return *model ? std::optional(NamedSource{file, **model}) : std::nullopt;
    }
    const Result<NamesMap> map = readNamesFile(path);
    if (!map)
        return map.error();
    const Result<json> all = withConfigFile(*map, file->folder(), said);
    if (!all)
        return all.error();
    Result<NamedModel> model = describeByNames(*map, *file, *all);
    if (!model)
        return model.error();
    return std::optional(NamedSource{file, *std::move(model)});
}

} // namespace headwise
