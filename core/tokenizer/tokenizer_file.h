#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headwise {

/// Upper limit of ids: ten times the largest known vocabulary, with tables that still fit into memory.
constexpr int tokenIdLimit = 10'000'000;

/// A pattern in a tokenizer step: a literal text or a regular expression (Oniguruma's syntax).
struct TokenPatternText {
    bool isRegex = false;
    std::string text;
};

enum class SplitBehavior { Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous };
enum class PrependScheme { Always, First, Never };

struct NormalizerStep {
    enum class Kind {
        Nfc,
        Nfd,
        Nfkc,
        Nfkd,
        Lowercase,
        Replace,
        Prepend,
        Strip,
        StripAccents,
        ByteLevel,
        Nmt,             ///< White space and controls by SentencePiece's nmt rules.
        Precompiled,     ///< SentencePiece's character map.
        CleanText,       ///< BERT: no controls, white space as spaces.
        SpaceIdeographs, ///< BERT: a space on either side of a Chinese character.
        StripMarks,      ///< BERT: no marks after NFD.
    };
    Kind kind = Kind::Nfc;
    TokenPatternText pattern = {}; ///< Replace
    std::string content = {};      ///< Replace, Prepend, Precompiled (its bytes)
    bool left = true;              ///< Strip
    bool right = true;             ///< Strip
    /// Precompiled: true as Hugging Face applies it, false as SentencePiece does
    bool byGrapheme = true;
};

struct PreTokenizerStep {
    enum class Kind { ByteLevel, Split, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit };
    Kind kind = Kind::ByteLevel;
    TokenPatternText pattern;                            ///< Split
    SplitBehavior behavior = SplitBehavior::Isolated;    ///< Split, Punctuation
    bool invert = false;                                 ///< Split: take the text between matches instead
    bool addPrefixSpace = false;                         ///< ByteLevel
    bool useRegex = true;                                ///< ByteLevel: split with GPT-2's pattern first
    bool individualDigits = false;                       ///< Digits
    std::string replacement = "▁";                       ///< Metaspace
    PrependScheme prependScheme = PrependScheme::Always; ///< Metaspace
    bool split = true;                                   ///< Metaspace
};

struct DecoderStep {
    enum class Kind { ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, WordPiece, Suffix };
    Kind kind = Kind::ByteLevel;
    TokenPatternText pattern; ///< Replace
    std::string content;      ///< Replace, Strip (one character), WordPiece (its prefix), Suffix, Metaspace
    int start = 0;            ///< Strip: at most this many characters at the front
    int stop = 0;             ///< Strip: and at the back
    PrependScheme prependScheme = PrependScheme::Always; ///< Metaspace
    bool cleanup = true;                                 ///< WordPiece: no space before punctuation
};

/// A token matched in the text before the model sees it.
struct AddedToken {
    int id = 0;
    std::string content;
    bool special = false;
    bool singleWord = false; ///< Matches only if no word character touches it.
    bool stripLeft = false;  ///< Includes the white space before it.
    bool stripRight = false;
    bool normalized = true; ///< Matched in the normalized text.
};

struct BpeMerge {
    std::string left;
    std::string right;
    std::uint32_t rank; ///< The lowest rank is merged first, the leftmost of equal ones.
};

/// Steps before and after the tokenizer's model, sequences flattened.
struct TokenizerStages {
    std::vector<NormalizerStep> normalizers;
    std::vector<PreTokenizerStep> preTokenizers;
    std::vector<DecoderStep> decoders;
    std::vector<int> idsBefore; ///< Ids that the post_processor adds before the text.
    std::vector<int> idsAfter;  ///< Ids that it adds after the text.
    /// The first step that this version does not know: "the normalizer 'Precompiled'". Empty if it knows all.
    std::string unknownStep;
};

/// The content of a tokenizer.json, checked and flattened, but not interpreted.
struct TokenizerFile {
    enum class Model { Bpe, WordPiece, Unigram, WordLevel };
    struct Entry {
        std::string text;
        int id;
        double score = 0;     ///< Unigram: log probability.
        bool fromText = true; ///< Unigram: false for pieces that never result from text.
        /// Unigram: preferred over every other segmentation (SentencePiece's user-defined pieces).
        bool whole = false;
    };

    std::filesystem::path path;
    Model model = Model::Bpe;
    std::vector<Entry> vocabulary; // unordered; ids in [0, 10 million), with gaps
    std::vector<BpeMerge> merges;
    std::vector<AddedToken> addedTokens;
    std::vector<Entry>
        wholePieces; ///< Also in `vocabulary`: found in normalized text as spelled, never merged.
    std::optional<std::string> unknownToken;
    int maxWordCharacters = 100; ///< WordPiece: longer words are unknown.
    bool fuseUnknown = false;
    bool sumsAreFloats = false; ///< Unigram: rounds sums of scores as SentencePiece does, which decides ties.
    bool byteFallback = false;
    bool ignoreMerges = false; ///< A piece that equals a token becomes that token (Llama 3).
    std::string continuingPrefix;
    std::string endOfWordSuffix;
    TokenizerStages stages;
    /// Why encode() is not available, one sentence; empty if it is.
    std::string cannotEncode;
};

/// Reads a tokenizer.json, or a vocab.json with its merges.txt if that is the file's content.
/// Errors: NotFound, Corrupt, Unsupported, Io, as Tokenizer::open.
Result<TokenizerFile> readTokenizerFile(const std::filesystem::path& tokenizerJson);

/// Reads vocab.json with merges.txt and, if present, added_tokens.json beside it: byte-level BPE with GPT-2's pattern. In
/// merges.txt only empty lines and those that start with "#version" are skipped, because real merges may start with "#".
/// tokenizer_config.json and special_tokens_map.json name the special tokens.
Result<TokenizerFile> readVocabularyAndMerges(const std::filesystem::path& vocabularyJson);

} // namespace headwise
