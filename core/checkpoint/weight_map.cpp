#include "core/checkpoint/weight_map.h"

#include "core/base/log.h"
#include "core/checkpoint/block_formats.h"
#include "core/checkpoint/file_change.h"
#include "core/checkpoint/foreign_weights.h"
#include "core/checkpoint/number_formats.h"
#include "core/checkpoint/packed_parts.h"
#include "core/checkpoint/scattered.h"
#include "core/checkpoint/weight_folder.h"
#include "core/files/json.h"
#include "core/files/sha256.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>
#include <system_error>
#include <tuple>

namespace headwise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t maxConfigBytes = std::size_t(16) << 20;

bool isReadable(DType dtype)
{
    return isReadableFloat(dtype) || blockSize(dtype).numbers > 0 || isPacked(dtype);
}

/// Removes the prefix that compiled and parallel training put before every name, also in the index.
void unwrapNames(std::vector<StoredTensor>& tensors, std::map<std::string, std::string>& shardOf)
{
    const auto haveAll = [&](std::string_view prefix) {
        return !tensors.empty()
            && std::all_of(tensors.begin(), tensors.end(),
                           [&](const StoredTensor& tensor) { return tensor.name.starts_with(prefix); });
    };
    for (const std::string_view prefix : {"_orig_mod.", "module.", "_orig_mod."}) { // in either order
        if (!haveAll(prefix))
            continue;
        for (StoredTensor& tensor : tensors)
            tensor.name.erase(0, prefix.size());
        std::map<std::string, std::string> without;
        for (const auto& [name, shard] : shardOf)
            without[name.starts_with(prefix) ? name.substr(prefix.size()) : name] = shard;
        shardOf = std::move(without);
    }
}

void sortByName(std::vector<StoredTensor>& tensors)
{
    std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
        return std::tie(a.name, a.shard) < std::tie(b.name, b.shard);
    });
}

Result<std::string> digest(const fs::path& folder, const std::vector<MappedFile>& files,
                           const std::vector<std::span<const std::byte>>& identities)
{
    const fs::path config = folder / "config.json";
    Result<std::string> text = readTextFile(config, maxConfigBytes);
    if (!text && text.error().code != ErrorCode::NotFound)
        return text.error();
    bool configIsDue = text.has_value();
    Sha256 sha;
    for (std::size_t i = 0; i <= files.size(); ++i) {
        if (configIsDue && (i == files.size() || config.filename() < files[i].path().filename())) {
            sha.add(std::as_bytes(std::span(*text)));
            configIsDue = false;
        }
        if (i < files.size())
            sha.add(identities[i]);
    }
    return sha.hex();
}

} // namespace

Result<WeightMap> WeightMap::open(const fs::path& path, ForeignFiles foreign)
{
    Result<WeightFiles> found = weightFilesAt(path);
    if (!found)
        return found.error();
    WeightFiles files = std::move(found).value();
    WeightMap map;
    map.m_path = path;
    std::error_code error;
    map.m_folder = fs::is_directory(path, error) ? path
        : path.has_parent_path()                 ? path.parent_path()
                                                 : fs::path(".");
    for (const fs::path& file : files.files) {
        Result<MappedFile> mapped = openWeightFile(file);
        if (!mapped)
            return mapped.error();
        map.m_files.push_back(std::move(mapped).value());
    }
    Result<std::vector<WeightFile>> read = readWeightFiles(map.m_files, foreign);
    for (const MappedFile& file : map.m_files)
        if (!file.isIntact()) // even if its content looked like something else
            return changedWhileRead(file.path());
    if (!read)
        return read.error();
    std::vector<WeightFile> contents = std::move(read).value();
    std::vector<std::span<const std::byte>> identities;
    for (WeightFile& content : contents) {
        identities.push_back(content.identity);
        map.m_warnings.insert(map.m_warnings.end(), content.warnings.begin(), content.warnings.end());
        for (StoredTensor& tensor : content.tensors) {
            tensor.shard = static_cast<int>(map.m_unpacked.size());
            map.m_tensors.push_back(std::move(tensor));
        }
        map.m_unpacked.push_back(std::move(content.unpacked));
    }
    unwrapNames(map.m_tensors, files.shardOf);
    sortByName(map.m_tensors);
    if (!files.shardOf.empty()) {
        const Result<std::vector<std::string>> extra = unlisted(map.m_tensors, files, map.m_folder);
        if (!extra)
            return extra.error();
        for (const std::string& name : *extra)
            map.m_warnings.push_back("Tensor '" + name + "' is in its file, but not in the index.");
    }
    if (foreign == ForeignFiles::Refused)
        if (const Result<Done> joined = map.joinQuantised(); !joined)
            return joined.error();
    Result<std::string> sha = digest(map.m_folder, map.m_files, identities);
    if (!sha)
        return sha.error();
    map.m_sha256 = std::move(sha).value();
    return map;
}

