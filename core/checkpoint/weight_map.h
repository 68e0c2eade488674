#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"
#include "core/files/mapped_file.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A rectangle of a stored tensor by element strides: entry (r, c) is element offset + r·rowStride + c·colStride.
struct TensorView {
    int tensor = -1; ///< Index in WeightMap::tensors().
    std::int64_t offset = 0, rowStride = 0, colStride = 0;
    Eigen::Index rows = 0, cols = 0;

    bool isPresent() const { return tensor >= 0; }
    bool operator==(const TensorView&) const = default;
};

/// The entries of a tensor that are no numbers.
struct NonFinite {
    std::int64_t count = 0;
    std::int64_t first = -1; ///< Element index of the first one; -1 if there is none.

    bool operator==(const NonFinite&) const = default;
};

/// The tensors of a checkpoint by name, over all its files: names, dtypes, shapes and bytes as they are stored, nothing
/// interpreted. The files are mapped, so opening costs their headers and reading costs what is read.
///
/// Threads: const functions from several threads at once are fine.
class WeightMap {
public:
    /// Opens a folder or one file: safetensors, a PyTorch checkpoint, GGUF, llama2.c's or .npz, which its first bytes decide.
    ///
    /// In a folder: model.safetensors.index.json and the shards it names, else model.safetensors, else the only
    /// *.safetensors that is not a copy, an adapter or an original; without any, the same of pytorch_model.bin and
    /// .bin, .pt and .pth, or a .gguf or .npz. Shards are names in the folder itself, never paths;
    /// one may be a symlink to a regular file, as the Hugging Face cache stores them. "_orig_mod." and "module.", which
    /// compiled and parallel training put before every name, are taken off.
    /// Errors: NotFound (no such path, no weights, shards missing, several files and no index); Corrupt; Unsupported
    /// (another format, a LoRA adapter); Io.
    static Result<WeightMap> open(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return m_path; } ///< The path that was opened.
    const std::filesystem::path& folder() const
    {
        return m_folder;
    } ///< Where config.json and tokenizer.json are looked for.
    const std::vector<StoredTensor>& tensors() const
    {
        return m_tensors;
    }                                      ///< By name; `shard` indexes the files.
    int find(std::string_view name) const; ///< Index in tensors(), or -1.

    /// Oddities in the files that are not errors, a sentence each.
    const std::vector<std::string>& warnings() const { return m_warnings; }

    std::size_t fileBytes() const; ///< Total size of all files.

    /// Digest of config.json and the JSON of each file's header, in file-name order; lower-case hex.
    const std::string& sha256() const { return m_sha256; }

    const std::filesystem::path& fileOf(int tensor) const;
    std::span<const std::byte> bytes(int tensor) const;

    /// Whether the view can be read: the tensor holds floating-point numbers and every entry lies inside it.
    /// Errors: Unsupported, Corrupt; naming tensor and file.
    Result<Done> checkView(const TensorView& view) const;

    /// Decodes the rectangle into `out`, resized to [rows, cols]. The view must have passed checkView().
    /// All NaN, and a line in the log, once another program shortened the file or wrote into it.
    /// Cost: as fast as memory for either stride; touches only the rectangle's pages.
    template <typename Scalar>
    void read(const TensorView& view, Matrix<Scalar>& out) const;

    /// Whether readNumbers() can decode the tensor: every float that read() takes, and integers and truth values too.
    bool holdsNumbers(int tensor) const;

    /// The numbers [first, first + count) of a tensor in row-major order, whatever its axes; holdsNumbers() must hold.
    /// All NaN, and a line in the log, once another program shortened the file or wrote into it.
    template <typename Scalar>
    void readNumbers(int tensor, std::int64_t first, std::int64_t count, Scalar* out) const;

    /// False, and a line in the log, if the tensor's file changed since it was opened (file_change.h).
    bool isIntact(int tensor) const;

    /// Counts NaN and infinity in a tensor; none in one that holds no floating-point numbers. Cost: reads all of it.
    NonFinite nonFinite(int tensor) const;

private:
    WeightMap() = default;

    std::filesystem::path m_path;
    std::filesystem::path m_folder;
    std::vector<MappedFile> m_files;
    std::vector<std::vector<std::byte>> m_unpacked; // [files], empty where the numbers are read from the file
    std::vector<StoredTensor> m_tensors;
    std::vector<std::string> m_warnings;
    std::string m_sha256;
};

} // namespace headwise
