#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headwise {

/// FNV-1a of 64 bits (Fowler, Noll, Vo): no secret, only a mark.
class Fingerprint {
public:
    explicit Fingerprint(std::string_view start) { add(start.data(), start.size()); }

    template <typename Number>
    void add(const Number& number)
    {
        add(reinterpret_cast<const char*>(&number), sizeof number);
    }
    std::uint64_t value() const { return m_value; }

private:
    void add(const char* bytes, std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i)
            m_value = (m_value ^ static_cast<unsigned char>(bytes[i])) * 1099511628211u;
    }

    std::uint64_t m_value = 14695981039346656037u;
};

} // namespace headwise
