#include "core/checkpoint/gguf.h"

#include "core/checkpoint/block_formats.h"
#include "core/files/little_endian.h"
#include "core/files/utf8.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace headwise {
namespace {

enum ValueType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Flag, Text, Array, U64, I64, F64 };

std::optional<DType> dtypeOfGgml(std::uint32_t type)
{
    switch (type) {
    case 0: return DType::F32;
    case 1: return DType::F16;
    case 28: return DType::F64;
    case 30: return DType::BF16;
    default: return blockedDType(type);
    }
}

std::uint64_t minimumBytes(std::uint32_t type)
{
    switch (type) {
    case U8:
    case I8:
    case Flag: return 1;
    case U16:
    case I16: return 2;
    case U32:
    case I32:
    case F32: return 4;
    case Text:
    case U64:
    case I64:
    case F64: return 8;
    default: return 0;
    }
}

/// Names of the number types that Headwise does not read. Source: ggml.h, ggml_type.
std::string ggmlName(std::uint32_t type)
{
    static constexpr std::array<std::pair<std::uint32_t, std::string_view>, 15> names{{{9, "Q8_1"},
                                                                                       {16, "IQ2_XXS"},
                                                                                       {17, "IQ2_XS"},
                                                                                       {18, "IQ3_XXS"},
                                                                                       {19, "IQ1_S"},
                                                                                       {21, "IQ3_S"},
                                                                                       {22, "IQ2_S"},
                                                                                       {24, "I8"},
                                                                                       {25, "I16"},
                                                                                       {26, "I32"},
                                                                                       {29, "IQ1_M"},
                                                                                       {34, "TQ1_0"},
                                                                                       {35, "TQ2_0"},
                                                                                       {39, "MXFP4"},
                                                                                       {40, "NVFP4"}}};
    const auto found =
        std::find_if(names.begin(), names.end(), [type](const auto& entry) { return entry.first == type; });
    return found == names.end() ? "ggml's type " + std::to_string(type) : std::string(found->second);
}

class GgufReader {
public:
    GgufReader(std::span<const std::byte> file, std::string_view fileName)
        : m_in(file)
        , m_fileBytes(file.size())
        , m_file(fileName)
    {
    }

    Result<GgufHeader> read();

private:
    Result<std::string> text(std::string_view what);
    Result<GgufValue> value(std::uint32_t type, const std::string& key);
    Result<GgufValue> array(const std::string& key);
    std::optional<GgufValue> number(std::uint32_t type);
    Result<Done> readMetadata(std::uint64_t count);
    Result<StoredTensor> readTensor();
    Result<Done> readShape(StoredTensor& tensor);
    Result<Done> setSize(StoredTensor& tensor) const;
    Result<Done> place(std::uint64_t alignment);

    Error damaged(const std::string& what) const
    {
        return {ErrorCode::Corrupt,
                "File '" + m_file + "' is a damaged GGUF file: " + what
                    + ". Downloading it again usually helps."};
    }
    Error brokenOff() const { return damaged("its header is cut off"); }

    LittleEndianReader m_in;
    std::size_t m_fileBytes;
    std::string m_file;
    GgufHeader m_header;
};

Result<std::string> GgufReader::text(std::string_view what)
{
    const auto length = m_in.next<std::uint64_t>();
    const auto found = length ? m_in.text(*length) : std::nullopt;
    if (!found)
        return damaged("the length of " + std::string(what) + " goes past its end");
    return std::string(*found);
}

std::optional<GgufValue> GgufReader::number(std::uint32_t type)
{
    const auto integer = [](const auto& value) -> std::optional<GgufValue> {
        return value ? std::optional<GgufValue>(static_cast<std::int64_t>(*value)) : std::nullopt;
    };
    const auto real = [](const auto& value) -> std::optional<GgufValue> {
        return value ? std::optional<GgufValue>(static_cast<double>(*value)) : std::nullopt;
    };
    switch (type) {
    case U8:
    case Flag: return integer(m_in.next<std::uint8_t>());
    case I8: return integer(m_in.next<std::int8_t>());
    case U16: return integer(m_in.next<std::uint16_t>());
    case I16: return integer(m_in.next<std::int16_t>());
    case U32: return integer(m_in.next<std::uint32_t>());
    case I32: return integer(m_in.next<std::int32_t>());
    case U64:
    case I64: return integer(m_in.next<std::int64_t>());
    case F32: return real(m_in.next<float>());
    case F64: return real(m_in.next<double>());
    default: return std::nullopt;
    }
}

