#include "core/checkpoint/npz.h"

#include "core/base/memory.h"
#include "core/checkpoint/scattered.h"
#include "core/files/inflate.h"
#include "core/files/little_endian.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace headwise {
namespace {

constexpr std::size_t maxHeaderBytes = 1 << 16;
constexpr std::size_t npzMaxRank = 16;

std::optional<DType> npzDtypeOf(std::string_view description)
{
    // NumPy has no bfloat16 of its own; ml_dtypes' arrives as two untyped bytes.
    static constexpr std::array<std::pair<std::string_view, DType>, 13> all{{{"<f4", DType::F32},
                                                                             {"<f2", DType::F16},
                                                                             {"<f8", DType::F64},
                                                                             {"|V2", DType::BF16},
                                                                             {"<V2", DType::BF16},
                                                                             {"|b1", DType::Bool},
                                                                             {"<i4", DType::I32},
                                                                             {"<i8", DType::I64},
                                                                             {"|u1", DType::U8},
                                                                             {"|i1", DType::I8},
                                                                             {"<i2", DType::I16},
                                                                             {"bfloat16", DType::BF16},
                                                                             {"<u2", DType::U16}}};
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& row) { return row.first == description; });
    return found == all.end() ? std::nullopt : std::optional(found->second);
}

/// Returns the text after `key` up to an ending, in a header such as {'descr': '<f4', 'fortran_order': False, 'shape':
/// (2, 2), }.
std::optional<std::string_view> npzValueOf(std::string_view header, std::string_view key, char first,
                                           char last)
{
    const auto at = header.find(key);
    if (at == std::string_view::npos)
        return std::nullopt;
    std::string_view rest = header.substr(at + key.size());
    const auto begin = rest.find_first_not_of(": ");
    if (begin == std::string_view::npos || rest[begin] != first)
        return std::nullopt;
    rest.remove_prefix(begin + 1);
    const auto end = rest.find(last);
    return end == std::string_view::npos ? std::nullopt : std::optional(rest.substr(0, end));
}

/// Parses the numbers of "2, 3", "3," or "".
std::optional<std::vector<std::int64_t>> npzShapeOf(std::string_view text)
{
    std::vector<std::int64_t> shape;
    const char *at = text.data(), *const end = text.data() + text.size();
    while (at != end) {
        std::int64_t size = -1;
        const auto [next, failure] = std::from_chars(at, end, size);
        if (failure != std::errc() || size < 0 || shape.size() == npzMaxRank)
            return std::nullopt;
        shape.push_back(size);
        at = std::find_if_not(next, end, [](char c) { return c == ',' || c == ' '; });
        if (at == next && at != end)
            return std::nullopt;
    }
    return shape;
}

class Member {
public:
    /// \param bytes of the member; they begin at `begin` of the file or buffer from which its numbers will be read
    Member(std::span<const std::byte> bytes, std::size_t begin, const ZipEntry& entry,
           std::string_view fileName)
        : m_in(bytes)
        , m_begin(begin)
        , m_name(entry.name.substr(0, entry.name.size() - 4))
        , m_file(fileName)
    {
    }

    Result<StoredTensor> read();
    bool isBigEndian() const { return m_isBigEndian; } ///< Valid after read().

    Error corrupt(const std::string& what) const
    {
        return {ErrorCode::Corrupt,
                "The array '" + m_name + "' of '" + m_file + "' is damaged: " + what + "."};
    }

private:
    Result<std::string_view> header();
    Result<Done> setSize(StoredTensor& tensor, bool isColumnMajor) const;
    Error unsupported(const std::string& what) const
    {
        return {ErrorCode::Unsupported, "The array '" + m_name + "' of '" + m_file + "' " + what + "."};
    }

    LittleEndianReader m_in;
    std::size_t m_begin;
    std::string m_name, m_file;
    bool m_isBigEndian = false;
};

