#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace headwise::hdf5 {

inline constexpr std::size_t referenceBytes =
    16; ///< u32 length, u64 address of the collection, u32 index in it.

/// The global heap of an HDF5 file, to which variable-length text and bytes refer. We read it ourselves because the
/// library (1.10) trusts it and crashes if it is damaged.
/// Source: HDF5 File Format Specification 3.0, III.E "Disk Format: Level 1E - Global Heap".
class GlobalHeap {
public:
    /// \param file the whole file, which must outlive the heap
    explicit GlobalHeap(std::span<const std::byte> file)
        : m_file(file)
    {
    }

    /// Returns the bytes of one reference. Nothing if it points nowhere, or if all requests together exceed the file's
    /// size, since a file stores everything once.
    std::optional<std::string> at(const std::byte* reference);
    void restart() { m_given = 0; } ///< Resets the total of requested bytes for a new array.

private:
    using Collection = std::map<std::uint32_t, std::span<const std::byte>>; // objects by index

    const Collection* collection(std::uint64_t address);

    std::span<const std::byte> m_file;
    // by address; an empty optional is a damaged collection
    std::map<std::uint64_t, std::optional<Collection>> m_collections;
    std::size_t m_given = 0;
};

} // namespace headwise::hdf5
