#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Maps token ids to text and back: how a token is shown, the id for a text, the ids of a prompt.
///
/// Ids may have gaps, and the vocabulary may be smaller or larger than the rows of W_E. An id without a token is shown as
/// "[unused N]" and has no bytes. Any id is allowed, even a negative one. Immutable; a copy is a handle to the same
/// tables. Any thread may use it.
class Tokenizer {
public:
    enum class SpecialTokens {
        AsTokenizerSays, ///< As the file's post_processor says.
        None,
    };

    /// Meaning of a special token's text inside a text, such as "<|endoftext|>".
    enum class SpecialText {
        IsToken, ///< It is that token, as in Hugging Face's tokenizers and llama.cpp with parse_special.
        IsText, ///< It is ordinary text, as in tiktoken's encode_ordinary and llama.cpp without parse_special.
    };

    /// Reads a tokenizer from a file, whose content decides its kind, or from a folder, in which the first of these
    /// counts: tokenizer.json; vocab.json with merges.txt (and added_tokens.json); tokenizer.model, then spiece.model
    /// (SentencePiece, or tiktoken's ranks); vocab.txt (BERT); tokenizer.bin (llama2.c). From a GGUF file it reads the
    /// vocabulary inside.
    ///
    /// A file whose ids can be shown opens even if its encoder is unknown; encode() then returns an error.
    /// Errors: NotFound; Corrupt if it contradicts itself (ids below 0 or from 10 million on, a merge of unknown tokens);
    /// Unsupported if it is not a tokenizer or its model type is unknown; Io.
    /// Cost: one pass over the file; GPT-2's 50257 tokens take well under half a second.
    static Result<Tokenizer> open(const std::filesystem::path& path);

    /// Makes a tokenizer from a session's vocabulary, without an encoder: encode() is Unsupported.
    /// \param shown, bytes one entry per id; an entry "[unused N]" at id N is a gap
    static Tokenizer fromVocabulary(std::vector<std::string> shown, std::vector<std::string> bytes);

    /// The largest id + 1.
    int size() const;
    bool hasToken(int id) const;
    /// True for an added token that the file marks as special: <|endoftext|>, <s>.
    bool isSpecial(int id) const;

    /// Returns the token as shown everywhere (CONTRACTS.md §11): shownToken(bytes(id)), special tokens verbatim.
    std::string shown(int id) const;
    /// Returns the text of the token, which may be part of a UTF-8 sequence; "" for an id without a token.
    std::string bytes(int id) const;

    /// Returns the text of a sequence, as the file's decoder joins it, with special tokens. Bytes that do not form UTF-8
    /// become U+FFFD; ids without a token are skipped.
    std::string decode(std::span<const int> ids) const;

    /// Returns the ids of a text, equal to those of the Hugging Face tokenizers library. Added tokens in the text are
    /// recognised, special ones unless `specialText` says otherwise; a special token that the text already begins (or ends)
    /// with is not added again.
    /// Errors: InvalidArgument if the text is not UTF-8; Unsupported if the file's encoder is unknown; Corrupt if one of
    /// its patterns does not compile or exceeds its limits on this text.
    /// Cost: O(n log n) in the length of the text.
    Result<std::vector<int>> encode(std::string_view text,
                                    SpecialTokens specialTokens = SpecialTokens::AsTokenizerSays,
                                    SpecialText specialText = SpecialText::IsToken) const;

    /// Returns the id that the user means: #id, a token as shown, its raw text, or its spelling in the file, in this
    /// order. If several tokens read the same: an added one, then an ordinary one, then a byte token; the lowest id.
    /// Errors: NotFound naming the query, with a similar token if there is one; InvalidArgument if empty.
    Result<int> find(std::string_view query) const;

private:
    struct Tables;
    explicit Tokenizer(std::shared_ptr<const Tables> tables);

    std::shared_ptr<const Tables> m_tables;
};

/// Returns the token as shown; without a tokenizer (null), "#17".
std::string shownToken(const Tokenizer* tokenizer, int id);

} // namespace headwise
