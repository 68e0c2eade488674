#include "core/tokenizer/tokenizer_source.h"

#include "core/checkpoint/file_kind.h"
#include "core/files/json.h"
#include "core/files/mapped_file.h"
#include "core/tokenizer/gguf_tokenizer.h"
#include "core/tokenizer/sentencepiece.h"
#include "core/tokenizer/token_lists.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace headwise {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array tokenizerFileNames = {"tokenizer.json", "vocab.json", "tokenizer.model",
                                           "spiece.model",   "vocab.txt",  "tokenizer.bin"};
constexpr std::size_t maxBytes = std::size_t(256) << 20;

/// A flag of the tokenizer_config.json beside a file; nothing if that is missing or unreadable.
class Config {
public:
    explicit Config(const fs::path& file)
    {
        const fs::path path = file.parent_path() / "tokenizer_config.json";
        const Result<std::string> text = readTextFile(path);
        if (Result<json> parsed = text ? parseJson(*text, path.string()) : text.error())
            m_config = std::move(parsed).value();
    }

    std::optional<bool> flag(const char* name) const
    {
        const auto value = m_config.is_object() ? m_config.find(name) : m_config.end();
        return value != m_config.end() && value->is_boolean() ? std::optional(value->get<bool>())
                                                              : std::nullopt;
    }

private:
    json m_config = json::object();
};

Result<TokenizerFile> readGgufTokenizerSource(const MappedFile& file)
{
    const Result<GgufHeader> header = readGgufHeader(file.bytes(), file.path().string());
    if (!header)
        return header.error();
    return readGgufTokenizer(*header, file.path());
}

bool isBertVocabulary(std::string_view text)
{
    return text.starts_with("[UNK]\n") || text.find("\n[UNK]\n") != std::string_view::npos
        || text.find("\n[UNK]\r\n") != std::string_view::npos;
}

Error notATokenizer(const fs::path& path, FileKind kind)
{
    const std::string file = "File '" + path.string() + "' is ";
    switch (kind) {
    case FileKind::LfsPointer:
        return {ErrorCode::Corrupt,
                file + "a Git LFS pointer, not the tokenizer itself; fetch it with 'git lfs pull'."};
    case FileKind::Html:
    case FileKind::JsonError:
        return {ErrorCode::Corrupt,
                file + "a web page or a server's message, not a tokenizer; download the file itself again."};
    default:
        return {
            ErrorCode::Unsupported,
            file
                + "not a tokenizer that this version reads: tokenizer.json, vocab.json with merges.txt, a SentencePiece or tiktoken tokenizer.model, BERT's vocab.txt, llama2.c's tokenizer.bin or a GGUF file."};
    }
}

Result<TokenizerFile> readByContent(const MappedFile& file)
{
    const fs::path& path = file.path();
    const FileKind kind = fileKind(file.bytes());
    if (kind == FileKind::Gguf)
        return readGgufTokenizerSource(file);
    if (file.bytes().size() > maxBytes || kind == FileKind::Zip || kind == FileKind::Hdf5
        || kind == FileKind::LfsPointer || kind == FileKind::Html || kind == FileKind::JsonError)
        return notATokenizer(path, kind);
    const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    if (text.starts_with("#version"))
        return readVocabularyAndMerges(path.parent_path() / "vocab.json");
    if (isSentencePiece(text)) {
        const Config config(path);
        return readSentencePiece(text, path, {config.flag("add_bos_token"), config.flag("add_eos_token")});
    }
    if (isTiktoken(text))
        return readTiktoken(text, path);
    if (isLlama2cTokenizer(text))
        return readLlama2cTokenizer(text, path);
    if (isBertVocabulary(text))
        return readVocabularyText(text, path, Config(path).flag("do_lower_case").value_or(true));
    return notATokenizer(path, kind);
}

/// Text that begins like JSON or has its file name counts as JSON, so that the parser can report what is wrong.
bool isJson(const MappedFile& file)
{
    std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), text.size()));
    return text.starts_with('{') || file.path().extension() == ".json";
}

} // namespace

Result<TokenizerFile> readTokenizerSource(const fs::path& path)
{
    std::error_code failure;
    if (fs::is_directory(path, failure)) {
        for (const char* name : tokenizerFileNames)
            if (fs::exists(path / name, failure))
                return readTokenizerSource(path / name);
        return Error{
            ErrorCode::NotFound,
            "There is no tokenizer in '" + path.string()
                + "': looked for tokenizer.json, vocab.json, tokenizer.model, spiece.model, vocab.txt and tokenizer.bin."};
    }
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file)
        return file.error();
    const bool isLfs = fileKind(file->bytes()) == FileKind::LfsPointer;
    return isJson(*file) && !isLfs ? readTokenizerFile(path) : readByContent(*file);
}

Result<std::string> tokenizerFileName(const fs::path& path)
{
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file)
        return file.error();
    const FileKind kind = fileKind(file->bytes());
    if (kind == FileKind::Gguf)
        return std::string();
    const std::string own = path.filename().string();
    if (own == "merges.txt"
        || std::find(tokenizerFileNames.begin(), tokenizerFileNames.end(), own) != tokenizerFileNames.end())
        return own;
    const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    if (isJson(*file)) {
        const auto parsed = parseJson(std::string(text), path.string());
        return std::string(parsed && parsed->is_object() && !parsed->contains("model") ? "vocab.json"
                                                                                       : "tokenizer.json");
    }
    if (text.starts_with("#version"))
        return std::string("merges.txt");
    if (isSentencePiece(text) || isTiktoken(text))
        return std::string("tokenizer.model");
    if (isLlama2cTokenizer(text))
        return std::string("tokenizer.bin");
    if (isBertVocabulary(text))
        return std::string("vocab.txt");
    return notATokenizer(path, kind);
}

} // namespace headwise