Result<GgufValue> GgufReader::array(const std::string& key)
{
    const auto type = m_in.next<std::uint32_t>();
    const auto count = m_in.next<std::uint64_t>();
    if (!type || !count)
        return brokenOff();
    const std::uint64_t width = minimumBytes(*type);
    if (width == 0 || *count > m_in.remaining() / width)
        return damaged("the array '" + key + "' has a type or a length that it cannot have");
    if (*type == Text) {
        std::vector<std::string> texts;
        for (std::uint64_t i = 0; i < *count; ++i) {
            Result<std::string> next = text("an entry of '" + key + "'");
            if (!next)
                return next.error();
            texts.push_back(std::move(next).value());
        }
        return GgufValue(std::move(texts));
    }
    std::vector<double> numbers;
    for (std::uint64_t i = 0; i < *count; ++i) {
        const GgufValue next = *number(*type); // the length was checked
        numbers.push_back(next.index() == 0 ? static_cast<double>(std::get<0>(next)) : std::get<1>(next));
    }
    return GgufValue(std::move(numbers));
}

Result<GgufValue> GgufReader::value(std::uint32_t type, const std::string& key)
{
    if (type == Array)
        return array(key);
    if (type == Text) {
        Result<std::string> content = text("'" + key + "'");
        if (!content)
            return content.error();
        return GgufValue(std::move(content).value());
    }
    const std::optional<GgufValue> found = number(type);
    if (!found)
        return damaged("the value of '" + key + "' has an unknown type or is cut off");
    return *found;
}

Result<Done> GgufReader::readMetadata(std::uint64_t count)
{
    for (std::uint64_t i = 0; i < count; ++i) {
        const Result<std::string> key = text("a key");
        if (!key)
            return key.error();
        const auto type = m_in.next<std::uint32_t>();
        if (!type)
            return brokenOff();
        Result<GgufValue> content = value(*type, *key);
        if (!content)
            return content.error();
        if (key->empty() || firstInvalidUtf8(*key)
            || !m_header.metadata.emplace(*key, std::move(content).value()).second)
            return damaged("the key '" + *key + "' is empty, not UTF-8 or a duplicate");
    }
    return Done{};
}

Result<Done> GgufReader::setSize(StoredTensor& tensor) const
{
    const BlockSize block = blockSize(tensor.dtype);
    std::int64_t count = 1, bits = 0;
    for (const std::int64_t size : tensor.shape)
        if (size < 0 || __builtin_mul_overflow(count, size, &count))
            return damaged("tensor '" + tensor.name + "' has shape " + shapeText(tensor.shape));
    if (block.numbers > 0 && (tensor.shape.empty() || tensor.shape.back() % block.numbers != 0))
        return damaged("the rows of tensor '" + tensor.name + "' of shape " + shapeText(tensor.shape)
                       + " are not whole blocks of " + std::to_string(block.numbers));
    const std::int64_t units = block.numbers > 0 ? count / block.numbers : count;
    const std::int64_t width =
        block.numbers > 0 ? static_cast<std::int64_t>(block.bytes) * 8 : dtypeBits(tensor.dtype);
    if (__builtin_mul_overflow(units, width, &bits))
        return damaged("tensor '" + tensor.name + "' has shape " + shapeText(tensor.shape));
    tensor.byteCount = static_cast<std::size_t>(bits / 8);
    return Done{};
}

Result<Done> GgufReader::readShape(StoredTensor& tensor)
{
    const auto rank = m_in.next<std::uint32_t>();
    if (!rank || *rank > 4)
        return damaged("tensor '" + tensor.name + "' has a rank above 4");
    for (std::uint32_t i = 0; i < *rank; ++i) {
        const auto size = m_in.next<std::int64_t>();
        if (!size)
            return brokenOff();
        tensor.shape.insert(tensor.shape.begin(), *size); // the file lists the fastest axis first
    }
    return Done{};
}

