#pragma once

#include "tests/support/zip_writer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headwise::test {

/// Writes a GGUF file of version 3: metadata, and at most one tensor of zeros.
class GgufWriter {
public:
    GgufWriter& add(const std::string& key, const char* value) { return put(key, 8, text(value)); }
    GgufWriter& add(const std::string& key, const std::vector<std::string>& values)
    {
        std::string all = littleEndian(8, 4) + littleEndian(values.size(), 8);
        for (const std::string& value : values)
            all += text(value);
        return put(key, 9, all);
    }
    GgufWriter& add(const std::string& key, const std::vector<std::int32_t>& values)
    {
        std::string all = littleEndian(5, 4) + littleEndian(values.size(), 8);
        for (const std::int32_t value : values)
            all += littleEndian(static_cast<std::uint32_t>(value), 4);
        return put(key, 9, all);
    }
    GgufWriter& add(const std::string& key, std::uint32_t value)
    {
        return put(key, 4, littleEndian(value, 4));
    }
    GgufWriter& addTensor(const std::string& name, std::uint32_t type, std::uint64_t elements)
    {
        m_tensor = text(name) + littleEndian(1, 4) + littleEndian(elements, 8) + littleEndian(type, 4)
            + littleEndian(0, 8);
        return *this;
    }
    std::string bytes() const
    {
        const std::string head = "GGUF" + littleEndian(3, 4) + littleEndian(m_tensor.empty() ? 0 : 1, 8)
            + littleEndian(m_count, 8) + m_keys + m_tensor;
        return head + (m_tensor.empty() ? std::string() : std::string(4096, '\0'));
    }

private:
    static std::string text(const std::string& value) { return littleEndian(value.size(), 8) + value; }
    GgufWriter& put(const std::string& key, int type, const std::string& value)
    {
        m_keys += text(key) + littleEndian(static_cast<std::uint64_t>(type), 4) + value;
        ++m_count;
        return *this;
    }

    std::string m_keys, m_tensor;
    std::uint64_t m_count = 0;
};

} // namespace headwise::test
