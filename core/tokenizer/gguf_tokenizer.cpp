#include "core/tokenizer/gguf_tokenizer.h"

#include "core/files/utf8.h"
#include "core/tokenizer/piece_vocabulary.h"
#include "core/tokenizer/split_patterns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace headwise {
namespace {

using GgufTokenizerKind = PieceVocabulary::Kind;

/// The splits that tokenizer.ggml.pre can name. Source: llama.cpp `llama-vocab.cpp`.
enum class Split { Gpt2, DigitsThenGpt2, Llama3, Qwen2, O200k, Bloom, Falcon };

constexpr std::array<std::pair<std::string_view, Split>, 29> splitNames{{
    {"gpt-2", Split::Gpt2},
    {"phi-2", Split::Gpt2},
    {"olmo", Split::Gpt2},
    {"mpt", Split::Gpt2},
    {"jina-es", Split::Gpt2},
    {"jina-de", Split::Gpt2},
    {"jais", Split::Gpt2},
    {"gigachat", Split::Gpt2},
    {"roberta-bpe", Split::Gpt2},
    {"starcoder", Split::DigitsThenGpt2},
    {"refact", Split::DigitsThenGpt2},
    {"command-r", Split::DigitsThenGpt2},
    {"smollm", Split::DigitsThenGpt2},
    {"codeshell", Split::DigitsThenGpt2},
    {"exaone", Split::DigitsThenGpt2},
    {"minerva-7b", Split::DigitsThenGpt2},
    {"llama3", Split::Llama3},
    {"llama-v3", Split::Llama3},
    {"llama-bpe", Split::Llama3},
    {"falcon3", Split::Llama3},
    {"smaug-bpe", Split::Llama3},
    {"dbrx", Split::Llama3},
    {"qwen2", Split::Qwen2},
    {"stablelm2", Split::Qwen2},
    {"deepseek-r1-qwen", Split::Qwen2},
    {"gpt-4o", Split::O200k},
    {"llama4", Split::O200k},
    {"bloom", Split::Bloom},
    {"falcon", Split::Falcon},
}};

/// Punctuation runs, GPT-2's pattern, runs of digits, digits by three.
std::vector<PreTokenizerStep> falconSplit()
{
    using StepKind = PreTokenizerStep::Kind;
    std::vector<PreTokenizerStep> steps(4);
    steps[0].kind = StepKind::Punctuation;
    steps[0].behavior = SplitBehavior::Contiguous;
    steps[2].kind = StepKind::Digits;
    steps[3].kind = StepKind::Split;
    steps[3].pattern = {true, "[0-9][0-9][0-9]"};
    return steps;
}

std::vector<PreTokenizerStep> stepsOf(Split split)
{
    switch (split) {
    case Split::Gpt2: return gpt2ByteLevel();
    case Split::DigitsThenGpt2: {
        std::vector<PreTokenizerStep> steps(2);
        steps[0].kind = PreTokenizerStep::Kind::Digits;
        steps[0].individualDigits = true;
        return steps;
    }
    case Split::Llama3: return splitAndByteLevel(split_pattern::llama3);
    case Split::Qwen2: return splitAndByteLevel(split_pattern::qwen2);
    case Split::O200k: return splitAndByteLevel(split_pattern::o200k);
    case Split::Bloom: return splitAndByteLevel(split_pattern::bloom);
    case Split::Falcon: return falconSplit();
    }
    return {};
}

class GgufTokenizerReader {
public:
    GgufTokenizerReader(const GgufHeader& header, std::filesystem::path path)
        : m_header(header)
        , m_path(std::move(path))
    {
    }

