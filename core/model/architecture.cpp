#include "core/model/architecture.h"

#include "core/base/blas_memory.h"
#include "core/base/log.h"
#include "core/checkpoint/file_kind.h"
#include "core/checkpoint/model_cache.h"
#include "core/checkpoint/weight_file.h"
#include "core/files/hdf5.h"
#include "core/files/json.h"
#include "core/files/mapped_file.h"
#include "core/model/adapters/adapter.h"
#include "core/model/config_reader.h"
#include "core/model/families/config_text.h"
#include "core/model/families/family.h"
#include "core/model/families/inferred_config.h"
#include "core/model/families/stored_mask.h"
#include "core/model/families/unknown_fields.h"
#include "core/model/names/names_library.h"

#include <nlohmann/json.hpp>
#include <spdlog/logger.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace headwise {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// The config as it stands after the user's overrides, and where it came from.
struct ConfigText {
    json values;
    std::string file;
    bool isInferred = false;     ///< The tensors tell it, and no file.
    std::string recognised = {}; ///< Names of the tensors, if they do not tell enough for a config.
};

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

/// Returns the name of the folder or file ("stories260k"), whatever the spelling of the path.
std::string modelName(const fs::path& path)
{
    if (std::string cached = cachedModelName(path); !cached.empty())
        return cached;
    std::error_code code;
    fs::path full = fs::weakly_canonical(path, code);
    if (code)
        full = path;
    const bool generic = full.stem() == "model" || full.stem() == "pytorch_model";
    if (!isFolder(path))
        return generic ? full.parent_path().filename().string() : full.stem().string();
    return full.filename().empty() ? full.string() : full.filename().string();
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
                + " and do not tell " + list + "; say it with --set " + flags + answers
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
                         + "' is an HDF5 file, as sessions are, and this needs a model with its weights."};
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
    const json values = own ? json::parse(own->text, nullptr, false) : json();
    if (!config.is_object() || !values.is_object() || !values.contains("rmsnorm_uses_offset"))
        return;
    const auto text = config.find("text_config"); // the language model of a multimodal one
    json& model = text != config.end() && text->is_object() ? *text : config;
    model.emplace("rmsnorm_uses_offset", values["rmsnorm_uses_offset"]);
}

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

struct Understood {
    const Family* family;
    ModelDescription description;
    std::string text; ///< The config as JSON.
    bool isInferred = false;
    std::optional<NamedSource> named = {}; ///< A model whose names a map explains.
};

/// Adds to an error what the tensors' names tell, if the config consists of the user's own values alone.
Error withRecognised(Error error, const ConfigText& config)
{
    if (config.recognised.empty() || error.message.empty())
        return error;
    error.message.pop_back(); // the full stop
    error.message += "; " + config.recognised + ".";
    return error;
}

Result<ConfigText> configOfNamed(const ModelSource& source, const NamedModel& model)
{
    std::string flags;
    for (const std::string& key : model.unknown)
        flags += (flags.empty() ? "" : ",") + key + "=…";
    if (!flags.empty())
        return Error{ErrorCode::NotFound,
                     "'" + source.path.string() + "' is read by the names map '" + model.map
                         + "', and neither the map nor the tensors tell everything; say it with --set "
                         + flags + "."};
    Result<json> values = parseJson(model.config, model.map);
    if (!values)
        return values.error();
    return ConfigText{*std::move(values), model.map, true};
}

void addNames(Understood& understood, const NamedSource& named)
{
    ModelDescription& description = understood.description;
    description.config.architecture = named.model.architecture;
    const auto& assumed = named.model.assumed;
    description.assumed.insert(description.assumed.end(), assumed.begin(), assumed.end());
    const auto& notes = named.model.notes;
    description.warnings.insert(description.warnings.end(), notes.begin(), notes.end());
    understood.named = named;
}

Result<Understood> understand(const ModelSource& source)
{
    const Result<std::optional<NamedSource>> named = openNamed(source);
    if (!named)
        return named.error();
    const Result<ConfigText> config =
        *named ? configOfNamed(source, (*named)->model) : readConfigText(source);
    if (!config)
        return config.error();
    json values = config->values;
    const std::vector<ConfigField> unknown = takeUnknownFields(values);
    const Result<const Family*> family = findFamily(values, config->file);
    if (!family)
        return withRecognised(family.error(), *config);
    Result<ModelDescription> read = readFamilyConfig(**family, values, config->file);
    if (!read)
        return withRecognised(read.error(), *config);
    ModelDescription description = *std::move(read);
    settleUnknownFields(**family, unknown, values, description);
    const auto direction = values.find("attention_dir");
    const bool isSaid = direction != values.end() && !direction->is_null();
    if (!description.config.unknown.empty())
        values[unknownFieldsKey] = namesOfUnknown(description.config.unknown);
    Understood understood{*family, std::move(description), values.dump(), config->isInferred};
    if (*named)
        addNames(understood, **named);
    // Other families imply the direction; TransformerLens' names and a bare state dict do not.
    std::vector<AssumedKey>& assumed = understood.description.assumed;
    if (!isSaid && (understood.isInferred || (*family)->code.matches))
        assumed.insert(assumed.begin(), {"attention_dir", "causal"});
    for (std::string& warning : understood.description.warnings)
        warning = withShortQuotations(std::move(warning));
    if (understood.description.config.name.empty())
        understood.description.config.name = modelName(source.path);
    if (const Result<Done> sizes = checkSizes(understood.description.config, config->file); !sizes)
        return sizes.error();
    return understood;
}

