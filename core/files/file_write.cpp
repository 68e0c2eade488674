#include "core/files/file_write.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace headwise {
namespace {

constexpr std::size_t fileWriteBlockBytes = std::size_t(16) << 20;

/// Advice to the user for an errno.
std::string_view remedy(int number)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return "; free some space or name another place. Any existing file is unchanged";
    case EACCES:
    case EPERM:
    case EROFS: return "; name another place, or change its permissions";
    case ENOENT:
    case ENOTDIR: return "; create its folder first";
    case EISDIR: return "; name a file";
    case ENAMETOOLONG: return "; name a shorter one";
    case EIO: return "; check the disk. Any existing file is unchanged";
    default: return "";
    }
}

std::filesystem::path behindLink(const std::filesystem::path& path)
{
    std::error_code error;
    const std::filesystem::path resolved =
        std::filesystem::is_symlink(path, error) ? std::filesystem::weakly_canonical(path, error) : path;
    return error ? path : resolved;
}

/// Returns a temporary name in the file's own folder, so that renaming never copies. It is hidden and unique to the
/// process and thread.
std::filesystem::path temporaryBeside(const std::filesystem::path& path)
{
    static std::atomic<unsigned> counter = 0;
    return path.parent_path()
        / ("." + path.filename().string() + "." + std::to_string(::getpid()) + "-" + std::to_string(counter++)
           + ".tmp");
}

/// Returns the target's name if `temporary` is a temporaryBeside() name of a process that has ended; empty otherwise.
std::string abandonedName(const std::filesystem::path& temporary)
{
    const std::string name = temporary.filename().string();
    const std::size_t number = name.rfind('-'), dot = name.rfind('.', number);
    if (!name.starts_with('.') || !name.ends_with(".tmp") || number == std::string::npos
        || dot == std::string::npos || dot == 0)
        return {};
    int process = 0;
    const char* end = name.data() + number;
    const auto [stop, wrong] = std::from_chars(name.data() + dot + 1, end, process);
    return wrong == std::errc() && stop == end && hasEnded(process) ? name.substr(1, dot - 1) : std::string();
}

/// Removes the temporaries that killed processes left beside `target`.
void sweepTemporariesOf(const std::filesystem::path& target)
{
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        std::error_code ignored;
        if (abandonedName(entry->path()) == target.filename())
            std::filesystem::remove_all(entry->path(), ignored);
    }
}

/// Forces a file or the names in a folder to disk. Returns 0 or an errno.
int sync(const std::filesystem::path& path)
{
    const int file = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    const int number = forceToDisk(file);
    ::close(file);
    return number == EINVAL ? 0 : number; // not every file system supports it
}

/// Writes a complete file to disk, for replaceFile.
Result<Done> writeFile(const std::filesystem::path& path, int file, mode_t mode,
                       const std::function<Result<Done>(FileWriter&)>& content)
{
    if (mode != 0 && ::fchmod(file, mode) != 0)
        return cannotWrite(path, errno);
    FileWriter writer(path, file);
    if (Result<Done> written = content(writer); !written)
        return written;
    if (const int number = forceToDisk(file); number != 0)
        return cannotWrite(path, number);
    return Done{};
}

/// Removes a trailing slash, which would make the file name empty.
std::filesystem::path folderPath(const std::filesystem::path& path)
{
    return behindLink(path.has_filename() ? path : path.parent_path());
}

Result<Done> syncContent(const std::filesystem::path& path, const std::filesystem::path& folder)
{
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        std::error_code unknown;
        if (entry.is_symlink(unknown))
            continue;
        if (const int number = sync(entry.path()); number != 0)
            return cannotWrite(path, number);
    }
    if (error)
        return cannotWrite(path, error.value());
    if (const int number = sync(folder); number != 0)
        return cannotWrite(path, number);
    return Done{};
}

