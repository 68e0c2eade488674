#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace headwise {

/// The kind of a file, judged by its first bytes alone: a download may be saved under any name.
enum class FileKind {
    Safetensors,
    Zip, ///< A PyTorch checkpoint or an .npz.
    Gguf,
    Npy,
    Hdf5,
    TorchPickle, ///< PyTorch before 1.6, not zipped.
    Pickle,      ///< Any other Python pickle.
    Flax,        ///< MessagePack, flax_model.msgpack.
    Onnx,        ///< A protobuf message that begins with its version and producer.
    TfLite,
    Tar,        ///< PyTorch before 0.1.10, or any other tar archive.
    Llama2c,    ///< Version 0 has no magic number, but its header fixes the file's size.
    LfsPointer, ///< Git LFS's stand-in for a file that was not downloaded.
    Html,       ///< A web page saved in place of the file.
    JsonError,  ///< A server's JSON reply saved in place of the file.
    Unknown,
};

/// Returns the kind of a file. A safetensors file is a u64 length of at most 100 MB, then JSON white space and '{'.
FileKind fileKind(std::span<const std::byte> file);

/// Explains why a file of this kind is not safetensors, and what to do; nothing for Safetensors and Unknown.
std::optional<Error> notSafetensors(FileKind kind, std::string_view fileName);

/// The same for a file that may have any format of weights that we read.
std::optional<Error> notWeights(FileKind kind, std::string_view fileName);

} // namespace headwise
