#include "core/checkpoint/npy.h"

#include "core/checkpoint/npz.h"
#include "core/checkpoint/number_formats.h"
#include "core/checkpoint/packed_weight.h"
#include "core/checkpoint/scattered.h"
#include "core/files/file_write.h"
#include "core/files/mapped_file.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace headwise {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

constexpr std::int64_t npyBlockNumbers = 1 << 16;

/// Reads numbers as `Carrier`, which holds every `From` exactly, and writes them as `To`.
template <typename To, typename Carrier>
Result<Done> writeAs(FileWriter& writer, const WeightMap& file, int tensor, DType from, const Task& task)
{
    StoredTensor stored = file.tensors()[static_cast<std::size_t>(tensor)];
    stored.dtype = from;
    const std::int64_t count = elementCount(stored);
    std::vector<Carrier> numbers(static_cast<std::size_t>(std::min(count, npyBlockNumbers)));
    std::vector<To> written(numbers.size());
    for (std::int64_t first = 0; first < count; first += npyBlockNumbers) {
        if (task.cancelled())
            return stopped();
        const std::int64_t some = std::min(npyBlockNumbers, count - first);
        if (isPacked(from) || file.changes().contains(tensor))
            file.readNumbers(tensor, first, some, numbers.data());
        else
            file.readRun(stored, first, some, numbers.data());
        if (!file.isIntact(tensor))
            return Error{ErrorCode::Io,
                         "File '" + file.fileOf(tensor).string()
                             + "' was shortened while it was read; open it again."};
        std::transform(numbers.begin(), numbers.begin() + some, written.begin(),
                       [](Carrier number) { return static_cast<To>(number); });
        const auto bytes = std::as_bytes(std::span(written.data(), static_cast<std::size_t>(some)));
        if (Result<Done> result = writer.write(bytes); !result)
            return result;
        task.report(static_cast<int>(first / npyBlockNumbers + 1),
                    static_cast<int>((count + npyBlockNumbers - 1) / npyBlockNumbers), "blocks");
    }
    return Done{};
}

/// The dtype whose NumPy type the file gets: an adapter's sum needs float32 where the base has less.
DType writtenType(const WeightMap& file, int tensor)
{
    const DType dtype = file.tensors()[static_cast<std::size_t>(tensor)].dtype;
    return file.changes().contains(tensor) && dtype != DType::F64 ? DType::F32 : dtype;
}

/// Moves the bits unchanged, whatever they mean: 8-byte numbers as doubles, 4-byte ones as floats, and those of 2 bytes
/// and 1 byte as unsigned integers. Nothing is computed with them.
Result<Done> writeNumbers(FileWriter& writer, const WeightMap& file, int tensor, const Task& task)
{
    const DType dtype = writtenType(file, tensor);
    switch (dtype) {
    case DType::F64:
    case DType::I64:
    case DType::U64: return writeAs<double, double>(writer, file, tensor, DType::F64, task);
    case DType::F32:
    case DType::I32:
    case DType::U32: return writeAs<float, float>(writer, file, tensor, DType::F32, task);
    case DType::F16:
    case DType::I16:
    case DType::U16: return writeAs<std::uint16_t, float>(writer, file, tensor, DType::U16, task);
    case DType::I8:
    case DType::U8: return writeAs<std::uint8_t, float>(writer, file, tensor, DType::U8, task);
    case DType::Bool: return writeAs<std::uint8_t, float>(writer, file, tensor, DType::Bool, task);
    default: return writeAs<float, float>(writer, file, tensor, dtype, task);
    }
}

/// Converts column-major numbers to row-major order. [product of shape]
std::vector<double> byRows(const std::vector<double>& stored, const std::vector<std::int64_t>& shape)
{
    std::vector<double> values(stored.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        auto rest = static_cast<std::int64_t>(i), stride = static_cast<std::int64_t>(stored.size());
        std::int64_t at = 0;
        for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
            stride /= shape[axis]; // the last axis has the largest stride
            at += rest % shape[axis] * stride;
        }
        values[i] = stored[static_cast<std::size_t>(at)];
    }
    return values;
}

} // namespace