/// Renames `complete` to `target`. If `target` exists, the two swap names in one step.
int exchange(const std::filesystem::path& complete, const std::filesystem::path& target)
{
    if (::rename(complete.c_str(), target.c_str()) == 0)
        return 0; // there was no folder, or an empty one
    if (errno != ENOTEMPTY && errno != EEXIST)
        return errno;
    if (::renameat2(AT_FDCWD, complete.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    // This file system cannot swap names: move the old folder aside, and back if the rename fails.
    const std::filesystem::path aside = temporaryBeside(target);
    if (::rename(target.c_str(), aside.c_str()) != 0)
        return errno;
    if (::rename(complete.c_str(), target.c_str()) != 0) {
        const int number = errno;
        ::rename(aside.c_str(), target.c_str());
        return number;
    }
    return ::rename(aside.c_str(), complete.c_str()) == 0 ? 0 : errno;
}

/// Checks that the path is usable: not a dangling link, and short enough for the temporary name as well.
Result<Done> checkName(const std::filesystem::path& path)
{
    struct stat status { };
    if (::lstat(path.c_str(), &status) != 0 && errno == ENAMETOOLONG)
        return cannotWrite(path, ENAMETOOLONG);
    std::error_code error;
    if (std::filesystem::is_symlink(path, error) && ::stat(path.c_str(), &status) != 0)
        return Error{ErrorCode::Io,
                     "'" + path.string() + "' is a link to '"
                         + std::filesystem::read_symlink(path, error).string()
                         + "', which does not exist; name that file itself, or remove the link."};
    const std::filesystem::path target = behindLink(path);
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    const long longest = ::pathconf(folder.c_str(), _PC_NAME_MAX);
    if (longest > 0 && temporaryBeside(target).filename().string().size() > static_cast<std::size_t>(longest))
        return cannotWrite(path, ENAMETOOLONG);
    return Done{};
}

} // namespace

Error cannotWrite(const std::filesystem::path& path, int number)
{
    return {ErrorCode::Io,
            "Cannot write '" + path.string() + "': " + std::generic_category().message(number)
                + std::string(remedy(number)) + "."};
}

int forceToDisk(int file)
{
    int done = ::fsync(file);
    while (done != 0 && errno == EINTR) // on some network file systems this waits for the server
        done = ::fsync(file);
    return done == 0 ? 0 : errno;
}

bool hasEnded(int process)
{
    return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

void sweepTemporaries(const std::filesystem::path& folder)
{
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (!abandonedName(entry.path()).empty() && entry.is_regular_file(error))
            ::unlink(entry.path().c_str());
}

Result<Done> canReplaceFile(const std::filesystem::path& path)
{
    if (Result<Done> named = checkName(path); !named)
        return named;
    const std::filesystem::path target = behindLink(path);
    struct stat old { };
    if (::stat(target.c_str(), &old) == 0) {
        if (S_ISDIR(old.st_mode))
            return cannotWrite(path, EISDIR);
        // Renaming over a device such as /dev/null would remove it for the whole machine.
        if (!S_ISREG(old.st_mode))
            return Error{ErrorCode::Io,
                         "'" + path.string() + "' is a device, a pipe or a socket; name a file to write."};
        if (::access(target.c_str(), W_OK) != 0)
            return cannotWrite(path, errno);
    }
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        return cannotWrite(path, errno);
    return Done{};
}

Result<Done> FileWriter::write(std::span<const std::byte> bytes)
{
    while (!bytes.empty()) {
        const ssize_t count = ::write(m_file, bytes.data(), std::min(bytes.size(), fileWriteBlockBytes));
        if (count < 0 && errno != EINTR)
            return cannotWrite(m_path, errno);
        if (count > 0)
            bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return Done{};
}

Result<Done> replaceFile(const std::filesystem::path& path, std::span<const char> bytes)
{
    return replaceFile(path, [&](FileWriter& writer) { return writer.write(std::as_bytes(bytes)); });
}

Result<Done> replaceFile(const std::filesystem::path& path,
                         const std::function<Result<Done>(FileWriter&)>& content)
{
    if (const Result<Done> writable = canReplaceFile(path); !writable)
        return writable;
    const std::filesystem::path target = behindLink(path);
    struct stat old { };
    const bool exists = ::stat(target.c_str(), &old) == 0;
    const std::filesystem::path temporary = temporaryBeside(target);
    ::unlink(temporary.c_str()); // left by a killed process with our process id
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return cannotWrite(path, errno);
    Result<Done> result = writeFile(path, file, exists ? old.st_mode & 07777 : 0, content);
    if (::close(file) != 0 && result)
        result = cannotWrite(path, errno);
    if (result && ::rename(temporary.c_str(), target.c_str()) != 0)
        result = cannotWrite(path, errno);
    if (!result) {
        ::unlink(temporary.c_str());
        return result;
    }
    sweepTemporariesOf(target);
    sync(target.parent_path()); // the rename has already happened, so a failure here is not reported
    return result;
}

Result<Done> canReplaceFolder(const std::filesystem::path& path, Existing existing)
{
    if (Result<Done> named = checkName(path.has_filename() ? path : path.parent_path()); !named)
        return named;
    const std::filesystem::path target = folderPath(path);
    const std::filesystem::path parent = target.has_parent_path() ? target.parent_path() : ".";
    std::error_code error;
    if (std::filesystem::exists(target, error)) {
        if (!std::filesystem::is_directory(target, error))
            return Error{ErrorCode::InvalidArgument,
                         "'" + path.string() + "' is a file; a folder is needed to write into."};
        for (const auto& entry : std::filesystem::directory_iterator(target, error)) {
            if (existing == Existing::Refuse)
                return Error{ErrorCode::InvalidArgument,
                             "Folder '" + path.string()
                                 + "' is not empty; name another one, or allow replacing it (--force)."};
            if (std::error_code dangling; entry.is_directory(dangling))
                return Error{ErrorCode::InvalidArgument,
                             "Folder '" + path.string() + "' holds the folder '"
                                 + entry.path().filename().string()
                                 + "', which replacing would delete; name another one."};
        }
        if (error)
            return cannotWrite(path, error.value());
    } else if (!std::filesystem::is_directory(parent, error)) {
        return Error{ErrorCode::Io,
                     "Cannot write '" + path.string() + "': there is no folder '" + parent.string() + "'."};
    }
    if (::access(parent.c_str(), W_OK | X_OK) != 0)
        return cannotWrite(path, errno);
    return Done{};
}

Result<Done> replaceFolder(const std::filesystem::path& path, Existing existing,
                           const std::function<Result<Done>(const std::filesystem::path& folder)>& content)
{
    if (const Result<Done> writable = canReplaceFolder(path, existing); !writable)
        return writable;
    const std::filesystem::path target = folderPath(path);
    const std::filesystem::path temporary = temporaryBeside(target);
    std::error_code ignored;
    std::filesystem::remove_all(temporary, ignored); // left by a killed process with our process id
    if (::mkdir(temporary.c_str(), 0777) != 0)
        return cannotWrite(path, errno);
    Result<Done> result = content(temporary);
    struct stat old { };
    if (result && ::stat(target.c_str(), &old) == 0)
        ::chmod(temporary.c_str(), old.st_mode & 07777);
    if (result)
        result = syncContent(path, temporary);
    if (result)
        result = canReplaceFolder(path, existing); // files may have appeared there meanwhile
    if (result)
        if (const int number = exchange(temporary, target); number != 0)
            result = cannotWrite(path, number);
    std::filesystem::remove_all(temporary, ignored); // either the unfinished folder or the replaced one
    if (result)
        sweepTemporariesOf(target);
    sync(target.parent_path());
    return result;
}

} // namespace headwise
