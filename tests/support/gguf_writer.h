#pragma once

#include "tests/support/zip_writer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headwise::test {

/// Writes a GGUF file of version 3: metadata and tensors, in the order in which they are added.
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
    GgufWriter& add(const std::string& key, float value) { return put(key, 6, raw(&value, sizeof value)); }
    GgufWriter& add(const std::string& key, bool value)
    {
        return put(key, 7, std::string(1, value ? '\1' : '\0'));
    }
    /// A tensor of zeros that may be too long for the file.
    GgufWriter& addTensor(const std::string& name, std::uint32_t type, std::uint64_t elements)
    {
        return addData(name, {elements}, type, std::string(4096, '\0'));
    }
    /// \param shape the slowest axis first
    GgufWriter& addNumbers(const std::string& name, const std::vector<std::size_t>& shape,
                           const std::vector<float>& numbers)
    {
        return addData(name, {shape.rbegin(), shape.rend()}, 0,
                       raw(numbers.data(), numbers.size() * sizeof(float)));
    }
    std::string bytes() const
    {
        std::string head = "GGUF" + littleEndian(3, 4) + littleEndian(m_tensorCount, 8)
            + littleEndian(m_count, 8) + m_keys + m_tensors;
        if (m_tensorCount > 0)
            head.resize(aligned(head.size()), '\0');
        return head + m_data;
    }

private:
    static std::string text(const std::string& value) { return littleEndian(value.size(), 8) + value; }
    static std::string raw(const void* data, std::size_t size)
    {
        return {static_cast<const char*>(data), size};
    }
    static std::size_t aligned(std::size_t size) { return (size + 31) / 32 * 32; }
    GgufWriter& addData(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                        const std::string& data)
    {
        m_tensors += text(name) + littleEndian(sizes.size(), 4);
        for (const std::uint64_t size : sizes)
            m_tensors += littleEndian(size, 8);
        m_tensors += littleEndian(type, 4) + littleEndian(m_data.size(), 8);
        m_data += data;
        m_data.resize(aligned(m_data.size()), '\0');
        ++m_tensorCount;
        return *this;
    }
    GgufWriter& put(const std::string& key, int type, const std::string& value)
    {
        m_keys += text(key) + littleEndian(static_cast<std::uint64_t>(type), 4) + value;
        ++m_count;
        return *this;
    }

    std::string m_keys, m_tensors, m_data;
    std::uint64_t m_count = 0, m_tensorCount = 0;
};

} // namespace headwise::test
