#include "core/checkpoint/weight_file.h"

#include "core/checkpoint/block_formats.h"
#include "core/checkpoint/file_kind.h"
#include "core/checkpoint/gguf.h"
#include "core/checkpoint/llama2c.h"
#include "core/checkpoint/npz.h"
#include "core/checkpoint/pytorch_zip.h"
#include "core/checkpoint/weight_folder.h"
#include "core/files/zip_directory.h"

#include <algorithm>
#include <array>
#include <set>
#include <system_error>
#include <utility>
#include <variant>

namespace headwise {
namespace {

std::span<const std::byte> firstMebibyte(std::span<const std::byte> bytes)
{
    return bytes.first(std::min<std::size_t>(bytes.size(), 1 << 20));
}

Result<WeightFile> readSafetensors(const MappedFile& file)
{
    Result<SafetensorsHeader> header = readSafetensorsHeader(file.bytes(), file.path().string(), file.size());
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

/// The number under a key of a header, or a default.
std::int64_t wholeNumber(const GgufHeader& header, const char* key, std::int64_t standard)
{
    const auto found = header.metadata.find(key);
    const auto* number = found == header.metadata.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return number ? *number : standard;
}

Error strangePart(const MappedFile& file, const std::string& what)
{
    return {ErrorCode::Corrupt,
            "File '" + file.path().string() + "' " + what + "; download all parts of the model again."};
}

/// Reads the headers of all parts. Each tensor's shard is the index of its part.
Result<GgufHeader> readGgufHeaders(std::span<const MappedFile> files)
{
    GgufHeader all;
    std::set<std::string> names;
    const auto count = static_cast<std::int64_t>(files.size());
    for (std::size_t part = 0; part < files.size(); ++part) {
        const std::string name = files[part].path().string();
        Result<GgufHeader> read = readGgufHeader(files[part].bytes(), name);
        if (!read)
            return read;
        GgufHeader header = std::move(read).value();
        const std::int64_t parts = wholeNumber(header, "split.count", 1);
        const std::int64_t number = wholeNumber(header, "split.no", 0);
        if (count == 1 && parts > 1)
            return Error{
                ErrorCode::Unsupported,
                "File '" + name + "' is one of the " + std::to_string(parts)
                    + " parts of a split GGUF model, but its name does not say which; name the parts as llama.cpp's 'llama-gguf-split' does, 'NAME-00001-of-0000N.gguf'."};
        if (count > 1 && (parts != count || number != static_cast<std::int64_t>(part)))
            return strangePart(files[part],
                               "is part " + std::to_string(part + 1) + " of " + std::to_string(count)
                                   + " by its name, but part " + std::to_string(number + 1) + " of "
                                   + std::to_string(parts) + " by its header");
        for (StoredTensor& tensor : header.tensors) {
            tensor.shard = static_cast<int>(part);
            if (!names.insert(tensor.name).second)
                return strangePart(files[part], "holds tensor '" + tensor.name + "', as another part does");
            all.tensors.push_back(std::move(tensor));
        }
        if (part == 0)
            all.metadata = std::move(header.metadata);
        if (!header.rotaryDivisors.empty())
            all.rotaryDivisors = std::move(header.rotaryDivisors);
    }
    const auto total = static_cast<std::int64_t>(all.tensors.size());
    if (const std::int64_t told = wholeNumber(all, "split.tensors.count", total); count > 1 && told != total)
        return strangePart(files[0],
                           "lists " + std::to_string(told) + " tensors, but the parts hold "
                               + std::to_string(total));
    return all;
}

Result<std::vector<WeightFile>> readGgufFiles(std::span<const MappedFile> files, ForeignFiles foreign)
{
    Result<GgufHeader> header = readGgufHeaders(files);
    if (!header)
        return header.error();
    Result<GgufModel> model = huggingFaceModel(*header, files[0].path().string());
    if (!model && foreign == ForeignFiles::Refused)
        return model.error();
    std::vector<WeightFile> contents;
    for (const MappedFile& file : files)
        contents.push_back(WeightFile{.identity = firstMebibyte(file.bytes())});
    const bool isModel = model.has_value();
    GgufModel found = isModel ? std::move(model).value() : GgufModel{};
    if (!isModel)
        found.tensors = header->tensors;
    for (const StoredTensor& tensor : found.tensors)
        if (isModel && blockSize(tensor.dtype).numbers > 0 && contents[0].warnings.empty())
            contents[0].warnings.push_back("The weights are quantised ("
                                           + std::string(dtypeName(tensor.dtype))
                                           + " and others): all results are those of the quantised model.");
    contents[0].warnings.insert(contents[0].warnings.end(), found.warnings.begin(), found.warnings.end());
    contents[0].config = std::move(found.config);
    for (StoredTensor& tensor : found.tensors)
        contents[static_cast<std::size_t>(tensor.shard)].tensors.push_back(std::move(tensor));
    return contents;
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

/// Tells whether the tensors of a file need not be mapped: its header is mapped, and its numbers are plain ones that
/// nothing joins to quantised matrices.
bool holdsPlainTensors(const MappedFile& file)
{
    if (fileKind(file.bytes()) != FileKind::Safetensors)
        return false;
    const auto header = readSafetensorsHeader(file.bytes(), file.path().string(), file.size());
    using enum DType;
    constexpr std::array plain{F64, F32, F16, BF16, I64, Bool};
    return header && std::ranges::all_of(header->tensors, [&](const StoredTensor& tensor) {
               return std::ranges::find(plain, tensor.dtype) != plain.end();
           });
}

bool holdsGgufParts(const std::filesystem::path& path)
{
    if (isNamedAsGgufPart(path.filename().string()))
        return true;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error))
        if (isNamedAsGgufPart(entry->path().filename().string()))
            return true;
    return false;
}

} // namespace

Result<MappedFile> openWeightFile(const std::filesystem::path& path)
{
    Result<MappedFile> file = MappedFile::open(path, Mapping::HeadIfShort);
    return !file || file->isWhole() || holdsPlainTensors(*file) ? std::move(file) : MappedFile::open(path);
}

Result<OwnConfig> ownConfig(const std::filesystem::path& path)
{
    const Result<WeightFiles> files = weightFilesAt(path);
    if (!files && holdsGgufParts(path))
        return files.error();
    if (!files || files->files.empty())
        return OwnConfig{};
    const Result<MappedFile> first = MappedFile::open(files->files[0]);
    const FileKind kind = first ? fileKind(first->bytes()) : FileKind::Unknown;
    if (kind != FileKind::Gguf && kind != FileKind::Llama2c)
        return OwnConfig{};
    std::vector<MappedFile> mapped;
    for (const std::filesystem::path& file : files->files) {
        Result<MappedFile> one = MappedFile::open(file);
        if (!one)
            return one.error();
        mapped.push_back(std::move(one).value());
    }
    const Result<std::vector<WeightFile>> contents = readWeightFiles(mapped);
    if (!contents)
        return contents.error();
    return OwnConfig{contents->front().config, mapped.front().path().string()};
}

namespace {

/// Any kind but GGUF.
Result<WeightFile> readByKind(const MappedFile& file)
{
    switch (fileKind(file.bytes())) {
    case FileKind::Zip: return readZip(file);
    case FileKind::Llama2c: return readLlama2cFile(file);
    default: return readSafetensors(file); // reports any other kind of file
    }
}

} // namespace

Result<std::vector<WeightFile>> readWeightFiles(std::span<const MappedFile> files, ForeignFiles foreign)
{
    if (!files.empty() && fileKind(files[0].bytes()) == FileKind::Gguf)
        return readGgufFiles(files, foreign);
    std::vector<WeightFile> contents;
    for (const MappedFile& file : files) {
        Result<WeightFile> content = readByKind(file);
        if (!content)
            return content.error();
        contents.push_back(std::move(content).value());
    }
    return contents;
}

} // namespace headwise
