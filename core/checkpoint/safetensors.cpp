#include "core/checkpoint/safetensors.h"

#include "core/files/file_write.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <numeric>
#include <set>

namespace headwise {
namespace {

struct DTypeRow {
    DType dtype;
    std::string_view name;
    int bits;
};

constexpr std::array dtypes = {
    DTypeRow{DType::Bool, "BOOL", 8},
    DTypeRow{DType::F4, "F4", 4},
    DTypeRow{DType::F6_E2M3, "F6_E2M3", 6},
    DTypeRow{DType::F6_E3M2, "F6_E3M2", 6},
    DTypeRow{DType::U8, "U8", 8},
    DTypeRow{DType::I8, "I8", 8},
    DTypeRow{DType::F8_E5M2, "F8_E5M2", 8},
    DTypeRow{DType::F8_E4M3, "F8_E4M3", 8},
    DTypeRow{DType::F8_E8M0, "F8_E8M0", 8},
    DTypeRow{DType::F8_E4M3FNUZ, "F8_E4M3FNUZ", 8},
    DTypeRow{DType::F8_E5M2FNUZ, "F8_E5M2FNUZ", 8},
    DTypeRow{DType::I16, "I16", 16},
    DTypeRow{DType::U16, "U16", 16},
    DTypeRow{DType::F16, "F16", 16},
    DTypeRow{DType::BF16, "BF16", 16},
    DTypeRow{DType::I32, "I32", 32},
    DTypeRow{DType::U32, "U32", 32},
    DTypeRow{DType::F32, "F32", 32},
    DTypeRow{DType::I64, "I64", 64},
    DTypeRow{DType::U64, "U64", 64},
    DTypeRow{DType::F64, "F64", 64},
    DTypeRow{DType::C64, "C64", 64},
    DTypeRow{DType::Q4_0, "Q4_0", 0},
    DTypeRow{DType::Q4_1, "Q4_1", 0},
    DTypeRow{DType::Q5_0, "Q5_0", 0},
    DTypeRow{DType::Q5_1, "Q5_1", 0},
    DTypeRow{DType::Q8_0, "Q8_0", 0},
    DTypeRow{DType::Q2_K, "Q2_K", 0},
    DTypeRow{DType::Q3_K, "Q3_K", 0},
    DTypeRow{DType::Q4_K, "Q4_K", 0},
    DTypeRow{DType::Q5_K, "Q5_K", 0},
    DTypeRow{DType::Q6_K, "Q6_K", 0},
    DTypeRow{DType::Q8_K, "Q8_K", 0},
    DTypeRow{DType::IQ4_NL, "IQ4_NL", 0},
    DTypeRow{DType::IQ4_XS, "IQ4_XS", 0},
    DTypeRow{DType::F8_SCALED, "F8_SCALED", 0},
    DTypeRow{DType::INT8_ROWS, "INT8_ROWS", 0},
    DTypeRow{DType::BNB_4BIT, "BNB_4BIT", 0},
    DTypeRow{DType::GPTQ, "GPTQ", 0},
    DTypeRow{DType::AWQ, "AWQ", 0},
    DTypeRow{DType::MXFP4, "MXFP4", 0},
};

const DTypeRow& safetensorsRow(DType dtype)
{
    const DTypeRow& found = dtypes[static_cast<std::size_t>(dtype)];
    assert(found.dtype == dtype);
    return found;
}

std::size_t byteCount(const TensorToWrite& tensor)
{
    const auto elements =
        std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies());
    return static_cast<std::size_t>(elements) * static_cast<std::size_t>(dtypeBits(tensor.dtype)) / 8;
}

Result<Done> check(const std::vector<TensorToWrite>& tensors)
{
    std::set<std::string_view> names;
    for (const TensorToWrite& tensor : tensors) {
        if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
            return Error{ErrorCode::InvalidArgument,
                         "Tensor '" + tensor.name + "' cannot be written twice or under this name."};
        if (std::any_of(tensor.shape.begin(), tensor.shape.end(), [](std::int64_t size) { return size < 0; }))
            return Error{ErrorCode::InvalidArgument,
                         "Tensor '" + tensor.name + "' cannot be written with the shape "
                             + shapeText(tensor.shape) + "."};
    }
    return Done{};
}

/// Returns length and JSON, padded with spaces so that the data begin at a multiple of 8.
std::string header(const std::vector<TensorToWrite>& tensors,
                   const std::map<std::string, std::string>& metadata)
{
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    if (!metadata.empty())
        json["__metadata__"] = metadata;
    std::size_t begin = 0;
    for (const TensorToWrite& tensor : tensors) {
        const std::size_t end = begin + byteCount(tensor);
        json[tensor.name] = {
            {"dtype", dtypeName(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
        begin = end;
    }
    std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text.resize((text.size() + 7) / 8 * 8, ' ');
    std::string bytes(8, '\0');
    const std::uint64_t length = text.size();
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + text;
}

} // namespace

std::string_view dtypeName(DType dtype)
{
    return safetensorsRow(dtype).name;
}

std::optional<DType> dtypeNamed(std::string_view name)
{
    const auto found = std::find_if(dtypes.begin(), dtypes.end(),
                                    [&](const DTypeRow& r) { return r.bits > 0 && r.name == name; });
    return found == dtypes.end() ? std::nullopt : std::optional(found->dtype);
}

int dtypeBits(DType dtype)
{
    return safetensorsRow(dtype).bits;
}

std::int64_t elementCount(const StoredTensor& tensor)
{
    return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies());
}

std::string shapeText(std::span<const std::int64_t> shape)
{
    std::string text;
    for (const std::int64_t size : shape)
        text += (text.empty() ? "" : ", ") + std::to_string(size);
    return "[" + text + "]";
}

Result<Done> writeSafetensors(const std::filesystem::path& file, std::vector<TensorToWrite> tensors,
                              const std::map<std::string, std::string>& metadata, const Task& task)
{
    if (const Result<Done> good = check(tensors); !good)
        return good;
    std::sort(tensors.begin(), tensors.end(), [](const TensorToWrite& a, const TensorToWrite& b) {
        return std::pair(-dtypeBits(a.dtype), std::string_view(a.name))
            < std::pair(-dtypeBits(b.dtype), std::string_view(b.name));
    });
    return replaceFile(file, [&](FileWriter& writer) -> Result<Done> {
        const std::string head = header(tensors, metadata);
        if (const Result<Done> written = writer.write(std::as_bytes(std::span(head))); !written)
            return written;
        const int total = static_cast<int>(tensors.size());
        for (int i = 0; i < total; ++i) {
            if (task.cancelled())
                return stopped();
            task.report(i, total, "tensors");
            const Result<std::vector<std::byte>> bytes = tensors[i].bytes();
            if (!bytes)
                return bytes.error();
            if (bytes->size() != byteCount(tensors[i]))
                return Error{ErrorCode::Internal,
                             "Tensor '" + tensors[i].name + "' came with " + std::to_string(bytes->size())
                                 + " bytes where " + std::to_string(byteCount(tensors[i])) + " are needed."};
            if (const Result<Done> written = writer.write(*bytes); !written)
                return written;
        }
        task.report(total, total, "tensors");
        return Done{};
    });
}

} // namespace headwise