Result<StoredTensor> GgufReader::readTensor()
{
    Result<std::string> name = text("the name of a tensor");
    if (!name)
        return name.error();
    StoredTensor tensor{.name = std::move(name).value()};
    if (tensor.name.size() >= 64 || firstInvalidUtf8(tensor.name))
        return damaged("a tensor has a name of 64 bytes or more, or one that is not UTF-8");
    if (const Result<Done> shape = readShape(tensor); !shape)
        return shape.error();
    const auto type = m_in.next<std::uint32_t>();
    const auto offset = m_in.next<std::uint64_t>();
    if (!type || !offset)
        return brokenOff();
    const std::optional<DType> dtype = dtypeOfGgml(*type);
    if (!dtype)
        return Error{ErrorCode::Unsupported,
                     "Tensor '" + tensor.name + "' of '" + m_file + "' is stored as " + ggmlName(*type)
                         + "; this version reads F32, F16, BF16, F64, " + blockedDTypeNames()
                         + ". Use another quantisation of the model."};
    tensor.dtype = *dtype;
    tensor.begin = *offset;
    if (const Result<Done> size = setSize(tensor); !size)
        return size.error();
    return tensor;
}

/// Computes where each tensor lies. Offsets count from the aligned end of the header, and gaps are allowed only for
/// alignment.
Result<Done> GgufReader::place(std::uint64_t alignment)
{
    const auto aligned = [&](std::uint64_t size) { return (size + alignment - 1) / alignment * alignment; };
    const std::uint64_t data = aligned(m_in.position());
    std::uint64_t expected = 0;
    for (StoredTensor& tensor : m_header.tensors) {
        if (tensor.begin != expected)
            return damaged("tensor '" + tensor.name + "' does not begin where the previous one ends");
        if (data > m_fileBytes || expected > m_fileBytes - data
            || tensor.byteCount > m_fileBytes - data - expected)
            return damaged("it is truncated: tensor '" + tensor.name + "' ends after the end of the file");
        tensor.begin = data + expected;
        expected += aligned(tensor.byteCount);
    }
    return Done{};
}

Result<GgufHeader> GgufReader::read()
{
    m_in.take(4); // the magic number
    const auto version = m_in.next<std::uint32_t>();
    if (!version || (*version != 2 && *version != 3))
        return Error{
            ErrorCode::Unsupported,
            "File '" + m_file
                + "' is a GGUF file that is big-endian or of a version other than 2 and 3; convert the model again with a current llama.cpp."};
    const auto tensors = m_in.next<std::uint64_t>();
    const auto keys = m_in.next<std::uint64_t>();
    if (!tensors || !keys || *tensors > m_in.remaining() / 24 || *keys > m_in.remaining() / 13)
        return damaged("it claims more tensors or keys than it has room for");
    if (const Result<Done> metadata = readMetadata(*keys); !metadata)
        return metadata.error();
    std::set<std::string> names;
    for (std::uint64_t i = 0; i < *tensors; ++i) {
        Result<StoredTensor> tensor = readTensor();
        if (!tensor)
            return tensor.error();
        if (!names.insert(tensor->name).second)
            return damaged("tensor '" + tensor->name + "' occurs twice");
        m_header.tensors.push_back(std::move(tensor).value());
    }
    const auto given = m_header.metadata.find("general.alignment");
    std::int64_t alignment = 32;
    if (given != m_header.metadata.end())
        alignment = given->second.index() == 0 ? std::get<0>(given->second) : 0;
    if (alignment <= 0 || alignment > (1 << 30)
        || !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
        return damaged("its alignment is not a power of two");
    if (const Result<Done> placed = place(static_cast<std::uint64_t>(alignment)); !placed)
        return placed.error();
    m_header.headerBytes = m_in.position();
    return std::move(m_header);
}

/// The converter puts the scaling of Llama 3 into a tensor of one number a pair.
std::vector<double> rotaryDivisors(const GgufHeader& header, std::span<const std::byte> file)
{
    constexpr std::int64_t most = 1 << 16;
    std::vector<double> divisors;
    for (const StoredTensor& tensor : header.tensors) {
        if (tensor.name != "rope_freqs.weight" || tensor.dtype != DType::F32 || tensor.shape.size() != 1
            || tensor.shape[0] > most)
            continue;
        for (std::int64_t i = 0; i < tensor.shape[0]; ++i) {
            float number = 0;
            std::memcpy(&number, file.data() + tensor.begin + static_cast<std::size_t>(i) * sizeof number,
                        sizeof number);
            divisors.push_back(static_cast<double>(number));
        }
    }
    return divisors;
}

} // namespace

Result<GgufHeader> readGgufHeader(std::span<const std::byte> file, std::string_view fileName)
{
    Result<GgufHeader> read = GgufReader(file, fileName).read();
    if (!read)
        return read;
    GgufHeader header = *std::move(read);
    header.rotaryDivisors = rotaryDivisors(header, file);
    return header;
}

} // namespace headwise
