#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

// The models that Hugging Face's libraries keep on this machine: HUB/models--ORG--NAME with refs/BRANCH, which hold the
// commit they name, and snapshots/COMMIT, whose files are symlinks into blobs. It is read and never written, and nothing is
// downloaded.

/// One snapshot of a cached model.
struct CachedRevision {
    std::string commit;
    std::vector<std::string> refs; ///< Branches and tags that name it: "main".
    std::filesystem::path folder;
    std::int64_t bytes = 0;    ///< The files of the snapshot; snapshots share files that are equal.
    std::int64_t modified = 0; ///< When the folder last changed, in seconds since 1970.
};

struct CachedModel {
    std::string name;                      ///< "gpt2" or "EleutherAI/pythia-70m"
    std::vector<CachedRevision> revisions; ///< Never empty; the ones with refs come first.
};

/// Returns the folder of the cache, whether or not it exists: $HF_HUB_CACHE, else $HF_HOME/hub, else
/// ~/.cache/huggingface/hub.
std::filesystem::path modelCacheFolder();

/// Lists the cached models by name; empty without a cache.
/// Errors: Io if the folder cannot be read.
Result<std::vector<CachedModel>> cachedModels();

/// Returns the name of the model that a file or folder in a snapshot belongs to; empty outside one.
std::string cachedModelName(const std::filesystem::path& path);

/// Reads "NAME", "ORG/NAME" or either with "@REVISION".
struct CachedModelRequest {
    std::string name;
    std::string
        revision; ///< A commit or its beginning, a branch or a tag; empty: main, or the only one there is.
};

/// Returns whether a text has the form of a model's name with or without a revision, and its parts.
bool parseCachedModel(std::string_view text, CachedModelRequest& request);

/// Returns the snapshot of a model.
/// Errors: NotFound (no such model or revision; says that nothing is downloaded), InvalidArgument (several revisions, listed).
Result<std::filesystem::path> findCachedModel(const CachedModelRequest& request);

/// Returns the path of the model that the user named: `path` itself if it exists or cannot be a name, else the snapshot.
/// \param revision of --revision; empty: that of the name, if it has one
/// Errors: those of findCachedModel; InvalidArgument for a revision of a path, or for two of them.
Result<std::filesystem::path> modelPath(const std::filesystem::path& path, const std::string& revision);

} // namespace headwise
