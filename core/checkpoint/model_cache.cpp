#include "core/checkpoint/model_cache.h"

#include "core/files/json.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace headwise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view modelPrefix = "models--";

std::string environment(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

bool isCacheFolder(const fs::path& path)
{
    std::error_code code;
    return fs::is_directory(path, code);
}

/// "org/name" of "models--org--name"; empty for other names.
std::string nameOfFolder(std::string_view folder)
{
    if (!folder.starts_with(modelPrefix))
        return {};
    std::string name(folder.substr(modelPrefix.size()));
    if (const auto between = name.find("--"); between != std::string::npos)
        name.replace(between, 2, "/");
    return name;
}

fs::path folderOfName(const std::string& name)
{
    std::string folder = std::string(modelPrefix) + name;
    if (const auto slash = folder.find('/'); slash != std::string::npos)
        folder.replace(slash, 1, "--");
    return modelCacheFolder() / folder;
}

/// The folders or files in a folder, sorted; empty if it cannot be read.
std::vector<fs::path> entriesOf(const fs::path& folder, std::error_code& error)
{
    std::vector<fs::path> entries;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        entries.push_back(entry->path());
    std::sort(entries.begin(), entries.end());
    return entries;
}

/// The bytes of a snapshot's files, which are symlinks; those of broken ones count nothing.
std::int64_t bytesIn(const fs::path& folder)
{
    std::int64_t bytes = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        struct stat status = {};
        if (::stat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode))
            bytes += status.st_size;
    }
    return bytes;
}

std::int64_t modifiedAt(const fs::path& folder)
{
    struct stat status = {};
    return ::stat(folder.c_str(), &status) == 0 ? std::int64_t{status.st_mtime} : 0;
}

struct CachedRef {
    std::string name, commit;
};

/// The branches and tags of a model, each with the commit it names.
std::vector<CachedRef> refsOf(const fs::path& model)
{
    std::vector<CachedRef> refs;
    std::error_code error;
    const fs::path folder = model / "refs";
    for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        std::error_code code;
        if (!entry->is_regular_file(code))
            continue;
        const Result<std::string> text = readTextFile(entry->path(), 1024);
        if (!text)
            continue;
        const auto last = text->find_last_not_of(" \t\r\n");
        refs.push_back({entry->path().lexically_relative(folder).generic_string(),
                        last == std::string::npos ? "" : text->substr(0, last + 1)});
    }
    std::sort(refs.begin(), refs.end(),
              [](const CachedRef& a, const CachedRef& b) { return a.name < b.name; });
    return refs;
}

/// The snapshots of a model without their sizes.
std::vector<CachedRevision> revisionsOf(const fs::path& model)
{
    const std::vector<CachedRef> refs = refsOf(model);
    std::error_code error;
    std::vector<CachedRevision> revisions;
    for (const fs::path& folder : entriesOf(model / "snapshots", error)) {
        if (!isCacheFolder(folder))
            continue;
        CachedRevision revision;
        revision.commit = folder.filename().string();
        revision.folder = folder;
        for (const CachedRef& ref : refs)
            if (ref.commit == revision.commit)
                revision.refs.push_back(ref.name);
        revisions.push_back(std::move(revision));
    }
    std::stable_partition(revisions.begin(), revisions.end(),
                          [](const CachedRevision& one) { return !one.refs.empty(); });
    return revisions;
}

/// "1a2b… (main), 3c4d…", the first few.
std::string listedRevisions(const std::vector<CachedRevision>& revisions)
{
    constexpr std::size_t most = 6;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, revisions.size()); ++i) {
        text += (i > 0 ? ", " : "") + revisions[i].commit;
        for (std::size_t r = 0; r < revisions[i].refs.size(); ++r)
            text += (r == 0 ? " (" : ", ") + revisions[i].refs[r];
        text += revisions[i].refs.empty() ? "" : ")";
    }
    if (revisions.size() > most)
        text += " and " + std::to_string(revisions.size() - most) + " more";
    return text;
}

bool hasRef(const CachedRevision& revision, const std::string& ref)
{
    return std::find(revision.refs.begin(), revision.refs.end(), ref) != revision.refs.end();
}

/// The revisions that a text may mean: the one that it names, else those whose commits begin with it.
std::vector<CachedRevision> meantBy(const std::string& revision, const std::vector<CachedRevision>& all)
{
    for (const CachedRevision& one : all)
        if (one.commit == revision || hasRef(one, revision))
            return {one};
    std::vector<CachedRevision> meant;
    std::copy_if(all.begin(), all.end(), std::back_inserter(meant),
                 [&](const CachedRevision& one) { return one.commit.starts_with(revision); });
    return meant;
}

/// The revision of main, or the only one; all of them if neither exists.
std::vector<CachedRevision> usualOf(const std::vector<CachedRevision>& all)
{
    for (const CachedRevision& one : all)
        if (hasRef(one, "main"))
            return {one};
    return all;
}

