#include "core/checkpoint/weight_file.h"

#include "core/checkpoint/block_formats.h"
#include "core/checkpoint/file_kind.h"
#include "core/checkpoint/foreign_weights.h"
#include "core/checkpoint/gguf.h"
#include "core/checkpoint/llama2c.h"
#include "core/checkpoint/npz.h"
#include "core/checkpoint/pytorch_zip.h"
#include "core/checkpoint/weight_folder.h"
#include "core/files/zip_directory.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace headwise {
namespace {

std::span<const std::byte> firstMebibyte(std::span<const std::byte> bytes)
{
    return bytes.first(std::min<std::size_t>(bytes.size(), 1 << 20));
}

Result<WeightFile> readSafetensors(const MappedFile& file)
{
    Result<SafetensorsHeader> header = readSafetensorsHeader(file.bytes(), file.path().string());
    if (!header)
        return header.error();
    const std::size_t length = header->headerBytes - 8;
    return WeightFile{.tensors = std::move(header).value().tensors,
                      .identity = file.bytes().subspan(8, length)};
}

Result<WeightFile> readZip(const MappedFile& file)
{
    const std::string name = file.path().string();
    const Result<std::vector<ZipEntry>> entries = readZipDirectory(file.bytes(), name);
    if (!entries)
        return entries.error();
    if (isNpz(*entries)) {
        Result<NpzContent> arrays = readNpz(file.bytes(), *entries, name);
        if (!arrays)
            return arrays.error();
        NpzContent found = std::move(arrays).value();
        return WeightFile{.tensors = std::move(found.tensors),
                          .identity = firstMebibyte(file.bytes()),
                          .unpacked = std::move(found.unpacked)};
    }
    Result<std::vector<StoredTensor>> tensors = readPytorchZip(file.bytes(), *entries, name);
    if (!tensors)
        return tensors.error();
    return WeightFile{.tensors = std::move(tensors).value(), .identity = firstMebibyte(file.bytes())};
}

Result<WeightFile> readGgufWeightFile(const MappedFile& file, ForeignFiles foreign)
{
    const std::string name = file.path().string();
    const Result<GgufHeader> header = readGgufHeader(file.bytes(), name);
    if (!header)
        return header.error();
    const auto parts = header->metadata.find("split.count");
    if (parts != header->metadata.end() && parts->second.index() == 0 && std::get<0>(parts->second) > 1)
        return Error{
            ErrorCode::Unsupported,
            "File '" + name + "' is one of the " + std::to_string(std::get<0>(parts->second))
                + " parts of a split GGUF model; put them together with llama.cpp's 'llama-gguf-split --merge' and open the result."};
    Result<GgufModel> model = huggingFaceModel(*header, name);
    if (!model && foreign == ForeignFiles::Shown)
        return WeightFile{.tensors = header->tensors, .identity = firstMebibyte(file.bytes())};
    if (!model)
        return model.error();
    WeightFile content{.identity = firstMebibyte(file.bytes())};
    GgufModel found = std::move(model).value();
    for (const StoredTensor& tensor : found.tensors)
        if (blockSize(tensor.dtype).numbers > 0 && content.warnings.empty())
            content.warnings.push_back("The weights are quantised (" + std::string(dtypeName(tensor.dtype))
                                       + " and others): all results are those of the quantised model.");
    content.warnings.insert(content.warnings.end(), found.warnings.begin(), found.warnings.end());
    content.tensors = std::move(found.tensors);
    content.config = std::move(found.config);
    return content;
}

Result<WeightFile> readLlama2cFile(const MappedFile& file)
{
    Result<Llama2cModel> model = readLlama2c(file.bytes(), file.path().string());
    if (!model)
        return model.error();
    Llama2cModel found = std::move(model).value();
    return WeightFile{.tensors = std::move(found.tensors),
                      .identity = firstMebibyte(file.bytes()),
                      .config = std::move(found.config)};
}

} // namespace

Result<OwnConfig> ownConfig(const std::filesystem::path& path)
{
    std::error_code error;
    std::filesystem::path file = path;
    if (std::filesystem::is_directory(path, error)) {
        const Result<WeightFiles> files = weightFilesIn(path);
        if (!files || files->files.size() != 1)
            return OwnConfig{};
        file = files->files[0];
    }
    const Result<MappedFile> mapped = MappedFile::open(file);
    const FileKind kind = mapped ? fileKind(mapped->bytes()) : FileKind::Unknown;
    if (kind != FileKind::Gguf && kind != FileKind::Llama2c)
        return OwnConfig{};
    const Result<WeightFile> content = readWeightFile(*mapped);
    if (!content)
        return content.error();
    return OwnConfig{content->config, file.string()};
}

namespace {

Result<WeightFile> readByKind(const MappedFile& file, ForeignFiles foreign)
{
    switch (fileKind(file.bytes())) {
    case FileKind::Zip: return readZip(file);
    case FileKind::Gguf: return readGgufWeightFile(file, foreign);
    case FileKind::Llama2c: return readLlama2cFile(file);
    default: return readSafetensors(file); // reports any other kind of file
    }
}

} // namespace

Result<WeightFile> readWeightFile(const MappedFile& file, ForeignFiles foreign)
{
    Result<WeightFile> content = readByKind(file, foreign);
    if (!content || foreign == ForeignFiles::Shown)
        return content;
    if (const std::optional<Error> refused = foreignWeights(content->tensors, file.path().string()))
        return *refused;
    return content;
}

} // namespace headwise
