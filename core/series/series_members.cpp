#include "core/series/series_members.h"

#include "core/checkpoint/model_cache.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace headwise {
namespace {

namespace fs = std::filesystem;

constexpr const char* namesWanted =
    "names that have a number at their end or after 'step', such as step1000, checkpoint-500, epoch_3, model_000512.safetensors or step1000-tokens4B";

bool isWeightsFile(const fs::path& path)
{
    static constexpr std::array endings{".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".gguf", ".npz"};
    const std::string extension = path.extension().string();
    return std::any_of(endings.begin(), endings.end(), [&](const char* end) { return extension == end; });
}

/// Tells names of a trainer's other files, which are as many as the checkpoints.
bool isTrainerState(std::string_view kind)
{
    static constexpr std::array words{"optim", "scheduler", "rng", "scaler", "trainer"};
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return kind.find(word) != std::string_view::npos; });
}

/// A name split at the number of its step.
struct NumberedName {
    std::string kind; ///< Text around the number, and the extension: "step", "model_.pt".
    std::int32_t step = 0;
};

constexpr std::string_view digits = "0123456789";

/// Finds the number behind "step", and the one at the end of other names.
/// \returns first and length; length 0 without one
std::pair<std::size_t, std::size_t> numberIn(std::string_view stem)
{
    constexpr std::string_view word = "step";
    if (const auto found = stem.rfind(word); found != std::string_view::npos) {
        const std::size_t first = std::min(stem.find_first_not_of("=-_", found + word.size()), stem.size());
        const std::size_t end = std::min(stem.find_first_not_of(digits, first), stem.size());
        if (end > first)
            return {first, end - first};
    }
    const std::size_t first = stem.find_last_not_of(digits) + 1; // npos + 1 is 0
    return {first, stem.size() - first};
}

/// Drops the numbers that grow with the step: those behind it, and the epoch's before it.
std::string kindOf(std::string_view before, std::string_view after)
{
    std::string kind(before);
    constexpr std::string_view word = "epoch";
    if (const auto found = kind.find(word); found != std::string::npos) {
        const std::size_t first = std::min(kind.find_first_not_of("=-_", found + word.size()), kind.size());
        kind.erase(first, std::min(kind.find_first_not_of(digits, first), kind.size()) - first);
    }
    std::ranges::copy_if(after, std::back_inserter(kind),
                         [](char letter) { return digits.find(letter) == std::string_view::npos; });
    return kind;
}

/// Returns nothing for a name without a number, a number too large for a step, and a part of a split model.
std::optional<NumberedName> numbered(std::string_view stem, std::string_view extension)
{
    const auto [first, length] = numberIn(stem);
    const std::size_t end = stem.find_last_not_of(digits) + 1;
    if (length == 0 || (end < stem.size() && stem.substr(0, end).ends_with("-of-")))
        return std::nullopt;
    NumberedName name{kindOf(stem.substr(0, first), stem.substr(first + length)) + std::string(extension)};
    const char* begin = stem.data() + first;
    const auto [rest, code] = std::from_chars(begin, begin + length, name.step);
    return code == std::errc() ? std::optional(name) : std::nullopt;
}

using Kinds = std::map<std::string, std::vector<SeriesMember>>;

/// Sorts the members of the most frequent kind. \param where  the folder or name, in messages
Result<SeriesMembers> chosenKind(Kinds kinds, const std::string& name, const std::string& where)
{
    if (kinds.empty())
        return Error{ErrorCode::NotFound,
                     "There are no checkpoints in '" + where
                         + "': no sub-folder and no weights file has one of the " + namesWanted + "."};
    auto most = kinds.begin();
    for (auto kind = kinds.begin(); kind != kinds.end(); ++kind)
        if (kind->second.size() > most->second.size())
            most = kind;
    SeriesMembers found{name, most->second, {}};
    for (const auto& [kind, members] : kinds)
        if (kind != most->first)
            found.notes.push_back(
                fmt::format("'{}' is not part of this series, because most names there are like '{}'.",
                            members.front().name, found.members.front().name));
    std::sort(found.members.begin(), found.members.end(), [](const SeriesMember& a, const SeriesMember& b) {
        return a.step != b.step ? a.step < b.step : a.name < b.name;
    });
    for (std::size_t i = 1; i < found.members.size(); ++i)
        if (found.members[i].step == found.members[i - 1].step)
            return Error{ErrorCode::InvalidArgument,
                         fmt::format("'{}' and '{}' in '{}' are both step {}; rename or move one of them.",
                                     found.members[i - 1].name, found.members[i].name, where,
                                     found.members[i].step)};
    return found;
}