Result<std::string_view> Member::header()
{
    if (m_in.text(6) != std::string_view("\x93NUMPY"))
        return corrupt("it does not begin like a NumPy array");
    const auto major = m_in.next<std::uint8_t>(), minor = m_in.next<std::uint8_t>();
    if (!major || !minor || *major < 1 || *major > 3)
        return corrupt("its version is not between 1 and 3");
    std::optional<std::uint32_t> length;
    if (*major == 1)
        length = m_in.next<std::uint16_t>();
    else
        length = m_in.next<std::uint32_t>();
    const auto text = length && *length <= maxHeaderBytes ? m_in.text(*length) : std::nullopt;
    if (!text)
        return corrupt("its header is cut off");
    return *text;
}

Result<Done> Member::setSize(StoredTensor& tensor, bool isColumnMajor) const
{
    std::int64_t count = 1, bytes = 0;
    for (const std::int64_t size : tensor.shape)
        if (__builtin_mul_overflow(count, size, &count))
            return corrupt("no array has the shape " + shapeText(tensor.shape));
    if (__builtin_mul_overflow(count, std::int64_t{dtypeBits(tensor.dtype) / 8}, &bytes)
        || static_cast<std::uint64_t>(bytes) != m_in.remaining())
        return corrupt("it has " + std::to_string(m_in.remaining()) + " bytes where its shape "
                       + shapeText(tensor.shape) + " needs a different number");
    tensor.byteCount = static_cast<std::size_t>(bytes);
    if (!isColumnMajor || count == 0)
        return Done{};
    std::int64_t stride = 1;
    for (const std::int64_t size : tensor.shape) {
        tensor.axes.push_back({size, stride});
        stride *= size;
    }
    tensor.axes = unlessPacked(std::move(tensor.axes));
    return Done{};
}

Result<StoredTensor> Member::read()
{
    const Result<std::string_view> text = header();
    if (!text)
        return text.error();
    const auto description = npzValueOf(*text, "'descr'", '\'', '\'');
    const auto shape = npzValueOf(*text, "'shape'", '(', ')');
    const auto sizes = shape ? npzShapeOf(*shape) : std::nullopt;
    const bool isColumnMajor = npzValueOf(*text, "'fortran_order'", 'T', 'e').has_value();
    if (!isColumnMajor && !npzValueOf(*text, "'fortran_order'", 'F', 'e'))
        return corrupt("its header does not give the order of its numbers");
    if (!sizes)
        return corrupt("its header has no shape");
    m_isBigEndian = description && description->starts_with('>');
    const std::string ordered = m_isBigEndian ? "<" + std::string(description->substr(1)) : "";
    const std::optional<DType> dtype =
        description ? npzDtypeOf(m_isBigEndian ? ordered : *description) : std::nullopt;
    if (!dtype)
        return unsupported("holds '" + std::string(description.value_or("objects or records"))
                           + "', which this version does not read; save it as float32, for instance");
    StoredTensor tensor{.name = m_name, .dtype = *dtype, .shape = *sizes, .begin = m_begin + m_in.position()};
    if (const Result<Done> size = setSize(tensor, isColumnMajor); !size)
        return size.error();
    return tensor;
}

void swapBytes(std::span<std::byte> numbers, std::size_t width)
{
    for (std::size_t at = 0; at + width <= numbers.size(); at += width)
        std::reverse(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                     numbers.begin() + static_cast<std::ptrdiff_t>(at + width));
}

/// Limit on the compression ratio. Weights shrink by a fifth, sparse ones by more; only an archive made to exhaust memory
/// shrinks a hundredfold.
constexpr std::uint64_t mostPacked = 100;
// unpacked bytes that are accepted at any ratio
constexpr std::uint64_t smallArchive = std::uint64_t(256) << 20;

std::string gigabytes(double bytes)
{
    return fmt::format("{:.1f} GB", bytes / 1e9);
}

