#include "core/model/architecture.h"

#include "core/base/blas_memory.h"
#include "core/base/log.h"
#include "core/checkpoint/model_cache.h"
#include "core/files/json.h"
#include "core/model/adapters/adapter.h"
#include "core/model/config_reader.h"
#include "core/model/families/config_source.h"
#include "core/model/families/family.h"
#include "core/model/families/inferred_config.h"
#include "core/model/families/stored_mask.h"
#include "core/model/families/unknown_fields.h"
#include "core/model/names/names_library.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

namespace headwise {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

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
    if (!fs::is_directory(path, code))
        return generic ? full.parent_path().filename().string() : full.stem().string();
    return full.filename().empty() ? full.string() : full.filename().string();
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
                     "'" + source.path.string() + "' is read with the names map '" + model.map
                         + "', but neither the map nor the tensors give everything; say it with --set "
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
    Understood understood{*family, std::move(description), jsonText(values), config->isInferred};
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
    logInfo("opened " + config.name + " (" + config.architecture + ", " + std::to_string(config.nLayers)
            + " layers)");
    return std::shared_ptr<const ModelWeights>(std::move(weights));
}

} // namespace headwise
