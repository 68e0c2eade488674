#include "core/io/file_write.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace headwise {
namespace {

constexpr std::size_t blockBytes = std::size_t(16) << 20;

Error failed(const std::filesystem::path& path, int number)
{
    return {ErrorCode::Io,
            "Cannot write '" + path.string() + "': " + std::generic_category().message(number) + "."};
}

std::filesystem::path behindLink(const std::filesystem::path& path)
{
    std::error_code error;
    const std::filesystem::path resolved =
        std::filesystem::is_symlink(path, error) ? std::filesystem::weakly_canonical(path, error) : path;
    return error ? path : resolved;
}

/// 0, or the errno of what went wrong.
int writeAll(int file, std::span<const char> bytes)
{
    while (!bytes.empty()) {
        const ssize_t count = ::write(file, bytes.data(), std::min(bytes.size(), blockBytes));
        if (count < 0 && errno != EINTR)
            return errno;
        if (count > 0)
            bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return ::fsync(file) == 0 ? 0 : errno;
}

/// In the folder of the file, so that renaming never copies; hidden, and its own in every process and thread.
std::filesystem::path temporaryBeside(const std::filesystem::path& path)
{
    static std::atomic<unsigned> counter = 0;
    return path.parent_path()
        / ("." + path.filename().string() + "." + std::to_string(::getpid()) + "-" + std::to_string(counter++)
           + ".tmp");
}

void syncFolder(const std::filesystem::path& folder)
{
    const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return;
    ::fsync(file); // not every file system can; the rename itself has happened
    ::close(file);
}

} // namespace

Result<Done> canReplaceFile(const std::filesystem::path& path)
{
    const std::filesystem::path target = behindLink(path);
    struct stat old { };
    if (::stat(target.c_str(), &old) == 0) {
        if (S_ISDIR(old.st_mode))
            return failed(path, EISDIR);
        if (::access(target.c_str(), W_OK) != 0)
            return failed(path, errno);
    }
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        return failed(path, errno);
    return Done{};
}

Result<Done> replaceFile(const std::filesystem::path& path, std::span<const char> bytes)
{
    if (const Result<Done> writable = canReplaceFile(path); !writable)
        return writable;
    const std::filesystem::path target = behindLink(path);
    struct stat old { };
    const bool exists = ::stat(target.c_str(), &old) == 0;
    const std::filesystem::path temporary = temporaryBeside(target);
    ::unlink(temporary.c_str()); // of a killed process that had our number
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return failed(path, errno);
    int number = exists && ::fchmod(file, old.st_mode & 07777) != 0 ? errno : 0;
    if (number == 0)
        number = writeAll(file, bytes);
    if (::close(file) != 0 && number == 0)
        number = errno;
    if (number == 0 && ::rename(temporary.c_str(), target.c_str()) != 0)
        number = errno;
    if (number != 0) {
        ::unlink(temporary.c_str());
        return failed(path, number);
    }
    syncFolder(target.parent_path());
    return Done{};
}

} // namespace headwise
