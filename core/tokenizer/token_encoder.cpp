#include "core/tokenizer/token_encoder.h"

#include <utility>

namespace headwise {

namespace {

Error inFile(const std::string& fileName, const Error& error)
{
    return {error.code, "'" + fileName + "': " + error.message};
}

} // namespace

TokenEncoder::TokenEncoder(const TokenizerFile& file, TokenModel model, TokenNormalizer normalizer,
                           PreTokenizer preTokenizer)
    : m_fileName(file.path.string())
    , m_model(std::move(model))
    , m_normalizer(std::move(normalizer))
    , m_preTokenizer(std::move(preTokenizer))
{
}

Result<TokenEncoder> TokenEncoder::create(const TokenizerFile& file, TokenModel model)
{
    Result<TokenNormalizer> normalizer = TokenNormalizer::create(file.stages.normalizers);
    if (!normalizer)
        return inFile(file.path.string(), normalizer.error());
    Result<PreTokenizer> preTokenizer = PreTokenizer::create(file.stages.preTokenizers);
    if (!preTokenizer)
        return inFile(file.path.string(), preTokenizer.error());
    TokenEncoder encoder(file, std::move(model), std::move(normalizer).value(),
                         std::move(preTokenizer).value());
    // Special tokens first: if two tokens have the same text, the special one wins.
    for (const bool special : {true, false}) {
        for (const AddedToken& token : file.addedTokens) {
            if (token.special != special)
                continue;
            if (!token.normalized) {
                encoder.m_addedTokens.add(token, token.content);
                continue;
            }
            const Result<std::string> content = encoder.m_normalizer.normalized(token.content);
            if (!content)
                return inFile(file.path.string(), content.error());
            encoder.m_normalizedAddedTokens.add(token, *content);
        }
    }
    for (const TokenizerFile::Entry& piece : file.wholePieces)
        encoder.m_normalizedAddedTokens.add({.id = piece.id, .content = piece.text}, piece.text);
    return encoder;
}

Result<std::vector<int>> TokenEncoder::encode(std::string_view text, Tokenizer::SpecialText specialText) const
{
    std::vector<int> ids;
    for (const AddedTokenMatcher::Part& part : m_addedTokens.split(text, specialText)) {
        if (part.id != AddedTokenMatcher::plainText) {
            ids.push_back(part.id);
            continue;
        }
        const Result<Done> done = encodePlain(part.text, part.text.data() == text.data(), specialText, ids);
        if (!done)
            return inFile(m_fileName, done.error());
    }
    return ids;
}

Result<Done> TokenEncoder::encodePlain(std::string_view text, bool startsText,
                                       Tokenizer::SpecialText specialText, std::vector<int>& ids) const
{
    const Result<std::string> normalized = m_normalizer.normalized(std::string(text));
    if (!normalized)
        return normalized.error();
    for (const AddedTokenMatcher::Part& part : m_normalizedAddedTokens.split(*normalized, specialText)) {
        if (part.id != AddedTokenMatcher::plainText) {
            ids.push_back(part.id);
            continue;
        }
        const bool first = startsText && part.text.data() == normalized->data();
        const Result<Done> done = encodeNormalized(part.text, first, ids);
        if (!done)
            return done;
    }
    return Done{};
}

Result<Done> TokenEncoder::encodeNormalized(std::string_view text, bool startsText,
                                            std::vector<int>& ids) const
{
    const Result<std::vector<TextPiece>> pieces = m_preTokenizer.pieces({std::string(text), startsText});
    if (!pieces)
        return pieces.error();
    for (const TextPiece& piece : *pieces)
        m_model.encode(piece.text, ids);
    return Done{};
}

} // namespace headwise