bool hasTokenizer(const fs::path& folder)
{
    static constexpr std::array files{"tokenizer.json", "vocab.json", "tokenizer.model", "vocab.txt"};
    std::error_code code;
    return std::any_of(files.begin(), files.end(),
                       [&](const char* file) { return fs::exists(folder / file, code); });
}

/// Lets a member folder without a config or tokenizer use those of the series. A file finds those beside it by itself.
void shareFiles(SeriesMember& member, const fs::path& folder)
{
    std::error_code code;
    if (!fs::is_directory(member.path, code))
        return;
    if (!fs::exists(member.path / "config.json", code) && fs::exists(folder / "config.json", code))
        member.config = folder / "config.json";
    if (!hasTokenizer(member.path) && hasTokenizer(folder))
        member.tokenizer = folder;
}

bool hasWeights(const fs::path& folder)
{
    std::error_code code;
    for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code))
        if (std::error_code unknown; isWeightsFile(entry->path()) && entry->is_regular_file(unknown))
            return true;
    return false;
}

Result<SeriesMembers> membersOfFolder(const fs::path& folder)
{
    Kinds kinds;
    std::error_code code;
    for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
        std::error_code unknown;
        const fs::path& path = entry->path();
        const bool isFolder = entry->is_directory(unknown);
        if (!isFolder && !isWeightsFile(path))
            continue;
        const std::string name = path.filename().string();
        const auto split =
            isFolder ? numbered(name, "/") : numbered(path.stem().string(), path.extension().string());
        if (!split || isTrainerState(split->kind))
            continue;
        SeriesMember member{split->step, name, path};
        shareFiles(member, folder);
        kinds[split->kind].push_back(std::move(member));
    }
    if (code)
        return Error{ErrorCode::Io,
                     "The folder '" + folder.string() + "' cannot be read: " + code.message() + "."};
    for (auto& [kind, members] : kinds)
        std::sort(members.begin(), members.end(),
                  [](const SeriesMember& a, const SeriesMember& b) { return a.name < b.name; });
    std::error_code unknown;
    const fs::path whole = fs::absolute(folder, unknown).lexically_normal();
    const std::string name =
        (whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string();
    return chosenKind(std::move(kinds), name, folder.string());
}

Result<SeriesMembers> membersInCache(const std::string& name)
{
    const Result<std::vector<CachedModel>> models = cachedModels();
    if (!models)
        return models.error();
    const auto model = std::find_if(models->begin(), models->end(),
                                    [&](const CachedModel& one) { return one.name == name; });
    if (model == models->end())
        return Error{
            ErrorCode::NotFound,
            "There is no folder '" + name
                + "', and the Hugging Face cache holds no model of this name. Nothing is downloaded."};
    Kinds kinds;
    for (const CachedRevision& revision : model->revisions)
        for (const std::string& ref : revision.refs)
            if (const auto split = numbered(ref, "/"))
                kinds[split->kind].push_back({split->step, ref, revision.folder});
    return chosenKind(std::move(kinds), name, name);
}

} // namespace

Result<SeriesMembers> seriesMembers(const fs::path& folder)
{
    std::error_code code;
    if (fs::is_directory(folder, code))
        return membersOfFolder(folder);
    CachedModelRequest request;
    if (!fs::exists(folder, code) && parseCachedModel(folder.string(), request) && request.revision.empty())
        return membersInCache(request.name);
    return Error{
        ErrorCode::NotFound,
        "'" + folder.string()
            + "' is not a folder of checkpoints; name a folder whose sub-folders or weights files have "
            + namesWanted + "."};
}

bool isFolderOfCheckpoints(const fs::path& folder)
{
    std::error_code code;
    if (!fs::is_directory(folder, code) || hasWeights(folder))
        return false;
    const Result<SeriesMembers> found = membersOfFolder(folder);
    return found
        && std::ranges::count_if(found->members,
                                 [](const SeriesMember& member) { return hasWeights(member.path); })
        >= 2;
}

} // namespace headwise
