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

/// Targets of the references of text and bytes of variable length: the global heap of an HDF5 file, read by us because
/// the library (1.10) trusts it and crashes where it is wrong.
/// Source: HDF5 File Format Specification 3.0, III.E "Disk Format: Level 1E - Global Heap".
class GlobalHeap {
public:
    /// \param file the whole file, which must outlive the heap
    explicit GlobalHeap(std::span<const std::byte> file)
        : m_file(file)
    {
    }

    /// The bytes of one reference; nothing if it points nowhere, or if all that was asked for is together larger than the
    /// file, in which everything is stored once.
    std::optional<std::string> at(const std::byte* reference);
    void restart() { m_given = 0; } ///< Begins a new array.

private:
    using Collection = std::map<std::uint32_t, std::span<const std::byte>>; // objects by index

    const Collection* collection(std::uint64_t address);

    std::span<const std::byte> m_file;
    std::map<std::uint64_t, std::optional<Collection>> m_collections; // by address; nothing: damaged
    std::size_t m_given = 0;
};

} // namespace headwise::hdf5
