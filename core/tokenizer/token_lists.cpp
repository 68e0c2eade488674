#include "core/tokenizer/token_lists.h"

#include "core/files/base64.h"
#include "core/files/utf8.h"
#include "core/tokenizer/split_patterns.h"
#include "core/tokenizer/token_decoder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

namespace headwise {
namespace {

struct Special {
    std::string_view text;
    int id;
};

/// Properties of a known vocabulary, recognised by its size.
struct Known {
    std::size_t count;
    std::string_view pattern; ///< Empty: GPT-2's pattern.
    std::vector<Special> specials;
    bool begins; ///< Whether a text begins with the first special token.
};

const std::vector<Known>& knownVocabularies()
{
    static const std::vector<Known> all{
        {50256, {}, {{"<|endoftext|>", 50256}}, false},
        {50280, {}, {{"<|endoftext|>", 50256}}, false}, // p50k_base: GPT-2's and runs of spaces
        {100256,
         split_pattern::cl100k,
         {{"<|endoftext|>", 100257},
          {"<|fim_prefix|>", 100258},
          {"<|fim_middle|>", 100259},
          {"<|fim_suffix|>", 100260},
          {"<|endofprompt|>", 100276}},
         false},
        {128000,
         split_pattern::llama3,
         {{"<|begin_of_text|>", 128000},
          {"<|end_of_text|>", 128001},
          {"<|start_header_id|>", 128006},
          {"<|end_header_id|>", 128007},
          {"<|eot_id|>", 128009}},
         true},
        {199998, split_pattern::o200k, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}, false},
    };
    return all;
}

std::string_view nextLine(std::string_view& text)
{
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return line;
}

struct Ranked {
    std::string bytes;
    int rank;
};

std::optional<Ranked> rankedIn(std::string_view line)
{
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0)
        return std::nullopt;
    int rank = -1;
    const auto [end, failure] = std::from_chars(line.data() + space + 1, line.data() + line.size(), rank);
    std::optional<std::string> bytes = fromBase64(line.substr(0, space));
    if (!bytes || bytes->empty() || failure != std::errc() || end != line.data() + line.size() || rank < 0
        || rank >= tokenIdLimit)
        return std::nullopt;
    return Ranked{*std::move(bytes), rank};
}

/// Adds every way to make a token from two others. Tokens are split between bytes, not characters.
void addMerges(const std::vector<Ranked>& tokens, TokenizerFile& file)
{
    std::unordered_map<std::string_view, int> ranks;
    for (const Ranked& token : tokens)
        ranks.emplace(token.bytes, token.rank);
    for (const Ranked& token : tokens) {
        const std::string_view whole = token.bytes;
        for (std::size_t at = 1; at < whole.size(); ++at)
            if (ranks.contains(whole.substr(0, at)) && ranks.contains(whole.substr(at)))
                file.merges.push_back({byteLevelText(whole.substr(0, at)), byteLevelText(whole.substr(at)),
                                       static_cast<std::uint32_t>(token.rank)});
    }
}

void addKnown(TokenizerFile& file)
{
    const auto& all = knownVocabularies();
    const auto known = std::find_if(all.begin(), all.end(),
                                    [&](const Known& k) { return k.count == file.vocabulary.size(); });
    if (known == all.end()) {
        file.stages.preTokenizers = gpt2ByteLevel();
        file.cannotEncode = "'" + file.path.string() + "' has " + std::to_string(file.vocabulary.size())
            + " ranks and does not say how text is split; its tokens can be shown, but text cannot be encoded: give token ids instead.";
        return;
    }
    file.stages.preTokenizers = known->pattern.empty() ? gpt2ByteLevel() : splitAndByteLevel(known->pattern);
    for (const Special& special : known->specials)
        file.addedTokens.push_back(
            {.id = special.id, .content = std::string(special.text), .special = true, .normalized = false});
    if (known->begins)
        file.stages.idsBefore.push_back(known->specials.front().id);
}

} // namespace

bool isTiktoken(std::string_view text)
{
    return rankedIn(nextLine(text)).has_value();
}

Result<TokenizerFile> readTiktoken(std::string_view text, const std::filesystem::path& path)
{
    TokenizerFile file;
    file.path = path;
    std::vector<Ranked> tokens;
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = nextLine(text);
        if (line.empty())
            continue;
        std::optional<Ranked> token = rankedIn(line);
        if (!token)
            return Error{ErrorCode::Corrupt,
                         "'" + path.string() + "': Line " + std::to_string(number)
                             + " is not a base64 token with its rank."};
        file.vocabulary.push_back({byteLevelText(token->bytes), token->rank});
        tokens.push_back(*std::move(token));
    }
    file.ignoreMerges = true; // a piece that equals a token becomes that token
    addMerges(tokens, file);
    file.stages.decoders.emplace_back();
    addKnown(file);
    return file;
}

Result<TokenizerFile> readVocabularyText(std::string_view text, const std::filesystem::path& path,
                                         bool lowercase)
{
    const auto corrupt = [&](const std::string& what) {
        return Error{ErrorCode::Corrupt, "'" + path.string() + "' is not a BERT vocabulary: " + what + "."};
    };
    if (firstInvalidUtf8(text))
        return corrupt("it is not UTF-8");
    TokenizerFile file;
    file.path = path;
    file.model = TokenizerFile::Model::WordPiece;
    file.continuingPrefix = "##";
    file.unknownToken = "[UNK]";
    for (int id = 0; !text.empty() && id < tokenIdLimit; ++id) {
        const std::string_view line = nextLine(text);
        file.vocabulary.push_back({std::string(line), id});
        for (const std::string_view special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
            if (line == special)
                file.addedTokens.push_back(
                    {.id = id, .content = std::string(line), .special = true, .normalized = false});
        if (line == "[CLS]")
            file.stages.idsBefore = {id};
        if (line == "[SEP]")
            file.stages.idsAfter = {id};
    }
    if (std::none_of(file.vocabulary.begin(), file.vocabulary.end(),
                     [](const TokenizerFile::Entry& entry) { return entry.text == "[UNK]"; }))
        return corrupt("it has no [UNK]");
    using Normalizer = NormalizerStep::Kind;
    std::vector<Normalizer> kinds{Normalizer::CleanText, Normalizer::SpaceIdeographs};
    if (lowercase)
        kinds.insert(kinds.end(), {Normalizer::Nfd, Normalizer::StripMarks, Normalizer::Lowercase});
    for (const Normalizer kind : kinds)
        file.stages.normalizers.emplace_back().kind = kind;
    file.stages.preTokenizers.resize(2);
    file.stages.preTokenizers[0].kind = PreTokenizerStep::Kind::WhitespaceSplit;
    file.stages.preTokenizers[1].kind = PreTokenizerStep::Kind::Punctuation;
    file.stages.decoders.resize(1);
    file.stages.decoders[0].kind = DecoderStep::Kind::WordPiece;
    file.stages.decoders[0].content = "##";
    return file;
}

} // namespace headwise
