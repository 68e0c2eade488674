#include "core/model/families/config_source.h"

#include "core/checkpoint/file_kind.h"
#include "core/checkpoint/weight_file.h"
#include "core/files/hdf5.h"
#include "core/files/json.h"
#include "core/files/mapped_file.h"
#include "core/model/architecture.h"
#include "core/model/families/config_text.h"
#include "core/model/families/inferred_config.h"

#include <optional>
#include <utility>

namespace headwise {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

bool isFolder(const fs::path& path)
{
    std::error_code code;
    return fs::is_directory(path, code);
}

bool isThere(const fs::path& path)
{
    std::error_code code;
    return fs::exists(path, code);
}

/// Returns an error if a folder above the file may not be entered, so that nobody can tell whether the file exists.
std::optional<Error> notAllowed(const fs::path& file)
{
    std::error_code code;
    if (const fs::file_status status = fs::status(file, code);
        !code || status.type() == fs::file_type::not_found)
        return std::nullopt;
    return Error{ErrorCode::Io,
                 "'" + file.string() + "' cannot be read: " + code.message()
                     + "; change the permissions of its folder."};
}

Error noConfig(const ModelSource& source, const fs::path& folder)
{
    const std::string where = "'" + folder.string() + "'";
    std::error_code code;
    if (const fs::directory_iterator entries(folder, code); code)
        return {ErrorCode::Io,
                "Folder " + where + " cannot be read: " + code.message() + "; change its permissions."};
    if (isFolder(source.path) && fs::is_empty(folder, code))
        return {ErrorCode::NotFound,
                "Folder " + where + " is empty; expected config.json beside model.safetensors."};
    return {ErrorCode::NotFound,
            "There is no config.json in " + where
                + "; name one with --config FILE or say what the model is with --set KEY=VALUE,…."};
}

/// \param recognised of recognisedNames
Error noConfigFor(const ModelSource& source, const std::string& recognised)
{
    return {
        ErrorCode::NotFound,
        "'" + source.path.string() + "' has no config beside it, and " + recognised
            + "; name a config with --config FILE, say what the model is with --set KEY=VALUE,…, or explain its names with --names MAP.json, for which `headwise names` writes a first proposal."};
}

Error notInferred(const ModelSource& source, const std::vector<std::string>& keys, const WeightMap& weights)
{
    std::string list, flags, answers;
    for (const std::string& key : keys) {
        list += (list.empty() ? "'" : ", '") + key + "'";
        flags += (flags.empty() ? "" : ",") + key + "=…";
        if (key == "normalization_type")
            answers =
                " (normalization_type: null for a model without norms, LNPre or RMSPre if its norms were folded)";
    }
    return {ErrorCode::NotFound,
            "'" + source.path.string() + "' has no config beside it; " + recognisedNames(weights)
                + " but do not show " + list + "; say it with --set " + flags + answers
                + ", or name a config with --config FILE."};
}

/// Checks a single file before its config is looked for. This gives a better error for a file that is no model.
Result<Done> checkWeightFile(const fs::path& path)
{
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file)
        return file.error();
    const FileKind kind = fileKind(file->bytes());
    if (kind == FileKind::Hdf5) {
        if (const auto readable = Hdf5Reader::open(path); !readable)
            return readable.error();
        return Error{ErrorCode::Unsupported,
                     "'" + path.string()
                         + "' is an HDF5 file, such as a session, but this needs a model with its weights."};
    }
    if (auto other = notWeights(kind, path.string()))
        return *std::move(other);
    const bool isNamedSo = path.extension() == ".safetensors" || path.string().ends_with(".index.json");
    if (kind == FileKind::Unknown && !isNamedSo)
        return Error{
            ErrorCode::Unsupported,
            "'" + path.string()
                + "' is not a model: it does not begin like a file of weights. Name a folder with config.json and model.safetensors, or a .safetensors file."};
    return Done{};
}

/// The config without a config.json: as the weights imply it, or the overrides alone.
Result<ConfigText> configOfWeights(const ModelSource& source, const fs::path& folder)
{
    const Result<OwnConfig> own = ownConfig(source.path);
    if (!own)
        return own.error();
    if (!own->text.empty()) {
        Result<json> values = parseJson(own->text, own->file);
        if (!values)
            return values.error();
        return ConfigText{*std::move(values), own->file};
    }
    const Result<WeightMap> weights = WeightMap::open(source.path);
    if (!weights && weights.error().code == ErrorCode::Unsupported)
        return weights.error(); // an adapter or quantised weights: no config would help
    if (weights)
        if (const Result<Done> named = checkNames(*weights, source.path.string()); !named)
            return named.error();
    const InferredConfig inferred = weights ? inferConfig(*weights) : InferredConfig{};
    const std::string recognised = weights && inferred.text.empty() ? recognisedNames(*weights) : "";
    if (source.overrides.empty() && inferred.text.empty())
        return recognised.empty() ? noConfig(source, folder) : noConfigFor(source, recognised);
    std::vector<std::string> unknown;
    for (const std::string& key : inferred.unknown)
        if (!source.overrides.contains(key))
            unknown.push_back(key);
    if (!unknown.empty())
        return notInferred(source, unknown, *weights);
    if (inferred.text.empty())
        return ConfigText{json::object(), "--set", true, recognised};
    Result<json> values = parseJson(inferred.text, source.path.string());
    if (!values)
        return values.error();
    return ConfigText{*std::move(values), source.path.string(), true};
}

/// Tells a config that lies beside a GGUF file whether its norms contain the 1 that Gemma adds: the converter added it.
void addNormsOfGguf(const ModelSource& source, json& config)
{
    const Result<OwnConfig> own = ownConfig(source.path);
    const json values = own ? jsonValue(own->text) : json();
    if (!config.is_object() || !values.is_object() || !values.contains("rmsnorm_uses_offset"))
        return;
    const auto text = config.find("text_config"); // the language model of a multimodal one
    json& model = text != config.end() && text->is_object() ? *text : config;
    model.emplace("rmsnorm_uses_offset", values["rmsnorm_uses_offset"]);
}

} // namespace

Result<ConfigText> readConfigText(const ModelSource& source)
{
    if (const auto closed = notAllowed(source.path))
        return *closed;
    if (!isThere(source.path))
        return Error{ErrorCode::NotFound, "'" + source.path.string() + "' does not exist."};
    if (!isFolder(source.path))
        if (const Result<Done> looked = checkWeightFile(source.path); !looked)
            return looked.error();
    const fs::path folder = isFolder(source.path) ? source.path
        : source.path.has_parent_path()           ? source.path.parent_path()
                                                  : fs::path(".");
    const fs::path file = source.configFile.value_or(folder / "config.json");
    ConfigText config{json::object(), file.string()};
    if (const auto closed = notAllowed(file))
        return *closed;
    if (source.configFile || isThere(file)) {
        Result<json> values = readConfigFile(file);
        if (!values)
            return values.error();
        config.values = *std::move(values);
        addNormsOfGguf(source, config.values);
    } else {
        Result<ConfigText> own = configOfWeights(source, folder);
        if (!own)
            return own.error();
        config = *std::move(own);
    }
    for (const auto& [key, value] : source.overrides)
        config.values[key] = overrideValue(value);
    return config;
}

} // namespace headwise
