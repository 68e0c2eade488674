#include "core/checkpoint/weight_folder.h"

#include "core/checkpoint/file_kind.h"
#include "core/files/json.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <system_error>

namespace headwise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view indexName = "model.safetensors.index.json";
constexpr std::string_view singleName = "model.safetensors";

/// File names of weights in a folder, the format that opens fastest first.
struct Naming {
    std::string_view index, single;
    std::vector<std::string_view> endings;
};

const std::vector<Naming>& namings()
{
    static const std::vector<Naming> all{
        {indexName, singleName, {".safetensors"}},
        {"pytorch_model.bin.index.json", "pytorch_model.bin", {".bin", ".pt", ".pth"}},
        {{}, {}, {".gguf"}},
        {{}, {}, {".npz"}},
        // Meta's and Mistral's original distributions, where they are one file.
        {{}, "consolidated.safetensors", {}},
        {{}, "consolidated.00.pth", {}},
    };
    return all;
}

/// True for half-precision copies, the original distribution, adapters and leftovers of training.
bool isIgnored(std::string_view name)
{
    static constexpr std::array beginnings = {"consolidated.", "adapter_model",     "openvino",
                                              "rng_state",     "training_args.bin", "optimizer.",
                                              "scheduler.",    "tokenizer."};
    return name.ends_with(".fp16.safetensors") || name.starts_with(".")
        || std::any_of(beginnings.begin(), beginnings.end(),
                       [&](const char* b) { return name.starts_with(b); });
}

bool isOtherFormat(std::string_view name)
{
    static constexpr std::array endings = {".gguf", "tf_model.h5", "flax_model.msgpack", ".onnx"};
    return std::any_of(endings.begin(), endings.end(), [&](const char* e) { return name.ends_with(e); });
}

/// Lists the first few names in a sentence.
std::string listed(const std::vector<std::string>& names)
{
    constexpr std::size_t shown = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), shown); ++i)
        text += (i ? ", '" : "'") + names[i] + "'";
    if (names.size() > shown)
        text += " and " + std::to_string(names.size() - shown) + " more";
    return text;
}

Result<std::vector<std::string>> namesIn(const fs::path& folder)
{
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        names.push_back(entry->path().filename().string());
    if (error)
        return Error{ErrorCode::Io,
                     "Cannot list the folder '" + folder.string() + "': " + error.message() + "."};
    std::sort(names.begin(), names.end());
    return names;
}

/// Explains why a folder has no file that we can open.
Error noWeights(const fs::path& folder, const std::vector<std::string>& names)
{
    const std::string start = "Folder '" + folder.string() + "' ";
    if (names.empty())
        return {ErrorCode::NotFound,
                start + "is empty; a model folder holds config.json and model.safetensors."};
    if (std::find(names.begin(), names.end(), "adapter_config.json") != names.end())
        return {
            ErrorCode::Unsupported,
            start
                + "holds a LoRA adapter (adapter_config.json), not a model; open it as a model, and name the base with --base MODEL."};
    if (std::any_of(names.begin(), names.end(),
                    [](const std::string& n) { return n.starts_with("consolidated."); }))
        return {
            ErrorCode::Unsupported,
            start
                + "holds Meta's original distribution in several parts (consolidated.*), which this version does not read; open its Hugging Face conversion."};
    const auto other = std::find_if(names.begin(), names.end(), [](const std::string& name) {
        return isOtherFormat(name) && !isIgnored(name);
    });
    if (other != names.end())
        return {ErrorCode::Unsupported,
                start + "holds its weights as '" + *other
                    + "', a format this version does not read; convert them to safetensors."};
    return {ErrorCode::NotFound,
            start + "holds no weights: looked for " + std::string(indexName) + ", " + std::string(singleName)
                + " or another file of weights, found " + listed(names) + "."};
}

/// The index comes from the author of the checkpoint; only plain names keep the reader inside the folder.
bool isPlainName(std::string_view name)
{
    return !name.empty() && name != "." && name.find("..") == std::string_view::npos
        && name.find_first_of(std::string_view("/\\:\0", 4)) == std::string_view::npos;
}

