#pragma once

#include "core/base/result.h"
#include "core/tokenizer/added_tokens.h"
#include "core/tokenizer/pre_tokenizer.h"
#include "core/tokenizer/token_model.h"
#include "core/tokenizer/token_normalizer.h"
#include "core/tokenizer/tokenizer_file.h"

#include <string_view>
#include <vector>

namespace headwise {

/// Turns text into token ids, without the special tokens that a post-processor adds.
///
/// Added tokens are found first. The rest is normalized, searched again for added tokens that are matched in normalized
/// text, split into pieces and encoded.
class TokenEncoder {
public:
    /// Errors: Corrupt or Unsupported, naming the file, if one of its patterns does not compile.
    static Result<TokenEncoder> create(const TokenizerFile& file, TokenModel model);

    /// \param text well-formed UTF-8
    /// Errors: Corrupt if a pattern exceeds its limits on this text; the sentence names the file.
    Result<std::vector<int>> encode(std::string_view text, Tokenizer::SpecialText specialText) const;

private:
    TokenEncoder(const TokenizerFile& file, TokenModel model, TokenNormalizer normalizer,
                 PreTokenizer preTokenizer);
    /// Appends the ids of `text` to `ids`.
    Result<Done> encodePlain(std::string_view text, bool startsText, Tokenizer::SpecialText specialText,
                             std::vector<int>& ids) const;
    Result<Done> encodeNormalized(std::string_view text, bool startsText, std::vector<int>& ids) const;

    std::string m_fileName;
    TokenModel m_model;
    TokenNormalizer m_normalizer;
    PreTokenizer m_preTokenizer;
    AddedTokenMatcher m_addedTokens;
    AddedTokenMatcher m_normalizedAddedTokens;
};

} // namespace headwise
