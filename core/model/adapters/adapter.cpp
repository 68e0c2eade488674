#include "core/model/adapters/adapter.h"

#include "core/checkpoint/model_cache.h"
#include "core/checkpoint/weight_folder.h"
#include "core/files/json.h"
#include "core/model/adapters/adapter_reader.h"
#include "core/model/config_reader.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <system_error>
#include <utility>

namespace headwise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t maxAdapterConfigBytes = std::size_t(4) << 20;

bool isThereAs(const fs::path& path, fs::file_type type)
{
    std::error_code code;
    return fs::status(path, code).type() == type;
}

/// The adapter's folder if the path names its file.
fs::path folderOfAdapter(const fs::path& path)
{
    if (!isThereAs(path, fs::file_type::regular))
        return path;
    return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

Result<fs::path> baseOf(const ModelSource& source, const AdapterConfig& config, const fs::path& folder)
{
    if (!source.base.empty())
        return source.base;
    std::error_code code;
    const fs::path path = (folder / config.base).lexically_normal();
    if (!config.base.empty() && fs::exists(path, code))
        return path;
    CachedModelRequest request;
    if (parseCachedModel(config.base, request)) {
        if (!config.revision.empty())
            request.revision = config.revision;
        if (auto cached = findCachedModel(request))
            return cached;
    }
    const std::string start = "'" + folder.string() + "' is a LoRA adapter, ";
    return Error{ErrorCode::NotFound,
                 config.base.empty()
                     ? start + "but it does not say which model it changes; " + nameTheBase + "."
                     : start + "but its base " + shownValue(nlohmann::json(config.base))
                         + " is neither a path nor in the Hugging Face cache; " + nameTheBase + "."};
}

Result<fs::path> weightsOfAdapter(const fs::path& folder)
{
    for (const char* name : {"adapter_model.safetensors", "adapter_model.bin"})
        if (isThereAs(folder / name, fs::file_type::regular))
            return folder / name;
    return Error{
        ErrorCode::NotFound,
        "Folder '" + folder.string()
            + "' holds an adapter's config without its weights (adapter_model.safetensors); download them into the same folder."};
}

template <typename Number>
std::string rangeText(const std::set<Number>& values)
{
    const auto first = static_cast<double>(*values.begin()), last = static_cast<double>(*values.rbegin());
    return values.size() == 1 ? fmt::format("{:g}", first) : fmt::format("{:g} to {:g}", first, last);
}

} // namespace

bool isAdapter(const fs::path& path)
{
    const fs::path folder = folderOfAdapter(path);
    if (!isThereAs(folder / adapterConfigName, fs::file_type::regular))
        return false;
    return folder == path ? !weightFilesIn(folder).has_value()
                          : path.filename().string().starts_with("adapter_model.");
}

Result<AdaptedSource> takeAdapterApart(const ModelSource& source)
{
    std::error_code code;
    if (!isAdapter(source.path)) {
        if ((!source.base.empty() || source.adapterStrength != 1) && fs::exists(source.path, code))
            return Error{ErrorCode::InvalidArgument,
                         "--base and --adapter-scale are for adapters, but '" + source.path.string()
                             + "' is not one; leave them out."};
        return AdaptedSource{source};
    }
    if (!(source.adapterStrength >= 0 && source.adapterStrength <= 1))
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("The strength of an adapter is a number from 0 to 1, not {:g}.",
                                 source.adapterStrength)};
    const fs::path folder = folderOfAdapter(source.path);
    const Result<std::string> text = readTextFile(folder / adapterConfigName, maxAdapterConfigBytes);
    if (!text)
        return text.error();
    Result<AdapterConfig> config = readAdapterConfig(*text, (folder / adapterConfigName).string());
    if (!config)
        return config.error();
    const Result<fs::path> base = baseOf(source, *config, folder);
    if (!base)
        return base.error();
    if (isAdapter(*base))
        return Error{ErrorCode::Unsupported,
                     "The base '" + base->string() + "' of the adapter '" + folder.string()
                         + "' is an adapter too; merge that one into its model first."};
    AdaptedSource apart{source, folder, *std::move(config), source.adapterStrength};
    apart.base.path = *base;
    apart.base.base.clear();
    return apart;
}

