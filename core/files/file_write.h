#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

namespace headwise {

/// Builds the message "Cannot write 'x.h5': No space left on device; …", with advice for known errors.
/// \param number an errno
Error cannotWrite(const std::filesystem::path& path, int number);

/// Forces a file's content to disk, retrying after interrupts. Returns 0 or an errno.
int forceToDisk(int file);

/// Appends to a file that replaceFile() is writing.
class FileWriter {
public:
    FileWriter(const std::filesystem::path& path, int file)
        : m_path(path)
        , m_file(file)
    {
    }

    /// Errors: Io, naming the path.
    Result<Done> write(std::span<const std::byte> bytes);

private:
    const std::filesystem::path& m_path;
    int m_file;
};

/// Replaces the file `path` with what `content` writes. A crash, a kill or a full disk leaves either the old file or the
/// complete new one: the data is written beside it, forced to disk and renamed, and the folder is forced to disk. A
/// symlink stays a symlink. A device, a pipe or a socket is never replaced. Temporaries of killed processes are removed.
/// Errors: Io, naming the path; errors of `content`. Nothing is left beside the file then.
Result<Done> replaceFile(const std::filesystem::path& path,
                         const std::function<Result<Done>(FileWriter&)>& content);
Result<Done> replaceFile(const std::filesystem::path& path, std::span<const char> bytes);

/// Checks before long work that replaceFile can write there: the folder is writable and any old file may be replaced.
/// Errors: Io, naming the path.
Result<Done> canReplaceFile(const std::filesystem::path& path);

/// Tells whether no process with this id is running.
bool hasEnded(int process);

/// Removes the temporaries that killed processes left in `folder`.
void sweepTemporaries(const std::filesystem::path& folder);

enum class Existing { Refuse, Replace };

/// Makes the folder `path` hold exactly what `content` writes. `content` writes into a new folder beside it, which is
/// renamed when it is complete and on disk; others see the old folder or the new one, never a mixture. Temporaries of
/// killed processes are removed.
/// \param existing   whether files in `path` may be replaced
/// Errors: InvalidArgument if there are files and `existing` is Refuse, if `path` holds folders (Headwise never writes
/// those, and all would be deleted), or if it is not a folder; Io; errors of `content`. The old folder is untouched then.
Result<Done> replaceFolder(const std::filesystem::path& path, Existing existing,
                           const std::function<Result<Done>(const std::filesystem::path& folder)>& content);

/// Checks before long work that replaceFolder would begin. Errors: as there.
Result<Done> canReplaceFolder(const std::filesystem::path& path, Existing existing);

} // namespace headwise
