#include "core/files/mapped_file.h"

#include "core/base/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <mutex>
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

/// The properties of a file that change when it is written in place or replaced.
struct Stamp {
    dev_t device = 0;
    ino_t number = 0;
    off_t size = 0;
    time_t seconds = 0;
    long nanoseconds = 0;

    bool operator==(const Stamp&) const = default;
    bool isOfSameFile(const Stamp& other) const { return device == other.device && number == other.number; }
};

Stamp stampOf(const struct stat& status)
{
    return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

/// The parts of a mapping that the signal handler may read. The table is static because a handler must not take a lock.
struct Guard {
    std::atomic<bool> isTaken = false;
    std::atomic<std::uintptr_t> begin = 0, end = 0;
    std::atomic<bool> isBroken = false;
    Stamp stamp; // when it was opened; the handler does not use it
};

constexpr int guardCount = 4096; // more than any checkpoint has shards
std::array<Guard, guardCount> guards;
struct sigaction previousAction;
long pageBytes = 4096;

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

/// Maps a page of zeros over a missing page of a mapped file, so that the read goes on. Passes any other fault on.
void onBusError(int, siginfo_t* info, void*)
{
    const int number = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (Guard& guard : guards) {
        if (address < guard.begin || address >= guard.end)
            continue;
        auto* const page =
            static_cast<std::byte*>(info->si_addr) - address % static_cast<std::uintptr_t>(pageBytes);
        void* const zeros = ::mmap(page, static_cast<std::size_t>(pageBytes), PROT_READ,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        guard.isBroken = true;
        errno = number;
        if (zeros != MAP_FAILED)
            return;
    }
    ::sigaction(SIGBUS, &previousAction,
                nullptr); // returning repeats the fault, which the other handler then gets
}

void installHandler()
{
    pageBytes = ::sysconf(_SC_PAGESIZE);
    struct sigaction action { };
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previousAction);
}

/// Enters these bytes into the table. Returns the index, or -1 if the table is full.
int watch(std::span<const std::byte> bytes, const Stamp& stamp)
{
    static std::once_flag installed;
    std::call_once(installed, installHandler);
    for (int i = 0; i < guardCount; ++i) {
        if (guards[i].isTaken.exchange(true))
            continue;
        guards[i].isBroken = false;
        guards[i].stamp = stamp;
        guards[i].end = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size());
        guards[i].begin = reinterpret_cast<std::uintptr_t>(bytes.data());
        return i;
    }
    return -1;
}

constexpr std::size_t headBytes = std::size_t(16) << 20; // longer than nearly every header

/// Returns how many bytes of a file to map. A file, or a shard of several, takes at most a quarter of the address space left.
std::size_t mappedBytes(std::size_t size, Mapping mapping)
{
    const bool fits = mapping == Mapping::Whole || 4 * static_cast<double>(size) <= addressSpaceLeft();
    return fits ? size : std::min(size, headBytes);
}

void unwatch(int i)
{
    guards[i].end = 0;
    guards[i].begin = 0;
    guards[i].isTaken = false;
}

} // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path, Mapping mapping)
{
    // O_NONBLOCK, because opening a pipe without a writer would wait for ever.
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
        return MappedFile(path, {}, -1);
    }
    const std::size_t mappedSize = mappedBytes(size, mapping);
    void* address = ::mmap(nullptr, mappedSize, PROT_READ, MAP_PRIVATE, file, 0);
    const int mapNumber = errno;
    if (address == MAP_FAILED || mappedSize == size)
        ::close(file);
    if (address == MAP_FAILED && mapNumber == ENOMEM)
        return Error{
            ErrorCode::Io,
            "Cannot map '" + path.string() + "': its " + std::to_string(size >> 20)
                + " MiB do not fit into the address space of this process; raise the limit (ulimit -v)."};
    if (address == MAP_FAILED)
        return failed(path, mapNumber);
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(address), mappedSize);
    MappedFile mapped(path, bytes, watch(bytes, stampOf(status)));
    if (mappedSize < size) {
        mapped.m_size = size;
        mapped.m_descriptor = file;
    }
    return mapped;
}

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, int guard)
    : m_path(std::move(path))
    , m_bytes(bytes)
    , m_size(bytes.size())
    , m_guard(guard)
{
}

MappedFile::MappedFile(MappedFile&& other) noexcept
{
    swap(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept
{
    swap(other);
    return *this;
}

void MappedFile::swap(MappedFile& other) noexcept
{
    std::swap(m_path, other.m_path);
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_size, other.m_size);
    std::swap(m_guard, other.m_guard);
    std::swap(m_descriptor, other.m_descriptor);
}

void MappedFile::read(std::size_t first, std::span<std::byte> out) const
{
    if (m_descriptor < 0) {
        std::ranges::copy(m_bytes.subspan(first, out.size()), out.begin());
        return;
    }
    while (!out.empty()) {
        const ssize_t count = ::pread(m_descriptor, out.data(), out.size(), static_cast<off_t>(first));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) { // shortened, or the disk fails
            std::ranges::fill(out, std::byte{0});
            if (m_guard >= 0)
                guards[m_guard].isBroken = true;
            return;
        }
        first += static_cast<std::size_t>(count);
        out = out.subspan(static_cast<std::size_t>(count));
    }
}

bool MappedFile::isIntact() const
{
    if (m_guard < 0)
        return true;
    if (guards[m_guard].isBroken)
        return false;
    struct stat status { };
    if (::stat(m_path.c_str(), &status) != 0)
        return true; // removed: the mapping still holds its bytes
    const Stamp now = stampOf(status);
    return !now.isOfSameFile(guards[m_guard].stamp) || now == guards[m_guard].stamp;
}

MappedFile::~MappedFile()
{
    if (m_guard >= 0)
        unwatch(m_guard);
    if (!m_bytes.empty())
        ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

} // namespace headwise
