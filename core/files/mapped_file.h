#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <filesystem>
#include <span>

namespace headwise {

/// How much of a file is mapped.
enum class Mapping {
    Whole,
    HeadIfShort, ///< The first mebibytes alone, if all of it would take too much of the address space left (RLIMIT_AS).
};

/// A regular file mapped as read-only bytes. Nothing is read from disk before it is accessed.
///
/// The mapping lives as long as the object, even if the file is removed or replaced by renaming. If another program
/// shortens the file in place, or the disk fails, the missing bytes read as 0 instead of ending the program (SIGBUS), and
/// isIntact() becomes false. It also becomes false if another program writes into the file.
/// Threads: several threads may read the bytes at once.
class MappedFile {
public:
    /// Errors: NotFound; Unsupported if it is not a regular file (a folder, a pipe, a device); Io.
    static Result<MappedFile> open(const std::filesystem::path& path, Mapping mapping = Mapping::Whole);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    const std::filesystem::path& path() const { return m_path; }
    std::span<const std::byte> bytes() const { return m_bytes; } ///< As far as they are mapped.
    std::size_t size() const { return m_size; }                  ///< Size of the whole file.
    bool isWhole() const { return m_bytes.size() == m_size; }    ///< Tells whether bytes() is the whole file.

    /// Copies bytes, mapped or not. Bytes that are no longer there are 0, and isIntact() becomes false.
    void read(std::size_t first, std::span<std::byte> out) const;

    /// Tells whether every byte read so far was there and nothing was written into the file since it was opened.
    bool isIntact() const;

private:
    MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, int guard);
    void swap(MappedFile& other) noexcept;

    std::filesystem::path m_path;
    std::span<const std::byte> m_bytes;
    std::size_t m_size = 0;
    int m_guard = -1;      ///< Index in the signal handler's table; -1 if that is full.
    int m_descriptor = -1; ///< Stays open if the file is not mapped whole.
};

} // namespace headwise