/// Refuses an archive that cannot be unpacked before the first byte is unpacked.
Result<Done> canUnpack(std::span<const std::byte> file, std::span<const ZipEntry> entries,
                       std::string_view fileName)
{
    double total = 0, largest = 0; // doubles, because sums of claims may exceed 2⁶⁴
    for (const ZipEntry& entry : entries) {
        total += static_cast<double>(entry.size);
        largest = std::max(largest, static_cast<double>(entry.size));
    }
    if (total > static_cast<double>(smallArchive)
        && total > static_cast<double>(mostPacked) * static_cast<double>(file.size()))
        return Error{
            ErrorCode::Corrupt,
            fmt::format(
                "File '{}' claims to unpack its {:.1f} MB to {}, which no weights do; save the model again with numpy.savez.",
                fileName, static_cast<double>(file.size()) / 1e6, gigabytes(total))};
    const double needed = total + 2 * largest; // the buffer of the current member grows by doubling
    const auto free = availableMemory();
    if (free && needed > *free)
        return Error{
            ErrorCode::OutOfMemory,
            fmt::format(
                "Unpacking '{}' needs {} of memory, and {} are free; save the model without compression (numpy.savez), which is read in place.",
                fileName, gigabytes(needed), gigabytes(*free))};
    return Done{};
}

/// Unpacks all arrays into one buffer, one after another, little endian.
Result<NpzContent> unpackedArrays(std::span<const std::byte> file, std::span<const ZipEntry> entries,
                                  std::string_view fileName)
{
    if (const Result<Done> possible = canUnpack(file, entries, fileName); !possible)
        return possible.error();
    NpzContent content;
    for (const ZipEntry& entry : entries) {
        if (entry.name.ends_with("/"))
            continue;
        const std::span<const std::byte> stored = file.subspan(entry.begin, entry.storedSize);
        const auto inflatedBytes = entry.isDeflated ? inflated(stored, entry.size) : std::nullopt;
        const std::size_t begin = content.unpacked.size();
        Member member(inflatedBytes ? std::span<const std::byte>(*inflatedBytes) : stored, begin, entry,
                      fileName);
        if (entry.isDeflated && !inflatedBytes)
            return member.corrupt("it does not unpack to the " + std::to_string(entry.size)
                                  + " bytes that the archive claims");
        Result<StoredTensor> tensor = member.read();
        if (!tensor)
            return tensor.error();
        const auto bytes = inflatedBytes ? std::span<const std::byte>(*inflatedBytes) : stored;
        content.unpacked.insert(content.unpacked.end(), bytes.begin(), bytes.end());
        if (member.isBigEndian())
            swapBytes(std::span(content.unpacked).subspan(tensor->begin, tensor->byteCount),
                      static_cast<std::size_t>(dtypeBits(tensor->dtype)) / 8);
        content.tensors.push_back(std::move(tensor).value());
    }
    return content;
}

} // namespace

bool isNpz(std::span<const ZipEntry> entries)
{
    return !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const ZipEntry& entry) {
        return entry.name.ends_with(".npy") || entry.name.ends_with("/");
    });
}

Result<NpzContent> readNpz(std::span<const std::byte> file, std::span<const ZipEntry> entries,
                           std::string_view fileName)
{
    if (std::any_of(entries.begin(), entries.end(), [](const ZipEntry& entry) { return entry.isDeflated; }))
        return unpackedArrays(file, entries, fileName);
    NpzContent content;
    for (const ZipEntry& entry : entries) {
        if (entry.name.ends_with("/"))
            continue;
        Member member(file.subspan(entry.begin, entry.storedSize), entry.begin, entry, fileName);
        Result<StoredTensor> tensor = member.read();
        if (!tensor)
            return tensor.error();
        if (member.isBigEndian())
            return unpackedArrays(file, entries, fileName);
        content.tensors.push_back(std::move(tensor).value());
    }
    return content;
}

} // namespace headwise