Result<Done> WeightMap::joinQuantised()
{
    auto joined = joinPackedParts(
        m_tensors, [this](const StoredTensor& stored) { return bytesOf(stored); },
        quantizationConfig(m_folder));
    if (!joined)
        return joined.error();
    m_packed = std::move(joined).value();
    sortByName(m_tensors);
    if (!m_packed.empty())
        m_warnings.push_back(
            fmt::format("The weights are quantised ({}): all results are those of the quantised model.",
                        dtypeName(m_packed.begin()->second.format)));
    for (std::size_t file = 0; file < m_files.size(); ++file) {
        std::vector<StoredTensor> own;
        std::ranges::copy_if(m_tensors, std::back_inserter(own),
                             [&](const StoredTensor& t) { return t.shard == static_cast<int>(file); });
        if (const auto refused = foreignWeights(own, m_files[file].path().string()))
            return *refused;
    }
    return Done{};
}

int WeightMap::find(std::string_view name) const
{
    const auto found =
        std::lower_bound(m_tensors.begin(), m_tensors.end(), name,
                         [](const StoredTensor& tensor, std::string_view n) { return tensor.name < n; });
    return found != m_tensors.end() && found->name == name ? static_cast<int>(found - m_tensors.begin()) : -1;
}

std::size_t WeightMap::fileBytes() const
{
    std::size_t total = 0;
    for (const MappedFile& file : m_files)
        total += file.size();
    return total;
}

const fs::path& WeightMap::fileOf(int tensor) const
{
    return m_files[m_tensors[tensor].shard].path();
}

bool WeightMap::isMapped(const StoredTensor& stored) const
{
    return m_files[stored.shard].isWhole() || !m_unpacked[stored.shard].empty();
}

std::span<const std::byte> WeightMap::bytesOf(const StoredTensor& stored) const
{
    if (!isMapped(stored))
        return {};
    const std::vector<std::byte>& unpacked = m_unpacked[stored.shard];
    const std::span<const std::byte> all = unpacked.empty() ? m_files[stored.shard].bytes() : unpacked;
    return all.subspan(stored.begin, stored.byteCount);
}

Result<Done> WeightMap::checkView(const TensorView& view) const
{
    assert(view.tensor >= 0 && view.tensor < static_cast<int>(m_tensors.size()));
    const StoredTensor& tensor = m_tensors[view.tensor];
    const std::string which = "Tensor '" + tensor.name + "' in '" + fileOf(view.tensor).string() + "' ";
    if (!isReadable(tensor.dtype))
        return Error{
            ErrorCode::Unsupported,
            which + "is stored as " + std::string(dtypeName(tensor.dtype))
                + "; weights are read from F64, F32, F16, BF16, F8_E4M3, F8_E5M2 and some of ggml's blocks."};
    if (view.rows == 0 || view.cols == 0)
        return Done{};
    std::int64_t down = 0, across = 0, last = 0;
    const bool fits = view.rows > 0 && view.cols > 0 && view.offset >= 0 && view.rowStride >= 0
        && view.colStride >= 0 && !__builtin_mul_overflow(view.rows - 1, view.rowStride, &down)
        && !__builtin_mul_overflow(view.cols - 1, view.colStride, &across)
        && !__builtin_add_overflow(down, across, &last) && !__builtin_add_overflow(last, view.offset, &last)
        && last < elementCount(tensor);
    if (!fits)
        return Error{ErrorCode::Corrupt,
                     which + "has shape " + shapeText(tensor.shape) + ", too small for the ["
                         + std::to_string(view.rows) + ", " + std::to_string(view.cols)
                         + "] part of it that the config asks for."};
    return Done{};
}

