#include "core/checkpoint/packed_parts.h"

#include "core/files/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

namespace headwise {
namespace {

using nlohmann::json;

std::int64_t quotientUp(std::int64_t a, std::int64_t b)
{
    return a / b + (a % b != 0 ? 1 : 0);
}

bool isScaleType(DType dtype)
{
    return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

std::string textOf(const json& object, const char* key)
{
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t positiveOf(const json& object, const char* key)
{
    const auto found = object.is_object() ? object.find(key) : object.end();
    const bool isThere = object.is_object() && found != object.end() && found->is_number_integer();
    return isThere ? std::max<std::int64_t>(found->get<std::int64_t>(), 0) : 0;
}

/// The two positive integers of a list, or a default.
std::pair<std::int64_t, std::int64_t> pairOf(const json& object, const char* key,
                                             std::pair<std::int64_t, std::int64_t> standard)
{
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end() || !found->is_array() || found->size() != 2)
        return standard;
    for (const json& entry : *found)
        if (!entry.is_number_integer() || entry.get<std::int64_t>() <= 0)
            return standard;
    return {(*found)[0].get<std::int64_t>(), (*found)[1].get<std::int64_t>()};
}

/// Finds the parts of one model's matrices.
class PartJoiner {
public:
    PartJoiner(std::vector<StoredTensor>& tensors, const StoredBytes& bytes, const json& settings)
        : m_tensors(tensors)
        , m_bytes(bytes)
        , m_settings(settings)
    {
        for (const StoredTensor& tensor : tensors)
            m_byName.emplace(tensor.name, &tensor);
    }

    Result<std::map<std::string, PackedWeight>> join();

private:
    const StoredTensor* find(const std::string& name, DType dtype) const
    {
        const auto found = m_byName.find(name);
        const bool fits =
            found != m_byName.end() && found->second->dtype == dtype && found->second->axes.empty();
        return fits ? found->second : nullptr;
    }
    const StoredTensor* findScales(const std::string& name) const
    {
        const auto found = m_byName.find(name);
        const bool fits =
            found != m_byName.end() && isScaleType(found->second->dtype) && found->second->axes.empty();
        return fits ? found->second : nullptr;
    }
    PackedPart part(const StoredTensor& tensor) const
    {
        return {tensor.dtype, tensor.shape, m_bytes(tensor)};
    }
    static Error misfit(const StoredTensor& tensor, const std::string& weight)
    {
        return {ErrorCode::Corrupt,
                "Tensor '" + tensor.name + "' has shape " + shapeText(tensor.shape)
                    + ", which does not fit the quantised matrix '" + weight
                    + "'; download the files again."};
    }
    static Error twice(const StoredTensor& tensor, const std::string& weight)
    {
        return {ErrorCode::Corrupt,
                "The matrix '" + weight + "' is stored twice, plain and quantised ('" + tensor.name
                    + "'); it is unclear which one to use."};
    }
    void add(const std::string& name, const StoredTensor& numbers, PackedWeight weight);

    Result<Done> joinScaledF8(const StoredTensor& scales, const std::string& stem);
    Result<Done> joinInt8(const StoredTensor& scales, const std::string& stem);
    Result<Done> joinFourBit(const StoredTensor& state, const std::string& name);
    Result<Done> addNested(const json& state, const std::string& name, PackedWeight& weight) const;
    Result<Done> joinWords(const StoredTensor& words, const std::string& stem);
    Result<Done> joinGptq(const StoredTensor& words, const std::string& stem, PackedWeight weight);
    Result<Done> joinAwq(const StoredTensor& words, const std::string& stem, PackedWeight weight);
    Result<Done> joinMicroscaled(const StoredTensor& blocks, const std::string& name);

    std::vector<StoredTensor>& m_tensors;
    const StoredBytes& m_bytes;
    const json& m_settings;
    std::map<std::string, const StoredTensor*> m_byName;
    std::set<std::string> m_used;
    std::vector<StoredTensor> m_joined;
    std::map<std::string, PackedWeight> m_weights;
};

void PartJoiner::add(const std::string& name, const StoredTensor& numbers, PackedWeight weight)
{
    StoredTensor joined = numbers;
    joined.name = name;
    joined.dtype = weight.format;
    joined.shape = {weight.rows, weight.cols};
    m_used.insert(numbers.name);
    m_joined.push_back(std::move(joined));
    m_weights.emplace(name, std::move(weight));
}

Result<Done> PartJoiner::joinScaledF8(const StoredTensor& scales, const std::string& stem)
{
    const std::string name = stem + ".weight";
    const StoredTensor* numbers = find(name, DType::F8_E4M3);
    if (!numbers)
        numbers = find(name, DType::F8_E5M2);
    if (!numbers || numbers->shape.size() != 2 || !findScales(scales.name) || m_weights.contains(name))
        return Done{};
    PackedWeight weight{.format = DType::F8_SCALED, .rows = numbers->shape[0], .cols = numbers->shape[1]};
    const auto [height, width] = pairOf(m_settings, "weight_block_size", {128, 128});
    const std::vector<std::int64_t> blocks{quotientUp(weight.rows, height), quotientUp(weight.cols, width)};
    const std::vector<std::int64_t> lines{weight.rows}, column{weight.rows, 1};
    if (elementCount(scales) == 1) {
        weight.blockRows = std::max<std::int64_t>(weight.rows, 1);
        weight.blockCols = std::max<std::int64_t>(weight.cols, 1);
    } else if (scales.shape == blocks) {
        weight.blockRows = height;
        weight.blockCols = width;
    } else if (scales.shape == lines || scales.shape == column) {
        weight.blockCols = std::max<std::int64_t>(weight.cols, 1);
    } else {
        return misfit(scales, name);
    }
    weight.numbers = part(*numbers);
    weight.scales = part(scales);
    for (const char* other : {".input_scale", ".activation_scale", ".input_scale_ub"})
        m_used.insert(stem + other);
    m_used.insert(scales.name);
    add(name, *numbers, std::move(weight));
    return Done{};
}

Result<Done> PartJoiner::joinInt8(const StoredTensor& scales, const std::string& stem)
{
    const std::string name = stem + ".weight";
    const StoredTensor* numbers = find(name, DType::I8);
    if (!numbers || numbers->shape.size() != 2 || !findScales(scales.name))
        return Done{};
    if (elementCount(scales) != numbers->shape[0])
        return misfit(scales, name);
    if (const StoredTensor* order = find(stem + ".weight_format", DType::U8)) {
        const auto bytes = m_bytes(*order);
        if (!bytes.empty() && bytes[0] != std::byte{0})
            return Error{
                ErrorCode::Unsupported,
                "The rows of '" + name
                    + "' are in an order for one kind of GPU (weight_format); save the model again with a current bitsandbytes."};
        m_used.insert(order->name);
    }
    PackedWeight weight{.format = DType::INT8_ROWS, .rows = numbers->shape[0], .cols = numbers->shape[1]};
    weight.numbers = part(*numbers);
    weight.scales = part(scales);
    m_used.insert(scales.name);
    add(name, *numbers, std::move(weight));
    return Done{};
}

/// The scales of a 4-bit matrix: numbers, or bytes with a table and scales of their own.
Result<Done> PartJoiner::addNested(const json& state, const std::string& name, PackedWeight& weight) const
{
    const std::int64_t blocks = quotientUp(weight.rows * weight.cols, weight.blockCols);
    const StoredTensor* bytes = find(name + ".absmax", DType::U8);
    const StoredTensor* scales = bytes ? bytes : find(name + ".absmax", DType::F32);
    if (!scales || elementCount(*scales) != blocks)
        return scales ? misfit(*scales, name)
                      : Error{ErrorCode::Corrupt,
                              "The quantised matrix '" + name + "' has no tensor '" + name + ".absmax'."};
    weight.scales = part(*scales);
    if (!bytes)
        return Done{};
    const StoredTensor* outer = find(name + ".nested_absmax", DType::F32);
    const StoredTensor* table = find(name + ".nested_quant_map", DType::F32);
    weight.outerBlock = positiveOf(state, "nested_blocksize");
    const auto offset = state.find("nested_offset");
    if (!outer || !table || elementCount(*table) != 256 || weight.outerBlock == 0
        || elementCount(*outer) != quotientUp(blocks, weight.outerBlock) || offset == state.end()
        || !offset->is_number())
        return misfit(*scales, name);
    weight.outerScales = part(*outer);
    weight.outerTable = part(*table);
    weight.outerOffset = static_cast<float>(offset->get<double>());
    return Done{};
}

Result<Done> PartJoiner::joinFourBit(const StoredTensor& state, const std::string& name)
{
    const StoredTensor* numbers = find(name, DType::U8);
    const StoredTensor* table = find(name + ".quant_map", DType::F32);
    if (!numbers || !table || state.dtype != DType::U8)
        return Done{};
    const auto bytes = m_bytes(state);
    const char* text = reinterpret_cast<const char*>(bytes.data());
    const json values = jsonValue({text, bytes.size()});
    const auto [rows, cols] = pairOf(values, "shape", {0, 0});
    const std::int64_t block = positiveOf(values, "blocksize");
    std::int64_t count = 0;
    if (__builtin_mul_overflow(rows, cols, &count) || count == 0 || block == 0
        || quotientUp(count, 2) != elementCount(*numbers) || elementCount(*table) != 16)
        return misfit(*numbers, name);
    PackedWeight weight{.format = DType::BNB_4BIT, .rows = rows, .cols = cols};
    weight.blockCols = block;
    weight.numbers = part(*numbers);
    weight.table = part(*table);
    if (const Result<Done> nested = addNested(values, name, weight); !nested)
        return nested;
    for (const char* other : {".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"})
        m_used.insert(name + other);
    m_used.insert(state.name);
    add(name, *numbers, std::move(weight));
    return Done{};
}

/// GPTQ packs the inputs of a column into words, AWQ the outputs of a row.
Result<Done> PartJoiner::joinWords(const StoredTensor& words, const std::string& stem)
{
    const StoredTensor* scales = findScales(stem + ".scales");
    const StoredTensor* zeros = find(stem + ".qzeros", DType::I32);
    if (!scales || !zeros || words.dtype != DType::I32)
        return Done{};
    if (m_byName.contains(stem + ".weight"))
        return twice(words, stem + ".weight");
    const bool areMatrices = words.shape.size() == 2 && scales->shape.size() == 2 && zeros->shape.size() == 2;
    if (!areMatrices || scales->shape[0] == 0 || scales->shape[1] == 0 || zeros->shape[0] != scales->shape[0])
        return misfit(*scales, stem + ".weight");
    PackedWeight weight{.format = DType::GPTQ, .rows = scales->shape[1], .cols = 0};
    weight.numbers = part(words);
    weight.scales = part(*scales);
    weight.zeros = part(*zeros);
    if (words.shape[1] == weight.rows)
        return joinGptq(words, stem, std::move(weight));
    return joinAwq(words, stem, std::move(weight));
}

Result<Done> PartJoiner::joinGptq(const StoredTensor& words, const std::string& stem, PackedWeight weight)
{
    const std::string name = stem + ".weight", format = textOf(m_settings, "checkpoint_format");
    if (!format.empty() && format != "gptq" && format != "gptq_v2")
        return Error{ErrorCode::Unsupported,
                     "The matrix '" + name + "' is quantised in the form '" + format
                         + "', which this version does not read; save the model as gptq."};
    const StoredTensor* groups = find(stem + ".g_idx", DType::I32);
    const std::int64_t told = positiveOf(m_settings, "bits"), bits = words.shape[0] * 32;
    weight.cols = groups ? elementCount(*groups) : told > 0 ? bits / told : 0;
    const std::int64_t width = weight.cols > 0 ? bits / weight.cols : 0;
    const bool isWidth = width == 2 || width == 3 || width == 4 || width == 8;
    if (!isWidth || bits != width * weight.cols
        || weight.zeros.shape[1] != quotientUp(weight.rows * width, 32))
        return misfit(words, name);
    weight.bits = static_cast<int>(width);
    weight.zeroShift = format == "gptq_v2" ? 0 : 1;
    weight.blockCols = quotientUp(weight.cols, weight.scales.shape[0]);
    if (groups) {
        weight.groups = part(*groups);
        for (std::int64_t i = 0; i < weight.cols; ++i) {
            std::int32_t group;
            std::memcpy(&group, weight.groups.bytes.data() + static_cast<std::size_t>(i) * 4, sizeof group);
            if (group < 0 || group >= weight.scales.shape[0])
                return Error{ErrorCode::Corrupt,
                             "Tensor '" + groups->name + "' names group " + std::to_string(group)
                                 + ", but there are " + std::to_string(weight.scales.shape[0])
                                 + "; download the files again."};
        }
        m_used.insert(groups->name);
    }
    m_used.insert({stem + ".scales", stem + ".qzeros"});
    add(name, words, std::move(weight));
    return Done{};
}

Result<Done> PartJoiner::joinAwq(const StoredTensor& words, const std::string& stem, PackedWeight weight)
{
    const std::string name = stem + ".weight", version = textOf(m_settings, "version");
    if (!version.empty() && version != "gemm" && version != "GEMM")
        return Error{ErrorCode::Unsupported,
                     "The matrix '" + name + "' is packed for AWQ's '" + version
                         + "', but this version reads 'gemm'; open the model it was made from."};
    weight.format = DType::AWQ;
    weight.cols = words.shape[0];
    const std::int64_t groups = weight.scales.shape[0];
    if (weight.rows % 8 != 0 || words.shape[1] != weight.rows / 8 || weight.zeros.shape[1] != weight.rows / 8
        || weight.cols == 0 || weight.cols % groups != 0)
        return misfit(words, name);
    weight.blockCols = weight.cols / groups;
    m_used.insert({stem + ".scales", stem + ".qzeros"});
    add(name, words, std::move(weight));
    return Done{};
}

/// Experts in MXFP4: bytes [experts, outputs, groups, 16] and a scale a group.
Result<Done> PartJoiner::joinMicroscaled(const StoredTensor& blocks, const std::string& name)
{
    const StoredTensor* scales = find(name + "_scales", DType::U8);
    if (blocks.dtype != DType::U8 || (!scales && textOf(m_settings, "quant_method") != "mxfp4"))
        return Done{};
    if (!scales)
        return Error{ErrorCode::Corrupt,
                     "The quantised matrix '" + name + "' has no tensor '" + name
                         + "_scales' of bytes; download the files again."};
    if (m_byName.contains(name))
        return twice(blocks, name);
    const std::vector<std::int64_t>& shape = blocks.shape;
    if (shape.size() != 4 || shape[3] != 16 || elementCount(blocks) == 0)
        return misfit(blocks, name);
    if (scales->shape != std::vector<std::int64_t>(shape.begin(), shape.end() - 1))
        return misfit(*scales, name);
    const std::int64_t inputs = shape[2] * 32;
    PackedWeight weight{.format = DType::MXFP4, .rows = shape[0] * inputs, .cols = shape[1]};
    weight.numbers = part(blocks);
    weight.scales = part(*scales);
    m_used.insert(scales->name);
    add(name, blocks, std::move(weight));
    m_joined.back().shape = {shape[0], inputs, shape[1]};
    return Done{};
}

Result<std::map<std::string, PackedWeight>> PartJoiner::join()
{
    constexpr std::string_view state = ".quant_state.bitsandbytes__";
    for (const StoredTensor& tensor : m_tensors) {
        const std::string& name = tensor.name;
        const auto without = [&](std::string_view end) { return name.substr(0, name.size() - end.size()); };
        Result<Done> done = Done{};
        if (const auto found = name.find(state); found != std::string::npos)
            done = joinFourBit(tensor, name.substr(0, found));
        else if (name.ends_with(".qweight"))
            done = joinWords(tensor, without(".qweight"));
        else if (name.ends_with(".SCB"))
            done = joinInt8(tensor, without(".SCB"));
        else if (name.ends_with(".weight_scale_inv"))
            done = joinScaledF8(tensor, without(".weight_scale_inv"));
        else if (name.ends_with(".weight_scale"))
            done = joinScaledF8(tensor, without(".weight_scale"));
        else if (name.ends_with("_blocks"))
            done = joinMicroscaled(tensor, without("_blocks"));
        if (!done)
            return done.error();
    }
    if (m_joined.empty())
        return std::move(m_weights);
    std::erase_if(m_tensors, [this](const StoredTensor& tensor) { return m_used.contains(tensor.name); });
    m_tensors.insert(m_tensors.end(), m_joined.begin(), m_joined.end());
    return std::move(m_weights);
}

} // namespace

nlohmann::json quantizationConfig(const std::filesystem::path& folder)
{
    constexpr std::size_t maxBytes = std::size_t(16) << 20;
    const auto objectIn = [&](const char* name) {
        const Result<std::string> text = readTextFile(folder / name, maxBytes);
        json parsed = text ? jsonValue(*text) : json();
        return parsed.is_object() ? parsed : json::object();
    };
    const json config = objectIn("config.json");
    for (const json& level : {config, config.value("text_config", json())})
        if (level.is_object() && level.contains("quantization_config")
            && level["quantization_config"].is_object())
            return level["quantization_config"];
    return objectIn("quantize_config.json");
}

Result<std::map<std::string, PackedWeight>> joinPackedParts(std::vector<StoredTensor>& tensors,
                                                            const StoredBytes& bytes, const json& settings)
{
    return PartJoiner(tensors, bytes, settings).join();
}

} // namespace headwise
