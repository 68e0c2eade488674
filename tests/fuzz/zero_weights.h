#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headwise::fuzz {

struct ZeroTensor {
    std::string_view name, shape; ///< The shape in JSON, "[6,4]".
    int count;                    ///< Its numbers.
};

/// A safetensors file of these float32 tensors; every number is 0.
inline std::string zeroWeights(std::span<const ZeroTensor> tensors)
{
    std::string header = "{";
    int at = 0;
    for (const ZeroTensor& tensor : tensors) {
        header += std::string(at > 0 ? "," : "") + "\"" + std::string(tensor.name)
            + R"(":{"dtype":"F32","shape":)" + std::string(tensor.shape) + R"(,"data_offsets":[)"
            + std::to_string(at) + "," + std::to_string(at + 4 * tensor.count) + "]}";
        at += 4 * tensor.count;
    }
    header += "}";
    header.append((8 - header.size() % 8) % 8, ' ');
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size() & 255);
    length[1] = static_cast<char>(header.size() >> 8);
    return length + header + std::string(static_cast<std::size_t>(at), '\0');
}

} // namespace headwise::fuzz
