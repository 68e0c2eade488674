#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

namespace headwise {

/// "Cannot write 'x.h5': No space left on device; …", with what to do about it where there is something.
/// \param number an errno
Error cannotWrite(const std::filesystem::path& path, int number);

/// Forces what was written to a file to disk, however often that is interrupted. 0, or the errno of what went wrong.
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

/// Puts what `content` writes in place of what `path` holds, so that a crash, a kill or a full disk leaves the old file
/// or the complete new one: written beside it, forced to disk, renamed, the folder forced to disk. A symlink keeps
/// pointing where it did. A device, a pipe or a socket is never replaced. What killed processes left of it is removed.
/// Errors: Io, naming the path; what `content` returns. Nothing is left beside it then.
Result<Done> replaceFile(const std::filesystem::path& path,
                         const std::function<Result<Done>(FileWriter&)>& content);
Result<Done> replaceFile(const std::filesystem::path& path, std::span<const char> bytes);

/// Whether replaceFile has a folder it may write in and no file that it may not; for long work that ends in a file.
/// Errors: Io, naming the path.
Result<Done> canReplaceFile(const std::filesystem::path& path);

/// Whether there is no process of that number any more.
bool hasEnded(int process);

/// Removes what killed processes left in `folder` of files that replaceFile() was writing there.
void sweepTemporaries(const std::filesystem::path& folder);

enum class Existing { Refuse, Replace };

/// Makes the folder `path` hold exactly what `content` writes into the folder it is given: one beside it, which is
/// renamed when it is complete and on disk. Whoever looks sees the old folder or the new one, never half of either. What
/// killed processes left of it is removed.
/// \param existing   what to do if `path` holds files
/// Errors: InvalidArgument if it does and `existing` is Refuse, if it holds folders (it is not one we would have
/// written, and all of it would go), or if it is no folder; Io; what `content` returns. The old one is then untouched.
Result<Done> replaceFolder(const std::filesystem::path& path, Existing existing,
                           const std::function<Result<Done>(const std::filesystem::path& folder)>& content);

/// Whether replaceFolder would begin, for long work that ends in a folder. Errors: as there.
Result<Done> canReplaceFolder(const std::filesystem::path& path, Existing existing);

} // namespace headwise