Result<WeightFiles> withShardsPresent(const fs::path& index, WeightFiles found,
                                      const std::set<std::string>& shards)
{
    std::vector<std::string> missing;
    for (const std::string& shard : shards) {
        const fs::path file = index.parent_path() / shard;
        std::error_code error;
        // follows a symlink, but only at the last component
        const fs::file_status status = fs::status(file, error);
        if (status.type() == fs::file_type::not_found)
            missing.push_back(shard);
        else if (!error && !fs::is_regular_file(status))
            return Error{ErrorCode::Corrupt,
                         "The shard '" + shard + "' that '" + index.string()
                             + "' lists is not a regular file."};
        found.files.push_back(file);
    }
    if (!missing.empty())
        return Error{ErrorCode::NotFound,
                     "Of the " + std::to_string(shards.size()) + " files that '" + index.string()
                         + "' lists, " + std::to_string(missing.size()) + " are missing: " + listed(missing)
                         + ". Download them into the same folder."};
    return found;
}

/// The name of a part of a split GGUF model, taken apart.
struct GgufPart {
    std::string stem;
    int count = 0; ///< Parts of the model.
};

std::optional<GgufPart> ggufPart(std::string_view name)
{
    constexpr std::string_view pattern = "-00000-of-00000.gguf"; // 0: any digit
    if (name.size() <= pattern.size())
        return std::nullopt;
    const std::string_view end = name.substr(name.size() - pattern.size());
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (pattern[i] == '0' ? !isDigit(end[i]) : end[i] != pattern[i])
            return std::nullopt;
    const auto number = [&](std::size_t first) { return std::stoi(std::string(end.substr(first, 5))); };
    const int part = number(1), count = number(10);
    if (part < 1 || part > count)
        return std::nullopt;
    return GgufPart{std::string(name.substr(0, name.size() - pattern.size())), count};
}

Result<WeightFiles> partsOfGguf(const fs::path& folder, const GgufPart& split)
{
    WeightFiles found;
    std::vector<std::string> missing;
    for (int part = 1; part <= split.count; ++part) {
        const std::string name = fmt::format("{}-{:05}-of-{:05}.gguf", split.stem, part, split.count);
        std::error_code error;
        if (fs::status(folder / name, error).type() == fs::file_type::not_found)
            missing.push_back(name);
        found.files.push_back(folder / name);
    }
    if (!missing.empty())
        return Error{
            ErrorCode::NotFound,
            fmt::format(
                "{} of the {} parts of the split GGUF model '{}' {} missing: {}. Download {} into the same folder.",
                missing.size(), split.count, (folder / split.stem).string(),
                missing.size() == 1 ? "is" : "are", listed(missing), missing.size() == 1 ? "it" : "them")};
    return found;
}

/// The parts of the only split model among the files; nothing if they are anything else.
std::optional<GgufPart> onlySplitModel(const std::vector<std::string>& names)
{
    const std::optional<GgufPart> first = names.empty() ? std::nullopt : ggufPart(names.front());
    for (const std::string& name : names)
        if (const auto part = ggufPart(name);
            !first || !part || part->stem != first->stem || part->count != first->count)
            return std::nullopt;
    return first;
}

Error severalFiles(const fs::path& folder, const std::vector<std::string>& names, std::string_view index)
{
    const std::string start =
        "Folder '" + folder.string() + "' holds several weight files (" + listed(names) + ")";
    return {ErrorCode::NotFound,
            index.empty() ? start + "; open one of them."
                          : start + " and no " + std::string(index)
                    + " that says which belong together; add it or open one of them."};
}

} // namespace

Result<WeightFiles> weightFilesOfIndex(const fs::path& index)
{
    const Result<std::string> text = readTextFile(index);
    if (!text)
        return text.error();
    const FileKind kind = fileKind(std::as_bytes(std::span(*text)));
    if (const auto other = notSafetensors(kind, index.string()); other && other->code == ErrorCode::Corrupt)
        return *other;
    const Result<nlohmann::json> json = parseJson(*text, index.string());
    if (!json)
        return json.error();
    const auto map = json->is_object() ? json->find("weight_map") : json->end();
    if (!json->is_object() || map == json->end() || !map->is_object() || map->empty())
        return Error{
            ErrorCode::Corrupt,
            "File '" + index.string()
                + "' has no \"weight_map\" that says which file holds which tensor; download it again."};
    WeightFiles found;
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : map->items()) {
        if (!shard.is_string())
            return Error{ErrorCode::Corrupt,
                         "The entry '" + tensor + "' of '" + index.string() + "' is not the name of a file."};
        const auto& name = shard.get_ref<const std::string&>();
        if (!isPlainName(name))
            return Error{
                ErrorCode::Corrupt,
                fmt::format(
                    "The entry '{}' of '{}' names '{}', which is not the name of a file in the same folder; do not trust this checkpoint.",
                    tensor, index.string(), name)};
        found.shardOf.emplace(tensor, name);
        shards.insert(name);
    }
    return withShardsPresent(index, std::move(found), shards);
}