    Result<TokenizerFile> read();

private:
    template <typename T>
    const T* find(const std::string& key) const
    {
        const auto value = m_header.metadata.find("tokenizer.ggml." + key);
        return value == m_header.metadata.end() ? nullptr : std::get_if<T>(&value->second);
    }
    bool flag(const std::string& key, bool otherwise) const
    {
        const auto* value = find<std::int64_t>(key);
        return value ? *value != 0 : otherwise;
    }
    std::string word(const std::string& key) const
    {
        const auto* value = find<std::string>(key);
        return value ? *value : std::string();
    }
    std::optional<int> token(const std::string& key) const
    {
        const auto* value = find<std::int64_t>(key);
        const bool isToken = value && *value >= 0 && *value < static_cast<std::int64_t>(m_pieces.size());
        return isToken ? std::optional(static_cast<int>(*value)) : std::nullopt;
    }
    Error corrupt(const std::string& what) const
    {
        return {ErrorCode::Corrupt, "The vocabulary of '" + m_path.string() + "' is damaged: " + what + "."};
    }
    Result<Done> readPieces();
    Result<TokenizerFile> pieces(bool isUnigram);
    Result<TokenizerFile> byteLevel();
    Result<Done> readMerges(TokenizerFile& file) const;
    void chooseSplit(TokenizerFile& file) const;
    void cannotEncode(TokenizerFile& file, const std::string& why) const
    {
        file.cannotEncode = "The vocabulary of '" + m_path.string() + "' " + why
            + "; its tokens can be shown, but text cannot be encoded: give token ids instead.";
    }

