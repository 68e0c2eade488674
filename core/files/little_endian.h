#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace headwise {

/// Reads numbers one after another from untrusted bytes. Past the end it returns nothing.
class LittleEndianReader {
public:
    explicit LittleEndianReader(std::span<const std::byte> bytes, std::size_t position = 0)
        : m_bytes(bytes)
        , m_position(position)
    {
    }

    template <typename T>
    std::optional<T> next()
    {
        const auto bytes = take(sizeof(T));
        if (!bytes)
            return std::nullopt;
        T value;
        std::memcpy(&value, bytes->data(), sizeof value);
        return value;
    }

    std::optional<std::span<const std::byte>> take(std::uint64_t count)
    {
        if (m_position > m_bytes.size() || count > m_bytes.size() - m_position)
            return std::nullopt;
        const auto taken = m_bytes.subspan(m_position, count);
        m_position += count;
        return taken;
    }

    std::optional<std::string_view> text(std::uint64_t count)
    {
        const auto taken = take(count);
        if (!taken)
            return std::nullopt;
        return std::string_view(reinterpret_cast<const char*>(taken->data()), taken->size());
    }

    std::size_t position() const { return m_position; }
    std::size_t remaining() const { return m_position > m_bytes.size() ? 0 : m_bytes.size() - m_position; }

private:
    std::span<const std::byte> m_bytes;
    std::size_t m_position = 0;
};

} // namespace headwise
