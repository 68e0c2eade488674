#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <filesystem>
#include <span>

namespace headwise {

/// A regular file as read-only bytes, mapped: nothing is read from disk before it is touched.
///
/// The mapping lives as long as the object and survives that the file is replaced by renaming or removed. If another
/// program shortens the file in place, or the disk fails, the bytes that are gone read as 0 instead of ending the program
/// (SIGBUS), and isIntact() turns false; so it does if another program writes into the file.
/// Threads: reading the bytes from several threads is fine.
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

    /// Whether every byte touched so far was there and the file was not written into since it was opened.
    bool isIntact() const;

private:
    MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, int guard);

    std::filesystem::path m_path;
    std::span<const std::byte> m_bytes;
    int m_guard = -1; ///< Its entry in the table of the signal handler; -1 if that is full.
};

} // namespace headwise
