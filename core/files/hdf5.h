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

/// Files in HDF5, as far as we need them: groups, arrays of numbers, arrays of text, attributes. Paths inside a file are
/// written "spectra/qk/singular_values" (a leading slash is ignored, "" is the root group).
///
/// Types are those h5py reads without help: little-endian f32, f64, i32, i64; complex as compound (r, i); bool as the
/// enumeration FALSE, TRUE of i8; text as variable-length UTF-8.
///
/// Threads: the HDF5 C library is not thread-safe, so every call of a writer waits for one lock of the whole program. Objects
/// may be used from any thread, one thread at a time.

/// The numbers of a dataset; the same alternatives as ResultArray::Values.
using Hdf5Values = std::variant<std::vector<float>, std::vector<double>, std::vector<std::int32_t>,
                                std::vector<std::complex<float>>, std::vector<std::complex<double>>>;

struct Hdf5Array {
    std::vector<std::size_t> shape; // row-major; empty: a scalar
    Hdf5Values values;              // product of shape
};

using Hdf5Attribute = std::variant<std::string, double, bool, std::vector<std::string>, std::int64_t>;
using Hdf5Attributes = std::map<std::string, Hdf5Attribute>;

/// Whether a file may be written there, or in place of an older HDF5 file or an empty one.
/// Errors: InvalidArgument if it would replace anything else, such as the weights of a model; those of canReplaceFile.
Result<Done> canWriteHdf5(const std::filesystem::path& path);

/// Writes a new file: put together in memory, then on `close` in place of the old one, which until then is untouched.
/// Without `close` there is no file.
/// Cost: memory of the packed file beside the arrays.
class Hdf5Writer {
public:
    /// Errors: Io (canReplaceFile), so that a long computation does not end in front of a missing folder.
    static Result<Hdf5Writer> create(const std::filesystem::path& path);

    /// Makes the group and those above it, where they are missing.
    Result<Done> createGroup(std::string_view path);

    /// Writes a dataset of numbers, chunked (at most 1 MiB a chunk), shuffled and deflated; groups above it are made.
    /// \param values product of shape
    /// Errors: OutOfMemory, Cancelled, InvalidArgument if the number of values is not the product of shape.
    template <typename T>
    Result<Done> writeNumbers(std::string_view path, const std::vector<std::size_t>& shape,
                              std::span<const T> values, const Task& task);
    Result<Done> writeArray(std::string_view path, const std::vector<std::size_t>& shape,
                            const Hdf5Values& values, const Task& task);

    /// One string. Errors: InvalidArgument if it contains a NUL, which HDF5 strings cannot hold.
    Result<Done> writeText(std::string_view path, const std::string& text);
    Result<Done> writeTexts(std::string_view path, std::span<const std::string> texts); // [texts]
    /// Rows of bytes, each of its own length, as variable-length u8.
    Result<Done> writeBytes(std::string_view path, std::span<const std::string> rows); // [rows]

    /// \param path an existing group or dataset
    Result<Done> setAttribute(std::string_view path, const std::string& name, const Hdf5Attribute& value);

    /// Names the dimensions of a dataset for readers that know HDF5's dimension labels: h5py's `dims`, HDFView, h5web.
    /// \param path an existing dataset with as many dimensions as `names`
    Result<Done> labelAxes(std::string_view path, const std::vector<std::string>& names);
    /// Says what the entries of one dimension are: those of `scale`, a dataset of one dimension and of that length.
    /// At most `mostAttached` of one scale: where it says whose it is, HDF5 has no room for more.
    Result<Done> attachScale(std::string_view path, unsigned axis, std::string_view scale);
    static constexpr std::size_t mostAttached = 2000;

    /// Writes beside the old file, forces it to disk and renames (replaceFile). The writer is of no use after it.
    /// Errors: Io (no such folder, no permission, disk full); the old file is then as it was.
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

/// Reads a file that somebody may have damaged on purpose. A process of its own does it (hdf5_child.cpp), with limits on memory,
/// time and what it may ask of the system, and hands over plain arrays; if it crashes or hangs, that is an Error here.
/// It follows no soft or external link, loads no filter but shuffle and deflate, and enters no group twice.
/// Cost: about 20 ms to start the process, which lives as long as the reader. Only what is asked for is read.
class Hdf5Reader {
public:
    /// Opens without a lock, so that read-only folders and network disks do.
    /// \param task ends every later call too, within 50 ms
    /// Errors: NotFound, Io, Corrupt (not HDF5, truncated), Cancelled.
    static Result<Hdf5Reader> open(const std::filesystem::path& path, const Task& task = {});

    bool has(std::string_view path) const;

    /// Lists a group in the order it was written. Errors: NotFound; Corrupt, also if the group has a second path.
    Result<std::vector<Hdf5Entry>> entries(std::string_view group) const;

    /// The attributes of a group or dataset; those of a type we do not know are left out. Errors: NotFound, Corrupt.
    Result<Hdf5Attributes> attributes(std::string_view path) const;

    /// Errors: NotFound; Unsupported (another type or filter); Corrupt (more values than the bytes can hold, or than a
    /// file of this size is believed to hold); OutOfMemory.
    Result<Hdf5Array> readArray(std::string_view path) const;
    Result<std::vector<std::string>> readTexts(std::string_view path) const; // scalar: one
    Result<std::vector<std::string>> readBytes(std::string_view path) const;

    const std::filesystem::path& path() const;

private:
    struct File;
    explicit Hdf5Reader(std::shared_ptr<File> file);

    std::shared_ptr<File> m_file;
};

/// Whether the file begins as HDF5 files do; false for anything else and for files that cannot be read.
bool isHdf5(const std::filesystem::path& path);

} // namespace headwise
