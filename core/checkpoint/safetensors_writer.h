#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// A tensor of a file that is about to be written.
struct SafetensorsEntry {
    std::string name;
    std::vector<std::int64_t> shape;
};

/// Writes a new .safetensors file of one dtype, F32 or F64. Any part of any tensor can be written at any time, so no
/// tensor has to be in memory as a whole. Parts that are never written are 0.
class SafetensorsWriter {
public:
    enum class Dtype { F32, F64 };

    /// Writes the header and reserves the space.
    /// \param path must not exist
    /// Errors: Io, naming the path.
    static Result<SafetensorsWriter> create(const std::filesystem::path& path,
                                            const std::vector<SafetensorsEntry>& entries, Dtype dtype);

    SafetensorsWriter(SafetensorsWriter&& other) noexcept;
    SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;
    ~SafetensorsWriter();

    /// Writes the numbers `first`, `first` + 1, … of tensor `entry`, counted row-major.
    /// Errors: Io.
    Result<Done> write(std::size_t entry, std::int64_t first, std::span<const float> values);
    Result<Done> write(std::size_t entry, std::int64_t first, std::span<const double> values);

    /// Forces everything to disk. Errors: Io.
    Result<Done> close();

private:
    SafetensorsWriter(std::filesystem::path path, int file, Dtype dtype);
    template <typename Scalar>
    Result<Done> writeNumbers(std::size_t entry, std::int64_t first, std::span<const Scalar> values);

    std::filesystem::path m_path;
    int m_file = -1;
    Dtype m_dtype;
    std::vector<std::int64_t> m_begins; ///< Offset in the file at which each tensor begins.
};

} // namespace headwise
