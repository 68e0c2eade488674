#include "core/io/mapped_file.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace headwise {
namespace {

Error failed(const std::filesystem::path& path, int number)
{
    if (number == ENOENT || number == ENOTDIR)
        return {ErrorCode::NotFound, "There is no file '" + path.string() + "'."};
    return {ErrorCode::Io,
            "Cannot read '" + path.string() + "': " + std::generic_category().message(number) + "."};
}

} // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path)
{
    // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return failed(path, errno);
    struct stat status { };
    const int number = ::fstat(file, &status) == 0 ? 0 : errno;
    if (number != 0 || !S_ISREG(status.st_mode)) {
        ::close(file);
        if (number != 0)
            return failed(path, number);
        return Error{ErrorCode::Unsupported,
                     "'" + path.string() + "' is "
                         + (S_ISDIR(status.st_mode) ? "a folder" : "not a regular file")
                         + "; a file was expected."};
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) { // mmap refuses a length of 0
        ::close(file);
        return MappedFile(path, {});
    }
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    const int mapNumber = errno;
    ::close(file);
    if (address == MAP_FAILED)
        return failed(path, mapNumber);
    return MappedFile(path, {static_cast<const std::byte*>(address), size});
}

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
    : m_path(std::move(path))
    , m_bytes(bytes)
{
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : m_path(std::move(other.m_path))
    , m_bytes(std::exchange(other.m_bytes, {}))
{
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept
{
    std::swap(m_path, other.m_path);
    std::swap(m_bytes, other.m_bytes);
    return *this;
}

MappedFile::~MappedFile()
{
    if (!m_bytes.empty())
        ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

} // namespace headwise