bool isBaseMissing(const ModelSource& source)
{
    const auto apart = takeAdapterApart(source);
    if (!apart)
        return apart.error().code == ErrorCode::NotFound && source.base.empty() && isAdapter(source.path);
    const auto opened = apart->adapter ? openWeights(*apart) : Result<WeightMap>(Error{});
    return !opened && opened.error().message.find(nameTheBase) != std::string::npos;
}

Result<WeightMap> openWeights(const AdaptedSource& source)
{
    Result<WeightMap> opened = WeightMap::open(source.base.path);
    if (!opened || !source.adapter)
        return opened;
    const Result<fs::path> file = weightsOfAdapter(*source.adapter);
    if (!file)
        return file.error();
    Result<WeightMap> thin = WeightMap::open(*file, ForeignFiles::Shown);
    if (!thin)
        return thin;
    const auto adapter = std::make_shared<const WeightMap>(*std::move(thin));
    WeightMap base = *std::move(opened);
    auto changes = readChanges(source, base, adapter);
    if (!changes)
        return changes.error();
    const AdapterConfig& config = source.config;
    std::string identity = fmt::format("{} {} {} {} {}", adapter->sha256(), source.strength, config.isDora,
                                       config.isRankStabilised, config.isTransposed);
    for (const auto& [tensor, change] : *changes)
        identity += fmt::format(" {}", change.scale);
    base.addChanges(*std::move(changes), *source.adapter, identity);
    return base;
}

std::string adaptedName(const std::string& base, const AdaptedSource& source)
{
    if (!source.adapter)
        return base;
    std::error_code code;
    const fs::path full = fs::weakly_canonical(*source.adapter, code);
    const std::string name = (code || full.filename().empty() ? *source.adapter : full.filename()).string();
    return base + " + " + name
        + (source.strength == 1 ? std::string() : fmt::format(" × {:g}", source.strength));
}

std::optional<AdapterFacts> adapterFacts(const ModelWeights& weights)
{
    const std::map<int, LowRankChange>& changes = weights.file().changes();
    if (changes.empty())
        return std::nullopt;
    AdapterFacts facts;
    const LowRankChange& first = changes.begin()->second;
    const bool isDora = first.magnitude >= 0;
    facts.kind = first.isRankStabilised ? (isDora ? "rsLoRA with DoRA" : "rsLoRA") : isDora ? "DoRA" : "LoRA";
    facts.strength = first.strength;
    facts.tensors = static_cast<int>(changes.size());
    for (const auto& [tensor, change] : changes) {
        facts.ranks.insert(change.rank);
        facts.scales.insert(change.scale);
    }
    for (const auto& [key, view] : weights.views())
        if (changes.contains(view.tensor)) {
            facts.matrices.emplace(tensorKindName(std::get<0>(key)));
            facts.layers.insert(std::get<1>(key));
        }
    return facts;
}

std::vector<std::string> adapterWarnings(const AdaptedSource& source, const ModelWeights& weights)
{
    const auto facts = adapterFacts(weights);
    if (!facts)
        return {};
    std::vector<std::string> warnings{fmt::format(
        "All results are those of the base '{}' with the {} adapter '{}' (rank {}, scale {}, strength {:g}); it changes {} {}.",
        source.base.path.string(), facts->kind, source.adapter->string(), rangeOf(facts->ranks),
        rangeOf(facts->scales), facts->strength, facts->tensors, facts->tensors == 1 ? "tensor" : "tensors")};
    warnings.insert(warnings.end(), source.config.warnings.begin(), source.config.warnings.end());
    return warnings;
}

std::string rangeOf(const std::set<std::int64_t>& values)
{
    return rangeText(values);
}

std::string rangeOf(const std::set<double>& values)
{
    return rangeText(values);
}

} // namespace headwise
