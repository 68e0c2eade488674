#include "core/model/model_folder.h"

#include "core/files/file_write.h"
#include "core/tokenizer/tokenizer_source.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <system_error>

namespace headwise {

namespace {

namespace fs = std::filesystem;

constexpr std::array tokenizerFiles = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "merges.txt",     "tokenizer.model",       "chat_template.jinja",     "spiece.model",      "vocab.txt",
    "tokenizer.bin"};

constexpr std::array settingsOfTokenizers = {"tokenizer_config.json", "special_tokens_map.json",
                                             "added_tokens.json", "chat_template.jinja"};

Result<Done> copyIfThere(const fs::path& from, const fs::path& to)
{
    std::error_code code;
    if (!fs::is_regular_file(from, code))
        return Done{};
    fs::copy_file(from, to, code);
    if (code)
        return cannotWrite(to, code.value());
    return Done{};
}

/// The file under the name that readers look for, and what says how it is to be read.
Result<Done> copyTokenizerFile(const fs::path& file, const fs::path& to)
{
    const auto name = tokenizerFileName(file);
    if (!name)
        return name.error();
    if (name->empty())
        return Done{};
    Result<Done> done = copyIfThere(file, to / *name);
    const auto copyBeside = [&](const char* other) {
        if (done && *name != other)
            done = copyIfThere(file.parent_path() / other, to / other);
    };
    if (*name == "vocab.json" || *name == "merges.txt")
        for (const char* half : {"vocab.json", "merges.txt"})
            copyBeside(half);
    for (const char* settings : settingsOfTokenizers)
        copyBeside(settings);
    return done;
}

Result<Done> copyFilesBeside(const OriginalFiles& original, const fs::path& to)
{
    constexpr const char* generation = "generation_config.json";
    if (auto done = copyIfThere(original.folder / generation, to / generation); !done)
        return done;
    std::error_code code;
    const fs::path& from = original.tokenizer.empty() ? original.folder : original.tokenizer;
    if (!original.tokenizer.empty() && !fs::is_directory(from, code))
        return copyTokenizerFile(from, to);
    for (const char* name : tokenizerFiles)
        if (auto done = copyIfThere(from / name, to / name); !done)
            return done;
    return Done{};
}

/// Whether a file of the old folder goes with the old model: an index of shards would send readers to tensors that are no
/// longer meant, and another model's tokenizer would give ids words that they do not have.
bool goesWithModel(const fs::path& name)
{
    const auto is = [&](const char* other) { return name == other; };
    return is("model.safetensors.index.json") || is("generation_config.json")
        || std::any_of(tokenizerFiles.begin(), tokenizerFiles.end(), is);
}

/// Carries the old folder's other files over to the new one.
Result<Done> keepOthers(const fs::path& old, const fs::path& folder)
{
    std::error_code code;
    if (!fs::is_directory(old, code))
        return Done{};
    for (const auto& entry : fs::directory_iterator(old, code)) {
        const fs::path name = entry.path().filename();
        if (goesWithModel(name) || fs::exists(folder / name, code))
            continue;
        constexpr auto links = fs::copy_options::copy_symlinks;
        fs::copy(entry.path(), folder / name, links | fs::copy_options::create_hard_links, code);
        if (code) // a file system without hard links, or a file of another user
            fs::copy(entry.path(), folder / name, links, code);
        if (code)
            return cannotWrite(folder / name, code.value());
    }
    if (code)
        return cannotWrite(old, code.value());
    return Done{};
}

Result<Done> checkTarget(const fs::path& original, const fs::path& folder, ExistingFolder existing)
{
    std::error_code code;
    if (!fs::exists(folder, code))
        return Done{};
    if (!fs::is_directory(folder, code))
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("'{}' is a file; name a folder.", folder.string())};
    if (fs::equivalent(folder, original, code))
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("'{}' is the model itself; name another folder.", folder.string())};
    if (existing == ExistingFolder::Refuse && !fs::is_empty(folder, code))
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "The folder '{}' is not empty; name another one, or replace what is in it with --force.",
                folder.string())};
    return Done{};
}

/// Rewrites an error so that it names the requested folder, not the temporary one beside it.
Error aboutFolder(Error error, const fs::path& beside, const fs::path& folder)
{
    const std::string unknown = beside.string();
    if (unknown.empty())
        return error;
    if (const auto at = error.message.find(unknown); at != std::string::npos)
        error.message.replace(at, unknown.size(), folder.string());
    return error;
}

} // namespace

Result<Done> writeModelFolder(const OriginalFiles& original, const fs::path& folder, ExistingFolder existing,
                              const std::function<Result<Done>(const fs::path&)>& fill)
{
    if (const auto checked = checkTarget(original.folder, folder, existing); !checked)
        return checked;
    fs::path made;
    const auto content = [&](const fs::path& beside) {
        made = beside;
        Result<Done> done = fill(beside);
        if (done)
            done = copyFilesBeside(original, beside);
        return done ? keepOthers(folder, beside) : done;
    };
    const auto done = replaceFolder(
        folder, existing == ExistingFolder::Replace ? Existing::Replace : Existing::Refuse, content);
    return done ? done : aboutFolder(done.error(), made, folder);
}

} // namespace headwise
