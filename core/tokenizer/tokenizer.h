#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Token ids ↔ text: how a token reads, which id a text names, the ids of a prompt.
///
/// Ids may have gaps and the vocabulary may be smaller or larger than the rows of W_E; an id without a
/// token is shown as "[unused N]" and has no bytes. Any id may be asked for, also a negative one.
/// Immutable; a copy is a handle to the same tables. Any thread may use it.
class Tokenizer {
public:
    enum class SpecialTokens {
        AsTokenizerSays, ///< The file's post_processor decides, as the program the file was written for does.
        None,
    };

    /// Reads a tokenizer from a file, whose kind its content decides, or from a folder, where the first of these counts:
    /// tokenizer.json; vocab.json with merges.txt (and added_tokens.json); tokenizer.model, then spiece.model (SentencePiece,
    /// or tiktoken's ranks); vocab.txt (BERT); tokenizer.bin (llama2.c). Of a GGUF file the vocabulary inside it.
    ///
    /// A file whose ids can be shown is opened even if its encoder is one we do not have: encode() then says so.
    /// Errors: NotFound; Corrupt if it contradicts itself (ids below 0 or from 10 million on, a merge of unknown tokens);
    /// Unsupported if it is no tokenizer or its model type is unknown; Io.
    /// Cost: once through the file; GPT-2's 50257 tokens take well under half a second.
    static Result<Tokenizer> open(const std::filesystem::path& path);

    /// A vocabulary without its encoder, as a session file keeps it. encode() is Unsupported.
    /// \param shown, bytes one entry per id; an entry "[unused N]" at id N is a gap
    static Tokenizer fromVocabulary(std::vector<std::string> shown, std::vector<std::string> bytes);

    /// The largest id + 1.
    int size() const;
    bool hasToken(int id) const;
    /// An added token the file marks as special: <|endoftext|>, <s>.
    bool isSpecial(int id) const;
    /// Whether encode() adds tokens that are not in the text (a beginning-of-sequence token, usually).
    bool addsSpecialTokens() const;

    /// As everything shows it (DESIGN §3): shownToken(bytes(id)), special tokens verbatim.
    std::string shown(int id) const;
    /// The text the token stands for, which may be part of a UTF-8 sequence; "" where there is no token.
    std::string bytes(int id) const;

    /// The text of a sequence, as the file's decoder puts it together; special tokens stay in it. Bytes that
    /// do not form UTF-8 become U+FFFD; ids without a token are left out.
    std::string decode(std::span<const int> ids) const;

    /// The ids of a text, equal to those of the Hugging Face tokenizers library. Added tokens written out in
    /// the text are recognised; a special token that the text already begins (or ends) with is not added twice.
    /// Errors: InvalidArgument if the text is not UTF-8; Unsupported if the file's encoder is one we do not
    /// have; Corrupt if one of its patterns does not compile or runs out of its limits on this text.
    /// Cost: O(n log n) in the length of the text.
    Result<std::vector<int>> encode(std::string_view text,
                                    SpecialTokens specialTokens = SpecialTokens::AsTokenizerSays) const;

    /// The id a person means: #id, a token as shown, its raw text, or its spelling in the file, in this order.
    /// Where several tokens read the same: an added one, then an ordinary one, then a byte token; the lowest id.
    /// Errors: NotFound naming the query, with a token close to it if there is one; InvalidArgument if empty.
    Result<int> find(std::string_view query) const;

private:
    struct Tables;
    explicit Tokenizer(std::shared_ptr<const Tables> tables);

    std::shared_ptr<const Tables> m_tables;
};

} // namespace headwise
