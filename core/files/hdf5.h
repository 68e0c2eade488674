#pragma once

#include "core/base/task.h"

#include <complex>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headwise {

/// Reading and writing HDF5, as far as Headwise needs it: groups, arrays of numbers, arrays of text, attributes. Paths
/// inside a file look like "spectra/qk/singular_values" (a leading slash is ignored, "" is the root group).
///
/// The types are those h5py reads by itself: little-endian f32, f64, i32, i64; complex as compound (r, i); bool as the
/// enumeration FALSE, TRUE of i8; text as variable-length UTF-8.
///
/// Threads: the HDF5 C library is not thread-safe, so every call of a writer takes one global lock. An object may be used
/// from any thread, but from one at a time.

/// The numbers of a dataset; the same alternatives as ResultArray::Values.
using Hdf5Values = std::variant<std::vector<float>, std::vector<double>, std::vector<std::int32_t>,
                                std::vector<std::complex<float>>, std::vector<std::complex<double>>>;

struct Hdf5Array {
    std::vector<std::size_t> shape; // row-major; empty: a scalar
    Hdf5Values values;              // product of shape
};

using Hdf5Attribute = std::variant<std::string, double, bool, std::vector<std::string>, std::int64_t>;
using Hdf5Attributes = std::map<std::string, Hdf5Attribute>;

/// Checks that a file may be written there, or may replace an older HDF5 file or an empty file.
/// Errors: InvalidArgument if it would replace anything else, such as a model's weights; those of canReplaceFile.
Result<Done> canWriteHdf5(const std::filesystem::path& path);

/// Writes a new file. It is built in memory, and `close` puts it in place of the old file, which is untouched until then.
/// Without `close` nothing is written.
/// Cost: memory of the packed file on top of the arrays.
class Hdf5Writer {
public:
    /// Errors: Io (canReplaceFile), so that a missing folder is reported before a long computation.
    static Result<Hdf5Writer> create(const std::filesystem::path& path);

    /// Creates the group and its parents if they are missing.
    Result<Done> createGroup(std::string_view path);

    /// Writes a dataset of numbers, chunked (at most 1 MiB a chunk), shuffled and deflated. Creates the groups above it.
    /// \param values product of shape
    /// Errors: OutOfMemory, Cancelled, InvalidArgument if the number of values is not the product of shape.
    template <typename T>
    Result<Done> writeNumbers(std::string_view path, const std::vector<std::size_t>& shape,
                              std::span<const T> values, const Task& task);
    Result<Done> writeArray(std::string_view path, const std::vector<std::size_t>& shape,
                            const Hdf5Values& values, const Task& task);

    /// Writes one string. Errors: InvalidArgument if it contains a NUL, which HDF5 strings cannot hold.
    Result<Done> writeText(std::string_view path, const std::string& text);
    Result<Done> writeTexts(std::string_view path, std::span<const std::string> texts); // [texts]
    /// Writes rows of bytes, each of its own length, as variable-length u8.
    Result<Done> writeBytes(std::string_view path, std::span<const std::string> rows); // [rows]

    /// \param path an existing group or dataset
    Result<Done> setAttribute(std::string_view path, const std::string& name, const Hdf5Attribute& value);

    /// Names the dimensions of a dataset for readers that know HDF5's dimension labels: h5py's `dims`, HDFView, h5web.
    /// \param path an existing dataset with as many dimensions as `names`
    Result<Done> labelAxes(std::string_view path, const std::vector<std::string>& names);
    /// Attaches the dimension scale `scale` to one dimension: a dataset with one dimension of the same length. A scale
    /// takes at most `mostAttached` dimensions, because HDF5 has no room to list more.
    Result<Done> attachScale(std::string_view path, unsigned axis, std::string_view scale);
    static constexpr std::size_t mostAttached = 2000;

    /// Writes beside the old file, forces it to disk and renames it (replaceFile). The writer cannot be used afterwards.
    /// Errors: Io (no such folder, no permission, disk full); the old file is unchanged then.
    Result<Done> close();

private:
    struct File;
    explicit Hdf5Writer(std::shared_ptr<File> file);

    std::shared_ptr<File> m_file;
};

enum class Hdf5Kind { Group, Numbers, Texts, Bytes, Other };

struct Hdf5Entry {
    std::string name; ///< Without a slash.
    Hdf5Kind kind = Hdf5Kind::Other;

    bool operator==(const Hdf5Entry&) const = default;
};

/// A rectangle of an array: where it begins and how far it goes in each dimension. An extent of 0 goes to the end.
struct Hdf5Block {
    std::vector<std::size_t> begin, extent;
};

/// Reads a file that may be damaged on purpose. A separate process reads it (hdf5_child.cpp), with limits on memory, time
/// and system calls, and hands over plain arrays. If that process crashes or hangs, the reader returns an Error. It
/// follows no soft or external link, loads no filter but shuffle and deflate, and enters no group twice.
/// Cost: about 20 ms to start the process, which lives as long as the reader. Only requested data is read.
class Hdf5Reader {
public:
    /// Opens without a lock, so that read-only folders and network disks work.
    /// \param task its cancellation also ends every later call, within 50 ms
    /// Errors: NotFound, Io, Corrupt (not HDF5, truncated), Cancelled.
    static Result<Hdf5Reader> open(const std::filesystem::path& path, const Task& task = {});

    bool has(std::string_view path) const;

    /// Lists a group in the order it was written. Errors: NotFound; Corrupt, also if the group is reachable by two paths.
    Result<std::vector<Hdf5Entry>> entries(std::string_view group) const;

    /// Returns the attributes of a group or dataset, without those of unknown types. Errors: NotFound, Corrupt.
    Result<Hdf5Attributes> attributes(std::string_view path) const;

    /// Errors: NotFound; Unsupported (another type or filter); Corrupt (more values than the stored bytes can hold, or
    /// than is plausible for a file of this size); OutOfMemory.
    Result<Hdf5Array> readArray(std::string_view path) const;
    /// Reads a part of an array. Memory is that of the part. Errors: those of readArray; Corrupt if it lies outside.
    Result<Hdf5Array> readBlock(std::string_view path, const Hdf5Block& block) const;
    Result<std::vector<std::string>> readTexts(std::string_view path) const; // a scalar gives one
    Result<std::vector<std::string>> readBytes(std::string_view path) const;

    const std::filesystem::path& path() const;

private:
    struct File;
    explicit Hdf5Reader(std::shared_ptr<File> file);

    std::shared_ptr<File> m_file;
};

/// Tells whether the file has the HDF5 signature; false if it cannot be read.
bool isHdf5(const std::filesystem::path& path);

} // namespace headwise
