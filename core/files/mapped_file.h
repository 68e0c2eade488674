#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <filesystem>
#include <span>

namespace headwise {

/// A regular file mapped as read-only bytes. Nothing is read from disk before it is accessed.
///
/// The mapping lives as long as the object, even if the file is removed or replaced by renaming. If another program
/// shortens the file in place, or the disk fails, the missing bytes read as 0 instead of ending the program (SIGBUS), and
/// isIntact() becomes false. It also becomes false if another program writes into the file.
/// Threads: several threads may read the bytes at once.
class MappedFile {
public:
    /// Errors: NotFound; Unsupported if it is not a regular file (a folder, a pipe, a device); Io.
    static Result<MappedFile> open(const std::filesystem::path& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    const std::filesystem::path& path() const { return m_path; }
    std::span<const std::byte> bytes() const { return m_bytes; }

    /// Tells whether every byte read so far was there and nothing was written into the file since it was opened.
    bool isIntact() const;

private:
    MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, int guard);

    std::filesystem::path m_path;
    std::span<const std::byte> m_bytes;
    int m_guard = -1; ///< Index in the signal handler's table; -1 if that is full.
};

} // namespace headwise
