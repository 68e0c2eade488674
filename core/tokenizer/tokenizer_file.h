#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headwise {

/// Ids are below it: more than ten times the largest vocabulary known, and tables of that size still fit.
constexpr int tokenIdLimit = 10'000'000;

/// Pattern that a tokenizer step looks for: a literal text or a regular expression (Oniguruma's syntax).
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
        Nmt,             ///< White space and controls as SentencePiece's nmt rules see them.
        Precompiled,     ///< A character map of SentencePiece.
        CleanText,       ///< The four parts of BERT's: no controls, white space as spaces;
        SpaceIdeographs, ///< a space on either side of a Chinese character;
        StripMarks,      ///< no marks after NFD;
    };
    Kind kind = Kind::Nfc;
    TokenPatternText pattern = {}; ///< Replace
    std::string content = {};      ///< Replace, Prepend, Precompiled (its bytes)
    bool left = true;              ///< Strip
    bool right = true;             ///< Strip
    bool byGrapheme = true;        ///< Precompiled: as Hugging Face applies it; false: as SentencePiece does
};

struct PreTokenizerStep {
    enum class Kind { ByteLevel, Split, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit };
    Kind kind = Kind::ByteLevel;
    TokenPatternText pattern;                            ///< Split
    SplitBehavior behavior = SplitBehavior::Isolated;    ///< Split, Punctuation
    bool invert = false;                                 ///< Split: what does not match is what is looked for
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
    int start = 0;            ///< Strip: at most so many characters from the front
    int stop = 0;             ///< Strip: and from the back
    PrependScheme prependScheme = PrependScheme::Always; ///< Metaspace
    bool cleanup = true;                                 ///< WordPiece: no space before punctuation
};

/// A token matched in the text before the model sees it.
struct AddedToken {
    int id = 0;
    std::string content;
    bool special = false;
    bool singleWord = false; ///< Only where no word character touches it.
    bool stripLeft = false;  ///< Takes the white space before it along.
    bool stripRight = false;
    bool normalized = true; ///< Matched in the normalized text.
};

struct BpeMerge {
    std::string left;
    std::string right;
    std::uint32_t rank; ///< Lower first, the leftmost of equal ones.
};

/// Steps before and after the tokenizer's model, sequences flattened.
struct TokenizerStages {
    std::vector<NormalizerStep> normalizers;
    std::vector<PreTokenizerStep> preTokenizers;
    std::vector<DecoderStep> decoders;
    std::vector<int> idsBefore; ///< Ids that the post_processor puts before the text,
    std::vector<int> idsAfter;  ///< and after it.
    /// The first step this version does not have: "the normalizer 'Precompiled'". Empty if it has all of them.
    std::string unknownStep;
};

/// The content of a tokenizer.json, checked and flattened; what it means is up to the readers of this.
struct TokenizerFile {
    enum class Model { Bpe, WordPiece, Unigram, WordLevel };
    struct Entry {
        std::string text;
        int id;
        double score = 0;     ///< Unigram: log probability.
        bool fromText = true; ///< Unigram: false for pieces that no text is cut into.
        bool whole = false;   ///< Unigram: wins over every other cut (SentencePiece's user-defined pieces).
    };

    std::filesystem::path path;
    Model model = Model::Bpe;
    std::vector<Entry> vocabulary; // in no order; ids in [0, 10 million), with gaps
    std::vector<BpeMerge> merges;
    std::vector<AddedToken> addedTokens;
    std::vector<Entry>
        wholePieces; ///< Also in `vocabulary`: found in normalized text as they are spelled, never merged.
    std::optional<std::string> unknownToken;
    int maxWordCharacters = 100; ///< WordPiece: longer words are unknown.
    bool fuseUnknown = false;
    bool sumsAreFloats =
        false; ///< Unigram: sums of scores rounded as SentencePiece rounds them, which decides ties.
    bool byteFallback = false;
    bool ignoreMerges = false; ///< A piece that is a token as a whole is that token (Llama-3).
    std::string continuingPrefix;
    std::string endOfWordSuffix;
    TokenizerStages stages;
    /// Why encode() cannot be offered, one sentence; empty if it can.
    std::string cannotEncode;
};

/// A tokenizer.json; a vocab.json with its merges.txt, if that is what the file holds.
/// Errors: NotFound, Corrupt, Unsupported, Io, as Tokenizer::open.
Result<TokenizerFile> readTokenizerFile(const std::filesystem::path& tokenizerJson);

/// vocab.json with merges.txt and, if there is one, added_tokens.json beside it: byte-level BPE with GPT-2's
/// pattern. Of merges.txt only lines that start with "#version" and empty ones are no merges: real merges
/// may start with "#". Which tokens are special, tokenizer_config.json and special_tokens_map.json say.
Result<TokenizerFile> readVocabularyAndMerges(const std::filesystem::path& vocabularyJson);

} // namespace headwise