Result<WeightFiles> weightFilesIn(const fs::path& folder)
{
    const Result<std::vector<std::string>> names = namesIn(folder);
    if (!names)
        return names.error();
    const auto has = [&](std::string_view name) {
        return std::find(names->begin(), names->end(), name) != names->end();
    };
    for (const Naming& naming : namings()) {
        if (has(naming.index))
            return weightFilesOfIndex(folder / naming.index);
        const bool isPart = naming.single == "consolidated.00.pth" && has("consolidated.01.pth");
        if (has(naming.single) && !isPart)
            return WeightFiles{{folder / naming.single}, {}};
        std::vector<std::string> candidates;
        for (const std::string& name : *names)
            if (!isIgnored(name)
                && std::any_of(naming.endings.begin(), naming.endings.end(),
                               [&](std::string_view ending) { return name.ends_with(ending); }))
                candidates.push_back(name);
        if (const auto split = onlySplitModel(candidates))
            return partsOfGguf(folder, *split);
        if (candidates.size() > 1)
            return severalFiles(folder, candidates, naming.index);
        if (candidates.size() == 1)
            return WeightFiles{{folder / candidates[0]}, {}};
    }
    return noWeights(folder, *names);
}

Result<WeightFiles> weightFilesAt(const fs::path& path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found)
        return Error{ErrorCode::NotFound, "There is no file or folder '" + path.string() + "'."};
    if (error)
        return Error{ErrorCode::Io, "Cannot inspect '" + path.string() + "': " + error.message() + "."};
    if (fs::is_directory(status))
        return weightFilesIn(path);
    if (path.filename().string().ends_with(".index.json"))
        return weightFilesOfIndex(path);
    if (const auto split = ggufPart(path.filename().string()))
        return partsOfGguf(path.parent_path(), *split);
    return WeightFiles{{path}, {}};
}

Result<std::vector<std::string>> unlisted(const std::vector<StoredTensor>& tensors, const WeightFiles& files,
                                          const fs::path& folder)
{
    const auto shardName = [&](const StoredTensor& t) { return files.files[t.shard].filename().string(); };
    std::vector<std::string> extra;
    std::size_t listed = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (i > 0 && tensors[i].name == tensors[i - 1].name)
            return Error{ErrorCode::Corrupt,
                         "Tensor '" + tensors[i].name + "' is in two files of '" + folder.string() + "', '"
                             + shardName(tensors[i - 1]) + "' and '" + shardName(tensors[i])
                             + "'; it is unclear which one to use."};
        const auto entry = files.shardOf.find(tensors[i].name);
        if (entry == files.shardOf.end())
            extra.push_back(tensors[i].name);
        else if (entry->second == shardName(tensors[i]))
            ++listed;
    }
    if (listed == files.shardOf.size())
        return extra;
    for (const auto& [name, shard] : files.shardOf) {
        const auto found =
            std::lower_bound(tensors.begin(), tensors.end(), name,
                             [](const StoredTensor& t, const std::string& n) { return t.name < n; });
        if (found == tensors.end() || found->name != name || shardName(*found) != shard)
            return Error{ErrorCode::Corrupt,
                         "Tensor '" + name + "' is not in '" + (folder / shard).string()
                             + "', where the index says it is ("
                             + std::to_string(files.shardOf.size() - listed)
                             + " such entries); download the files again."};
    }
    return extra;
}

bool isNamedAsGgufPart(std::string_view fileName)
{
    return ggufPart(fileName).has_value();
}

} // namespace headwise