bool isNamePart(std::string_view part)
{
    const auto isAllowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'
            || c == '_' || c == '.';
    };
    return !part.empty() && part.front() != '.' && part.front() != '-'
        && part.find("--") == std::string_view::npos && std::all_of(part.begin(), part.end(), isAllowed);
}

/// Whether a name ends like a file of weights or a session, which the user rather meant.
bool endsLikeFile(std::string_view name)
{
    static constexpr std::array endings{".safetensors", ".gguf", ".npz", ".pt",  ".pth",
                                        ".bin",         ".json", ".h5",  ".ckpt"};
    return std::any_of(endings.begin(), endings.end(), [&](const char* end) { return name.ends_with(end); });
}

} // namespace

fs::path modelCacheFolder()
{
    for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
        if (const std::string hub = environment(name); !hub.empty())
            return hub;
    if (const std::string home = environment("HF_HOME"); !home.empty())
        return fs::path(home) / "hub";
    if (const std::string caches = environment("XDG_CACHE_HOME"); !caches.empty())
        return fs::path(caches) / "huggingface" / "hub";
    return fs::path(environment("HOME")) / ".cache" / "huggingface" / "hub";
}

Result<std::vector<CachedModel>> cachedModels()
{
    const fs::path hub = modelCacheFolder();
    std::vector<CachedModel> models;
    std::error_code error;
    if (!fs::exists(hub, error))
        return models;
    const std::vector<fs::path> folders = entriesOf(hub, error);
    if (error)
        return Error{ErrorCode::Io,
                     "The Hugging Face cache '" + hub.string() + "' cannot be read: " + error.message()
                         + "; change its permissions."};
    for (const fs::path& folder : folders) {
        CachedModel model{nameOfFolder(folder.filename().string()), {}};
        if (model.name.empty())
            continue;
        model.revisions = revisionsOf(folder);
        for (CachedRevision& revision : model.revisions) {
            revision.bytes = bytesIn(revision.folder);
            revision.modified = modifiedAt(revision.folder);
        }
        if (!model.revisions.empty())
            models.push_back(std::move(model));
    }
    return models;
}

std::string cachedModelName(const fs::path& path)
{
    std::error_code code;
    const fs::path full = fs::absolute(path, code).lexically_normal();
    std::vector<std::string> parts;
    for (const fs::path& part : full)
        parts.push_back(part.string());
    for (std::size_t i = 0; i + 2 < parts.size(); ++i)
        if (parts[i + 1] == "snapshots")
            if (std::string name = nameOfFolder(parts[i]); !name.empty())
                return name;
    return {};
}

bool parseCachedModel(std::string_view text, CachedModelRequest& request)
{
    const auto at = text.find('@');
    const std::string_view name = text.substr(0, at);
    const auto slash = name.find('/');
    const bool isName = isNamePart(name.substr(0, slash))
        && (slash == std::string_view::npos || isNamePart(name.substr(slash + 1)));
    if (!isName || (at != std::string_view::npos && at + 1 == text.size()))
        return false;
    request.name = name;
    request.revision = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    return true;
}

Result<fs::path> findCachedModel(const CachedModelRequest& request)
{
    const std::string quoted = "'" + request.name + "'";
    const std::vector<CachedRevision> all = revisionsOf(folderOfName(request.name));
    if (all.empty())
        return Error{ErrorCode::NotFound,
                     quoted + " does not exist, and the Hugging Face cache '" + modelCacheFolder().string()
                         + "' holds no model of this name; headwise list-models lists those that it holds. "
                           "Nothing is downloaded."};
    const std::vector<CachedRevision> meant =
        request.revision.empty() ? usualOf(all) : meantBy(request.revision, all);
    if (meant.empty())
        return Error{ErrorCode::NotFound,
                     "The Hugging Face cache holds " + quoted + " without the revision '" + request.revision
                         + "'; it has " + listedRevisions(all) + ". Nothing is downloaded."};
    if (meant.size() > 1)
        return Error{ErrorCode::InvalidArgument,
                     "The Hugging Face cache holds several revisions of " + quoted + ": "
                         + listedRevisions(meant) + "; choose one with --revision REVISION."};
    return meant.front().folder;
}

Result<fs::path> modelPath(const fs::path& path, const std::string& revision)
{
    std::error_code code;
    const std::string text = path.string();
    CachedModelRequest request;
    const bool isThere = fs::status(path, code).type() != fs::file_type::not_found;
    if (isThere || !parseCachedModel(text, request)) {
        if (!revision.empty())
            return Error{ErrorCode::InvalidArgument,
                         "--revision chooses among the revisions of a model in the Hugging Face cache, but '"
                             + text + "' is a path."};
        return path;
    }
    if (!revision.empty() && !request.revision.empty() && request.revision != revision)
        return Error{ErrorCode::InvalidArgument,
                     "'" + text + "' and --revision " + revision + " name two revisions; leave one out."};
    if (!revision.empty())
        request.revision = revision;
    Result<fs::path> found = findCachedModel(request);
    if (!found && found.error().code == ErrorCode::NotFound && endsLikeFile(text))
        return path; // whoever opens it says that there is no such file
    return found;
}

} // namespace headwise
