#include "core/checkpoint/safetensors_writer.h"

#include "core/files/file_write.h"
#include "core/files/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace headwise {

namespace {

constexpr std::size_t safetensorsWriterBlockBytes = std::size_t{16} << 20;

/// Returns 0 or an errno.
int writeAt(int file, std::span<const char> bytes, std::int64_t offset)
{
    while (!bytes.empty()) {
        const ssize_t count =
            ::pwrite(file, bytes.data(), std::min(bytes.size(), safetensorsWriterBlockBytes), offset);
        if (count < 0 && errno != EINTR)
            return errno;
        if (count > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(count));
            offset += count;
        }
    }
    return 0;
}

std::int64_t countOf(const SafetensorsEntry& entry)
{
    std::int64_t count = 1;
    for (const std::int64_t size : entry.shape)
        count *= size;
    return count;
}

} // namespace

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, int file, Dtype dtype)
    : m_path(std::move(path))
    , m_file(file)
    , m_dtype(dtype)
{
}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&& other) noexcept
    : m_path(std::move(other.m_path))
    , m_file(std::exchange(other.m_file, -1))
    , m_dtype(other.m_dtype)
    , m_begins(std::move(other.m_begins))
{
}

SafetensorsWriter::~SafetensorsWriter()
{
    if (m_file >= 0)
        ::close(m_file);
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path,
                                                    const std::vector<SafetensorsEntry>& entries, Dtype dtype)
{
    const std::int64_t bytesPerNumber = dtype == Dtype::F64 ? 8 : 4;
    nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
    std::vector<std::int64_t> begins;
    std::int64_t at = 0;
    for (const SafetensorsEntry& entry : entries) {
        begins.push_back(at);
        at += countOf(entry) * bytesPerNumber;
        header[entry.name] = {{"dtype", dtype == Dtype::F64 ? "F64" : "F32"},
                              {"shape", entry.shape},
                              {"data_offsets", {begins.back(), at}}};
    }
    std::string text = jsonText(header);
    text.append((8 - text.size() % 8) % 8, ' '); // so that the numbers are aligned
    std::string prefix;
    for (std::size_t i = 0; i < 8; ++i)
        prefix += static_cast<char>(text.size() >> (8 * i) & 0xff);
    text = prefix + text;
    for (std::int64_t& begin : begins)
        begin += static_cast<std::int64_t>(text.size());

    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return cannotWrite(path, errno);
    SafetensorsWriter writer(path, file, dtype);
    writer.m_begins = std::move(begins);
    if (::ftruncate(file, static_cast<off_t>(text.size()) + at) != 0)
        return cannotWrite(path, errno);
    if (const int number = writeAt(file, text, 0); number != 0)
        return cannotWrite(path, number);
    return writer;
}

template <typename Scalar>
Result<Done> SafetensorsWriter::writeNumbers(std::size_t entry, std::int64_t first,
                                             std::span<const Scalar> values)
{
    assert((m_dtype == Dtype::F64) == (std::is_same_v<Scalar, double>));
    const auto bytesPerNumber = static_cast<std::int64_t>(sizeof(Scalar));
    const std::span<const char> bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    if (const int number = writeAt(m_file, bytes, m_begins[entry] + first * bytesPerNumber); number != 0)
        return cannotWrite(m_path, number);
    return Done{};
}

Result<Done> SafetensorsWriter::write(std::size_t entry, std::int64_t first, std::span<const float> values)
{
    return writeNumbers(entry, first, values);
}

Result<Done> SafetensorsWriter::write(std::size_t entry, std::int64_t first, std::span<const double> values)
{
    return writeNumbers(entry, first, values);
}

Result<Done> SafetensorsWriter::close()
{
    const int synced = forceToDisk(m_file);
    const int closed = ::close(std::exchange(m_file, -1)) == 0 ? 0 : errno;
    if (synced != 0 || closed != 0)
        return cannotWrite(m_path, synced != 0 ? synced : closed);
    return Done{};
}

} // namespace headwise