namespace {

/// Copies along the stride that is 1, or number by number if neither is.
/// \param readRun reads (first, count, out) in row-major order
template <typename Scalar, typename ReadRun>
void readViewByRuns(const TensorView& view, const ReadRun& readRun, Matrix<Scalar>& out)
{
    if (view.rowStride == 1) {
        for (Eigen::Index c = 0; c < view.cols; ++c)
            readRun(view.offset + c * view.colStride, view.rows, out.col(c).data());
        return;
    }
    const bool isLine = view.colStride == 1;
    RowVector<Scalar> row(view.cols);
    for (Eigen::Index r = 0; r < view.rows; ++r) {
        const std::int64_t first = view.offset + r * view.rowStride;
        if (isLine)
            readRun(first, view.cols, row.data());
        for (Eigen::Index c = 0; c < view.cols && !isLine; ++c)
            readRun(first + c * view.colStride, 1, row.data() + c);
        out.row(r) = row;
    }
}

} // namespace

template <typename Scalar>
void WeightMap::readRun(const StoredTensor& stored, std::int64_t first, std::int64_t count, Scalar* out) const
{
    if (isPacked(stored.dtype))
        return readPacked(m_packed.at(stored.name), first, count, out);
    if (isMapped(stored))
        return readScattered(stored, bytesOf(stored).data(), first, count, out);
    std::array<std::byte, 1 << 14> piece;
    const auto width = dtypeBits(stored.dtype) / 8; // openWeightFile() leaves no blocks and no axes unmapped
    const auto most = static_cast<std::int64_t>(piece.size()) / width;
    for (std::int64_t done = 0; done < count; done += most) {
        const std::int64_t some = std::min(most, count - done);
        m_files[stored.shard].read(stored.begin + static_cast<std::size_t>((first + done) * width),
                                   std::span(piece).first(static_cast<std::size_t>(some * width)));
        readScattered(stored, piece.data(), 0, some, out + done);
    }
}

template void WeightMap::readRun(const StoredTensor&, std::int64_t, std::int64_t, float*) const;
template void WeightMap::readRun(const StoredTensor&, std::int64_t, std::int64_t, double*) const;

template <typename Scalar>
void WeightMap::readStored(const TensorView& view, Matrix<Scalar>& out) const
{
    out.resize(view.rows, view.cols);
    const StoredTensor& tensor = m_tensors[view.tensor];
    if (tensor.axes.empty() && isReadableFloat(tensor.dtype) && isMapped(tensor)) {
        const std::byte* begin = bytes(view.tensor).data() + view.offset * (dtypeBits(tensor.dtype) / 8);
        readRectangle(
            StoredRectangle{tensor.dtype, begin, view.rowStride, view.colStride, view.rows, view.cols},
            out.data());
    } else {
        readViewByRuns(
            view,
            [&](std::int64_t first, std::int64_t count, Scalar* to) { readRun(tensor, first, count, to); },
            out);
    }
}

template <typename Scalar>
void WeightMap::readChangedBy(const LowRankChange& change, const TensorView& view, Matrix<Scalar>& out) const
{
    readChanged(
        change, view, [this](const TensorView& base, Matrix<double>& numbers) { readStored(base, numbers); },
        out);
}

