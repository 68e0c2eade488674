#include "core/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <numeric>

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

} // namespace headwise