/// Follows masks that let every position see every other, unless the config says otherwise.
void settleDirection(Understood& understood, const WeightMap& file)
{
    ModelDescription& description = understood.description;
    if (description.config.bidirectional || storedDirection(file) != StoredDirection::Bidirectional)
        return;
    const bool isAssumed = !description.assumed.empty() && description.assumed[0].key == "attention_dir";
    if (!isAssumed) {
        description.warnings.emplace_back(
            "The stored masks let every position see every other, but the config says causal, and Headwise follows the config; --set attention_dir=bidirectional follows the masks.");
        return;
    }
    description.config.bidirectional = true;
    description.assumed.erase(description.assumed.begin());
}

/// Appends a warning on what no file says. Without one a config file means its format's own defaults, which `info` lists.
void warnOfAssumed(Understood& understood, const std::string& path)
{
    if (!understood.isInferred)
        return;
    std::string list;
    for (const AssumedKey& key : understood.description.assumed)
        list.append(list.empty() ? "" : ", ").append(key.key).append("=").append(key.value);
    understood.description.warnings.push_back(
        (understood.named ? "The names map '" + understood.named->model.map + "' is used."
                          : std::string("There is no config.json."))
        + " The sizes come from the tensors in '" + path + "'"
        + (list.empty() ? "." : "; these values are assumed: " + list + "; --set changes them."));
}

} // namespace

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
    const fs::path folder = isFolder(source.path) ? source.path : source.path.parent_path();
    if (source.configFile || isThere(folder / "config.json"))
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

std::vector<std::string> unknownTensors(const ModelSource& source)
{
    ModelSource without = source;
    without.ignored = {"*"};
    const auto weights = loadModel(without, Task{});
    return weights ? (*weights)->leftOut() : std::vector<std::string>();
}

Result<ModelDescription> readModelConfig(const ModelSource& source)
{
    const Result<AdaptedSource> apart = takeAdapterApart(source);
    if (!apart)
        return apart.error();
    const Result<Understood> read = understand(apart->base);
    if (!read)
        return read.error();
    Understood understood = *read;
    understood.description.config.name = adaptedName(understood.description.config.name, *apart);
    warnOfAssumed(understood, apart->base.path.string());
    if (std::string warning = unknownWarning(understood.description.config); !warning.empty())
        understood.description.warnings.push_back(std::move(warning));
    return std::move(understood.description);
}

Result<std::shared_ptr<const ModelWeights>> loadModel(const ModelSource& source, const Task& task)
{
    if (task.cancelled())
        return stopped();
    if (const Result<Done> reserved = reserveBlasBuffers(task.threads); !reserved)
        return reserved.error();
    const Result<AdaptedSource> apart = takeAdapterApart(source);
    if (!apart)
        return apart.error();
    const Result<Understood> read = understand(apart->base);
    if (!read)
        return read.error();
    Understood understood = *read;
    understood.description.config.name = adaptedName(understood.description.config.name, *apart);
    std::shared_ptr<const WeightMap> file = understood.named ? understood.named->file : nullptr;
    if (!file || apart->adapter) {
        Result<WeightMap> opened = openWeights(*apart);
        if (!opened)
            return opened.error();
        file = std::make_shared<const WeightMap>(*std::move(opened));
    }
    if (const Result<Done> named = checkNames(*file, apart->base.path.string()); !named)
        return named.error();
    settleDirection(understood, *file);
    warnOfAssumed(understood, apart->base.path.string());
    const ModelConfig& config = understood.description.config;
    Result<ModelWeights> loaded = understood.named
        ? loadNamed(understood.named->model, config, file, source.ignored)
        : loadFamily(*understood.family, understood.description, file, source.ignored);
    if (!loaded)
        return loaded.error();
    auto weights = std::make_shared<ModelWeights>(*std::move(loaded));
    weights->setConfigText(understood.text);
    weights->setAssumed(understood.description.assumed);
    for (const std::string& warning : understood.description.warnings)
        weights->addWarning(warning);
    for (std::string& warning : adapterWarnings(*apart, *weights))
        weights->addWarning(std::move(warning));
    if (std::string warning = unknownWarning(weights->config()); !warning.empty())
        weights->addWarning(std::move(warning));
    logger().info("opened {} ({}, {} layers)", config.name, config.architecture, config.nLayers);
    return std::shared_ptr<const ModelWeights>(std::move(weights));
}

} // namespace headwise
