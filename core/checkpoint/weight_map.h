#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"
#include "core/checkpoint/low_rank.h"
#include "core/checkpoint/packed_weight.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/weight_file.h"
#include "core/files/mapped_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A rectangle of a stored tensor, by element strides: entry (r, c) is element offset + r·rowStride + c·colStride.
struct TensorView {
    int tensor = -1; ///< Index in WeightMap::tensors().
    std::int64_t offset = 0, rowStride = 0, colStride = 0;
    Eigen::Index rows = 0, cols = 0;

    bool isPresent() const { return tensor >= 0; }
    bool operator==(const TensorView&) const = default;
};

/// Counts of the NaN and infinite entries of a tensor.
struct NonFinite {
    std::int64_t count = 0;
    std::int64_t first = -1; ///< Element index of the first one; -1 if there is none.

    bool operator==(const NonFinite&) const = default;
};

/// The tensors of a checkpoint by name, over all its files: names, dtypes, shapes and bytes as stored, without
/// interpretation. The files are mapped, so opening reads only their headers.
///
/// Threads: const functions from several threads at once are fine.
class WeightMap {
public:
    /// Opens a folder or one file: safetensors, a PyTorch checkpoint, GGUF, llama2.c or .npz. The first bytes decide the
    /// format.
    ///
    /// In a folder: model.safetensors.index.json and the shards it names, else model.safetensors, else the only
    /// *.safetensors that is not a copy, an adapter or an original; without any, the same of pytorch_model.bin and .bin,
    /// .pt and .pth, or a .gguf or .npz, or Meta's consolidated file if it is one alone. A split GGUF model opens from its
    /// folder or any of its parts. Shards are names in the folder itself, never paths; one may be a symlink to a
    /// regular file, as in the Hugging Face cache. The prefixes "_orig_mod." and "module." of compiled and parallel
    /// training are removed. The parts of a quantised matrix are one tensor (packed_parts.h).
    /// Errors: NotFound (no such path, no weights, shards missing, several files and no index); Corrupt; Unsupported
    /// (another format, a LoRA adapter); Io.
    static Result<WeightMap> open(const std::filesystem::path& path,
                                  ForeignFiles foreign = ForeignFiles::Refused);

    const std::filesystem::path& path() const { return m_path; } ///< The path that was opened.
    const std::filesystem::path& folder() const
    {
        return m_folder;
    } ///< The folder in which config.json and tokenizer.json are looked for.
    const std::vector<StoredTensor>& tensors() const
    {
        return m_tensors;
    }                                      ///< Sorted by name; `shard` indexes the files.
    int find(std::string_view name) const; ///< Index in tensors(), or -1.

    /// Oddities in the files that are not errors, one sentence each.
    const std::vector<std::string>& warnings() const { return m_warnings; }

    /// The only file, the first of several, or the part of a split GGUF model that contains its config and its vocabulary.
    const std::filesystem::path& firstFile() const { return m_files.front().path(); }

    std::size_t fileBytes() const; ///< Total size of all files.

    /// Digest of config.json and each file's header JSON, in file-name order; lower-case hex.
    const std::string& sha256() const { return m_sha256; }

    const std::filesystem::path& fileOf(int tensor) const;
    std::span<const std::byte> bytes(int tensor) const
    {
        return bytesOf(m_tensors[static_cast<std::size_t>(tensor)]);
    } ///< Empty if the file is not mapped whole, under a limit on the address space.

    /// Reads the numbers [first, first + count) of a stored tensor of this file in row-major order, without an adapter's change.
    /// \param stored  one of tensors(), perhaps with another dtype of the same width
    template <typename Scalar>
    void readRun(const StoredTensor& stored, std::int64_t first, std::int64_t count, Scalar* out) const;

    /// Checks that the view can be read: the tensor holds floating-point numbers and every entry lies inside it.
    /// Errors: Unsupported, Corrupt; naming tensor and file.
    Result<Done> checkView(const TensorView& view) const;

    /// Decodes the rectangle into `out`, resized to [rows, cols]. The view must have passed checkView(). If another
    /// program shortened the file or wrote into it, all numbers are NaN and the log says so.
    /// Cost: as fast as memory for either stride; touches only the rectangle's pages.
    template <typename Scalar>
    void read(const TensorView& view, Matrix<Scalar>& out) const;

    /// Tells whether readNumbers() can decode the tensor: every float that read() takes, integers and truth values.
    bool holdsNumbers(int tensor) const;
    Error notNumbers(int tensor) const; ///< The refusal of a tensor for which holdsNumbers() is false.

    /// Reads the numbers [first, first + count) of a tensor in row-major order, whatever its axes; holdsNumbers() must be
    /// true. If another program shortened the file or wrote into it, all numbers are NaN and the log says so.
    template <typename Scalar>
    void readNumbers(int tensor, std::int64_t first, std::int64_t count, Scalar* out) const;

    /// Returns false and logs it if the tensor's file changed since it was opened (file_change.h).
    bool isIntact(int tensor) const;

    /// Matrices that an adapter changes, by tensor. Their numbers are read with the change; dtype and bytes() stay those of the
    /// base.
    const std::map<int, LowRankChange>& changes() const { return m_changes; }

    /// Changes matrices from now on. Each must be a readable [outputs, inputs] of its change, or [inputs, outputs].
    /// \param adapter   folder that path() names from now on
    /// \param identity  joins the digest
    void addChanges(std::map<int, LowRankChange> changes, const std::filesystem::path& adapter,
                    std::string_view identity);

    /// Counts NaN and infinity in a tensor; none if it holds no floating-point numbers. Cost: reads all of it.
    NonFinite nonFinite(int tensor) const;

private:
    WeightMap() = default;

    /// Joins the parts of quantised matrices, and refuses what is still no weight.
    Result<Done> joinQuantised();
    std::span<const std::byte> bytesOf(const StoredTensor& stored) const;
    bool isMapped(const StoredTensor& stored) const;
    /// The change that reading applies; null if there is none, or if its strength is 0.
    const LowRankChange* changeOf(int tensor) const;
    template <typename Scalar>
    void readStored(const TensorView& view, Matrix<Scalar>& out) const;
    template <typename Scalar>
    void readChangedBy(const LowRankChange& change, const TensorView& view, Matrix<Scalar>& out) const;

    std::filesystem::path m_path;
    std::filesystem::path m_folder;
    std::vector<MappedFile> m_files;
    std::vector<std::vector<std::byte>> m_unpacked; // [files], empty if the numbers are read from the file
    std::vector<StoredTensor> m_tensors;
    std::map<std::string, PackedWeight> m_packed; // by name; their bytes are those of the files
    std::map<int, LowRankChange> m_changes;       // by tensor
    std::vector<std::string> m_warnings;
    std::string m_sha256;
};

} // namespace headwise
