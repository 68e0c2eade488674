#include "core/checkpoint/file_kind.h"

#include "core/checkpoint/llama2c.h"
#include "core/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <string>

namespace headwise {
namespace {

using namespace std::string_view_literals;

struct Mark {
    std::string_view bytes;
    FileKind kind;
};

constexpr std::array marks = {
    Mark{"PK\3\4"sv, FileKind::Zip},
    Mark{"PK\5\6"sv, FileKind::Zip},
    Mark{"GGUF"sv, FileKind::Gguf},
    Mark{"\x93NUMPY"sv, FileKind::Npy},
    Mark{"\x89HDF\r\n\x1a\n"sv, FileKind::Hdf5},
    Mark{"\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv, FileKind::TorchPickle},
    Mark{"24ka"sv, FileKind::Llama2c},
    Mark{"version https://git-lfs"sv, FileKind::LfsPointer},
};

bool isAsciiWhiteSpace(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view withoutLeadingWhiteSpace(std::string_view text)
{
    const auto first = std::find_if_not(text.begin(), text.end(), isAsciiWhiteSpace);
    return text.substr(static_cast<std::size_t>(first - text.begin()));
}

bool startsWithWord(std::string_view text, std::string_view lowerCase)
{
    return text.size() >= lowerCase.size()
        && std::equal(lowerCase.begin(), lowerCase.end(), text.begin(), [](char expected, char c) {
               return expected == static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
           });
}

/// Recognises formats without a magic number by their first bytes.
FileKind otherFramework(std::string_view head)
{
    const auto at = [head](std::size_t i) {
        return i < head.size() ? static_cast<unsigned char>(head[i]) : 0u;
    };
    if (at(0) == 0x80 && at(1) >= 2 && at(1) <= 5)
        return FileKind::Pickle;
    if (head.substr(std::min<std::size_t>(head.size(), 4), 4) == "TFL3")
        return FileKind::TfLite;
    if (head.size() > 262 && head.substr(257, 5) == "ustar")
        return FileKind::Tar;
    // ONNX: ir_version, then producer_name (onnx.proto). MessagePack: a map with a text as its first key.
    if (at(0) == 0x08 && at(1) >= 1 && at(1) <= 0x20 && at(2) == 0x12 && at(3) > 0 && at(3) < 64)
        return FileKind::Onnx;
    const std::size_t key = at(0) == 0xDE ? 3 : at(0) == 0xDF ? 5 : at(0) > 0x80 && at(0) < 0x90 ? 1 : 0;
    if (key > 0 && ((at(key) > 0xA0 && at(key) < 0xC0) || at(key) == 0xD9))
        return FileKind::Flax;
    return FileKind::Unknown;
}

} // namespace

FileKind fileKind(std::span<const std::byte> file)
{
    const std::string_view head(reinterpret_cast<const char*>(file.data()),
                                std::min<std::size_t>(file.size(), 4096));
    for (const Mark& mark : marks)
        if (head.substr(0, mark.bytes.size()) == mark.bytes)
            return mark.kind;
    if (head.size() > 8) {
        std::uint64_t length = 0;
        std::memcpy(&length, head.data(), sizeof length);
        const std::string_view json = withoutLeadingWhiteSpace(head.substr(8));
        if (length <= maxSafetensorsHeaderBytes && !json.empty() && json[0] == '{')
            return FileKind::Safetensors;
    }
    if (isLlama2cVersion0(file))
        return FileKind::Llama2c;
    if (const FileKind other = otherFramework(head); other != FileKind::Unknown)
        return other;
    const std::string_view text = withoutLeadingWhiteSpace(head);
    if (startsWithWord(text, "<!doctype") || startsWithWord(text, "<html"))
        return FileKind::Html;
    if (startsWithWord(text, "{") && startsWithWord(withoutLeadingWhiteSpace(text.substr(1)), "\"error\""))
        return FileKind::JsonError;
    return FileKind::Unknown;
}

std::optional<Error> notWeights(FileKind kind, std::string_view fileName)
{
    switch (kind) {
    case FileKind::Zip:
    case FileKind::Gguf:
    case FileKind::Llama2c: return std::nullopt;
    default: return notSafetensors(kind, fileName);
    }
}

std::optional<Error> notSafetensors(FileKind kind, std::string_view fileName)
{
    const std::string file = "File '" + std::string(fileName) + "' is ";
    const auto otherFormat = [&](std::string_view what) {
        return Error{ErrorCode::Unsupported,
                     file + std::string(what)
                         + ", which this version does not read; convert it to safetensors."};
    };
    switch (kind) {
    case FileKind::Safetensors:
    case FileKind::Unknown: return std::nullopt;
    case FileKind::Zip: return otherFormat("a zip archive (a PyTorch checkpoint or an .npz)");
    case FileKind::Gguf: return otherFormat("a GGUF file");
    case FileKind::Npy: return otherFormat("a NumPy array");
    case FileKind::Hdf5: return otherFormat("an HDF5 file (TensorFlow's or Keras's, or a session)");
    case FileKind::Flax: return otherFormat("a Flax checkpoint (MessagePack)");
    case FileKind::Onnx: return otherFormat("an ONNX graph");
    case FileKind::TfLite: return otherFormat("a TensorFlow Lite graph");
    case FileKind::Tar:
        return Error{
            ErrorCode::Unsupported,
            file
                + "a tar archive (PyTorch before 0.1.10, or a packed folder); unpack it, or load it in PyTorch and save it again with torch.save."};
    case FileKind::Pickle:
        return Error{
            ErrorCode::Unsupported,
            file
                + "a Python pickle, which is a program that Headwise never runs; save its weights with torch.save(model.state_dict(), ...) or as safetensors."};
    case FileKind::TorchPickle:
        return Error{
            ErrorCode::Unsupported,
            file
                + "a PyTorch checkpoint in the format before version 1.6; load it in PyTorch and save it again with torch.save."};
    case FileKind::Llama2c: return otherFormat("a llama2.c checkpoint");
    case FileKind::LfsPointer:
        return Error{
            ErrorCode::Corrupt,
            file
                + "a Git LFS pointer, not the weights: they were not downloaded. Run 'git lfs pull' in its folder."};
    case FileKind::Html:
        return Error{ErrorCode::Corrupt, file + "a web page, not weights; download the file itself again."};
    case FileKind::JsonError:
        return Error{
            ErrorCode::Corrupt,
            file + "a server's error message, not weights; download the file again (is a login needed?)."};
    }
    return std::nullopt;
}

} // namespace headwise