std::string npyHeader(std::string_view type, const std::vector<std::int64_t>& shape)
{
    // Writes a Python tuple: (), (3,), (2, 3).
    std::string sizes;
    for (const std::int64_t size : shape)
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    if (shape.size() == 1)
        sizes += ',';
    std::string header =
        "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
    // after the magic number (6), version (2) and length (2)
    header.append(63 - (10 + header.size()) % 64, ' ');
    header += '\n';
    std::string bytes = "\x93NUMPY";
    bytes += {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    return bytes + header;
}

std::string_view npyTypeOf(DType dtype)
{
    switch (dtype) {
    case DType::F64: return "<f8";
    case DType::F32: return "<f4";
    case DType::F16: return "<f2";
    case DType::I64: return "<i8";
    case DType::U64: return "<u8";
    case DType::I32: return "<i4";
    case DType::U32: return "<u4";
    case DType::I16: return "<i2";
    case DType::U16: return "<u2";
    case DType::I8: return "|i1";
    case DType::U8: return "|u1";
    case DType::Bool: return "|b1";
    default: return "<f4";
    }
}

Result<Done> writeNpy(const WeightMap& file, int tensor, const std::filesystem::path& path, const Task& task)
{
    const StoredTensor& stored = file.tensors()[static_cast<std::size_t>(tensor)];
    if (!file.holdsNumbers(tensor))
        return file.notNumbers(tensor);
    return replaceFile(path, [&](FileWriter& writer) -> Result<Done> {
        const std::string header = npyHeader(npyTypeOf(writtenType(file, tensor)), stored.shape);
        if (Result<Done> written = writer.write(std::as_bytes(std::span(header))); !written)
            return written;
        return writeNumbers(writer, file, tensor, task);
    });
}

Result<NpyNumbers> readNpyNumbers(const std::filesystem::path& path)
{
    const auto file = MappedFile::open(path);
    if (!file)
        return file.error();
    const std::span<const std::byte> bytes = file->bytes();
    // Presents the file as the only, uncompressed member of an archive.
    const ZipEntry entry{path.stem().string() + ".npy", 0, bytes.size(), bytes.size(), false};
    const auto content = readNpz(bytes, std::span(&entry, 1), path.string());
    if (!content)
        return content.error();
    const StoredTensor& array = content->tensors.front();
    if (!isReadableFloat(array.dtype) && !isReadableInteger(array.dtype)) {
        return Error{ErrorCode::Unsupported,
                     "The file '" + path.string() + "' holds numbers of type "
                         + std::string(dtypeName(array.dtype)) + ", expected real ones."};
    }
    const std::byte* begin =
        (content->unpacked.empty() ? bytes.data() : content->unpacked.data()) + array.begin;
    const std::int64_t count = elementCount(array);
    NpyNumbers numbers{array.shape, std::vector<double>(static_cast<std::size_t>(count))};
    readRectangle<double>({array.dtype, begin, 1, 1, count, 1}, numbers.values.data());
    if (!file->isIntact())
        return Error{ErrorCode::Io, "File '" + path.string() + "' was shortened while it was read."};
    if (!array.axes.empty())
        numbers.values = byRows(numbers.values, array.shape);
    return numbers;
}

Result<std::vector<double>> readNpyVector(const std::filesystem::path& path)
{
    auto numbers = readNpyNumbers(path);
    if (!numbers)
        return numbers.error();
    const std::vector<std::int64_t>& shape = numbers->shape;
    const bool isVector = !shape.empty()
        && std::count_if(shape.begin(), shape.end(), [](std::int64_t size) { return size != 1; }) <= 1;
    if (!isVector)
        return Error{ErrorCode::Unsupported,
                     "The file '" + path.string() + "' holds an array of shape " + shapeText(shape)
                         + ", expected one vector of real numbers."};
    return std::move(numbers).value().values;
}

} // namespace headwise
