#include "core/files/hdf5_heap.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace headwise::hdf5 {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the file's numbers are read as they lie in memory");

constexpr std::size_t headerBytes =
    16; // "GCOL", version, 3 reserved bytes, u64 size of the collection; an object's header is as long

template <typename T>
T number(const std::byte* bytes)
{
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

} // namespace

const GlobalHeap::Collection* GlobalHeap::collection(std::uint64_t address)
{
    const auto [known, isNew] = m_collections.try_emplace(address);
    if (!isNew)
        return known->second ? &*known->second : nullptr;
    if (address > m_file.size() || m_file.size() - address < headerBytes)
        return nullptr;
    const std::span<const std::byte> rest = m_file.subspan(address);
    const auto size = number<std::uint64_t>(rest.data() + 8);
    if (std::memcmp(rest.data(), "GCOL\1", 5) != 0 || size < headerBytes || size > rest.size())
        return nullptr;
    Collection objects;
    for (std::size_t at = headerBytes; size - at >= headerBytes;) {
        const auto index = number<std::uint16_t>(rest.data() + at);
        const auto bytes = number<std::uint64_t>(rest.data() + at + 8);
        if (index == 0) // the free space, which comes last
            break;
        at += headerBytes;
        if (bytes > size - at)
            return nullptr;
        objects[index] = rest.subspan(at, bytes);
        at += std::min<std::size_t>((bytes + 7) / 8 * 8, size - at);
    }
    return &known->second.emplace(std::move(objects));
}

std::optional<std::string> GlobalHeap::at(const std::byte* reference)
{
    const auto length = number<std::uint32_t>(reference);
    if (length == 0)
        return std::string();
    if (length > m_file.size() - m_given)
        return std::nullopt;
    const Collection* objects = collection(number<std::uint64_t>(reference + 4));
    if (!objects)
        return std::nullopt;
    const auto object = objects->find(number<std::uint32_t>(reference + 12));
    if (object == objects->end() || object->second.size() < length)
        return std::nullopt;
    m_given += length;
    return std::string(reinterpret_cast<const char*>(object->second.data()), length);
}

} // namespace headwise::hdf5