template <typename Scalar>
void WeightMap::read(const TensorView& view, Matrix<Scalar>& out) const
{
    assert(checkView(view));
    if (const LowRankChange* change = changeOf(view.tensor))
        readChangedBy(*change, view, out);
    else
        readStored(view, out);
    // Zeros for missing bytes would pass for weights; NaN never goes unnoticed.
    if (!isIntact(view.tensor))
        out.setConstant(std::numeric_limits<Scalar>::quiet_NaN());
}

template void WeightMap::read(const TensorView&, Matrix<float>&) const;
template void WeightMap::read(const TensorView&, Matrix<double>&) const;

const LowRankChange* WeightMap::changeOf(int tensor) const
{
    const auto found = m_changes.find(tensor);
    return found == m_changes.end() || found->second.strength == 0 ? nullptr : &found->second;
}

void WeightMap::addChanges(std::map<int, LowRankChange> changes, const fs::path& adapter,
                           std::string_view identity)
{
    m_changes = std::move(changes);
    m_path = adapter;
    Sha256 sha;
    for (const std::string_view part : {std::string_view(m_sha256), identity})
        sha.add(std::as_bytes(std::span(part)));
    m_sha256 = sha.hex();
}

bool WeightMap::isIntact(int tensor) const
{
    if (const LowRankChange* change = changeOf(tensor); change && !change->adapter->isIntact(change->a))
        return false;
    const MappedFile& file = m_files[m_tensors[tensor].shard];
    if (file.isIntact())
        return true;
    logWarning("File '" + file.path().string() + "' changed or became unreadable while it was open; tensor '"
               + m_tensors[tensor].name + "' reads as NaN.");
    return false;
}

bool WeightMap::holdsNumbers(int tensor) const
{
    return isReadable(m_tensors[tensor].dtype) || isReadableInteger(m_tensors[tensor].dtype);
}

Error WeightMap::notNumbers(int tensor) const
{
    const StoredTensor& stored = m_tensors[static_cast<std::size_t>(tensor)];
    return {ErrorCode::Unsupported,
            "Tensor '" + stored.name + "' in '" + fileOf(tensor).string() + "' is stored as "
                + std::string(dtypeName(stored.dtype)) + ", whose numbers this version does not decode."};
}

template <typename Scalar>
void WeightMap::readNumbers(int tensor, std::int64_t first, std::int64_t count, Scalar* out) const
{
    assert(holdsNumbers(tensor) && first >= 0 && count >= 0
           && first + count <= elementCount(m_tensors[tensor]));
    if (const LowRankChange* change = changeOf(tensor)) {
        Matrix<Scalar> numbers;
        readChangedBy(*change, {tensor, first, 1, 0, count, 1}, numbers);
        std::copy_n(numbers.data(), count, out);
    } else {
        readRun(m_tensors[tensor], first, count, out);
    }
    if (!isIntact(tensor))
        std::fill_n(out, count, std::numeric_limits<Scalar>::quiet_NaN());
}

template void WeightMap::readNumbers(int, std::int64_t, std::int64_t, float*) const;
template void WeightMap::readNumbers(int, std::int64_t, std::int64_t, double*) const;

NonFinite WeightMap::nonFinite(int tensor) const
{
    constexpr std::int64_t block = 1 << 14;
    NonFinite found;
    const std::int64_t count = isReadable(m_tensors[tensor].dtype) ? elementCount(m_tensors[tensor]) : 0;
    std::vector<double> numbers(static_cast<std::size_t>(std::min(block, count)));
    for (std::int64_t begin = 0; begin < count; begin += block) {
        const std::int64_t some = std::min(block, count - begin);
        readNumbers(tensor, begin, some, numbers.data());
        for (std::int64_t i = 0; i < some; ++i) {
            if (std::isfinite(numbers[static_cast<std::size_t>(i)]))
                continue;
            if (found.count++ == 0)
                found.first = begin + i;
        }
    }
    return found;
}

} // namespace headwise