    const GgufHeader& m_header;
    std::filesystem::path m_path;
    std::vector<PieceVocabulary::Piece> m_pieces;
};

Result<Done> GgufTokenizerReader::readPieces()
{
    const auto* tokens = find<std::vector<std::string>>("tokens");
    const auto* scores = find<std::vector<double>>("scores");
    const auto* kinds = find<std::vector<double>>("token_type");
    if (!tokens || tokens->empty())
        return Error{ErrorCode::NotFound, "File '" + m_path.string() + "' contains no vocabulary."};
    if (tokens->size() > static_cast<std::size_t>(tokenIdLimit)
        || (scores && scores->size() != tokens->size()) || (kinds && kinds->size() != tokens->size()))
        return corrupt("it has " + std::to_string(tokens->size()) + " tokens, "
                       + std::to_string(scores ? scores->size() : 0) + " scores and "
                       + std::to_string(kinds ? kinds->size() : 0) + " types");
    for (std::size_t id = 0; id < tokens->size(); ++id) {
        const double kind = kinds ? (*kinds)[id] : 1;
        const double score = scores ? (*scores)[id] : 0;
        if (firstInvalidUtf8((*tokens)[id]) || !std::isfinite(score))
            return corrupt("token " + std::to_string(id) + " is not UTF-8 or has no score");
        m_pieces.push_back({(*tokens)[id], score,
                            kind >= 1 && kind <= 6 ? static_cast<GgufTokenizerKind>(static_cast<int>(kind))
                                                   : GgufTokenizerKind::Normal});
        // The converter fills the rows of W_E past the vocabulary with such pieces.
        if (m_pieces.back().kind == GgufTokenizerKind::Unused && m_pieces.back().text.starts_with("[PAD"))
            m_pieces.back().text.clear();
    }
    return Done{};
}

Result<TokenizerFile> GgufTokenizerReader::pieces(bool isUnigram)
{
    PieceVocabulary vocabulary{.isUnigram = isUnigram,
                               .addDummyPrefix = flag("add_space_prefix", true),
                               .removeExtraWhitespaces = flag("remove_extra_whitespaces", isUnigram)};
    vocabulary.byteFallback = std::any_of(m_pieces.begin(), m_pieces.end(), [](const auto& piece) {
        return piece.kind == GgufTokenizerKind::Byte;
    });
    if (const auto* map = find<std::vector<double>>("precompiled_charsmap"))
        for (const double byte : *map) // signed or not; any other number damages the map, which reports it
            vocabulary.characterMap.push_back(
                byte >= -128 && byte <= 255 ? static_cast<char>(static_cast<int>(byte)) : '\0');
    if (flag("add_bos_token", !isUnigram))
        vocabulary.idBefore = token("bos_token_id");
    if (flag("add_eos_token", isUnigram))
        vocabulary.idAfter = token("eos_token_id");
    vocabulary.pieces = std::move(m_pieces);
    return tokenizerFileOf(std::move(vocabulary), m_path);
}

Result<Done> GgufTokenizerReader::readMerges(TokenizerFile& file) const
{
    const auto* merges = find<std::vector<std::string>>("merges");
    if (!merges) {
        cannotEncode(file, "has no merges");
        return Done{};
    }
    for (const std::string& merge : *merges) {
        const std::size_t space = merge.find(' ', 1);
        if (merge.empty() || space == std::string::npos)
            return corrupt("the merge '" + merge + "' is not two tokens");
        file.merges.push_back({merge.substr(0, space), merge.substr(space + 1),
                               static_cast<std::uint32_t>(file.merges.size())});
    }
    return Done{};
}

void GgufTokenizerReader::chooseSplit(TokenizerFile& file) const
{
    const std::string name = word("pre");
    const auto known = std::find_if(splitNames.begin(), splitNames.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (known == splitNames.end()) {
        file.stages.preTokenizers = gpt2ByteLevel();
        return cannotEncode(file,
                            name.empty() ? "does not say how text is split"
                                         : "splits text by '" + name + "', which this version does not know");
    }
    file.stages.preTokenizers = stepsOf(known->second);
    file.ignoreMerges = known->second == Split::Llama3;
    if (known->second == Split::Qwen2) // the original has it, the converter drops it
        file.stages.normalizers.push_back({.kind = NormalizerStep::Kind::Nfc});
    if (const auto bos = token("bos_token_id"); bos && flag("add_bos_token", known->second == Split::Llama3))
        file.stages.idsBefore.push_back(*bos);
    if (const auto eos = token("eos_token_id"); eos && flag("add_eos_token", false))
        file.stages.idsAfter.push_back(*eos);
}

Result<TokenizerFile> GgufTokenizerReader::byteLevel()
{
    TokenizerFile file;
    file.path = m_path;
    file.stages.decoders.emplace_back();
    chooseSplit(file);
    std::set<std::string_view> seen;
    for (int id = 0; id < static_cast<int>(m_pieces.size()); ++id) {
        const PieceVocabulary::Piece& piece = m_pieces[static_cast<std::size_t>(id)];
        if (piece.text.empty())
            continue;
        if (!seen.insert(piece.text).second)
            return corrupt("the token '" + piece.text + "' occurs twice");
        const bool isSpecial =
            piece.kind == GgufTokenizerKind::Control || piece.kind == GgufTokenizerKind::Unknown;
        file.vocabulary.push_back({piece.text, id});
        if (isSpecial || piece.kind == GgufTokenizerKind::UserDefined)
            file.addedTokens.push_back(
                {.id = id, .content = piece.text, .special = isSpecial, .normalized = false});
    }
    if (const Result<Done> merges = readMerges(file); !merges)
        return merges.error();
    return file;
}

Result<TokenizerFile> GgufTokenizerReader::read()
{
    if (const Result<Done> read = readPieces(); !read)
        return read.error();
    const std::string model = word("model");
    if (model == "llama" || model == "t5")
        return pieces(model == "t5");
    if (model == "gpt2")
        return byteLevel();
    Result<TokenizerFile> shown = pieces(false);
    if (!shown)
        return shown;
    TokenizerFile file = std::move(shown).value();
    cannotEncode(file, "is of the kind '" + model + "', which this version does not know");
    return file;
}

} // namespace

Result<TokenizerFile> readGgufTokenizer(const GgufHeader& header, const std::filesystem::path& path)
{
    return GgufTokenizerReader(header, path).read();
}

} // namespace headwise
