#include "core/tokenizer/tokenizer.h"

#include "core/files/utf8.h"
#include "core/tokenizer/token_decoder.h"
#include "core/tokenizer/token_encoder.h"
#include "core/tokenizer/token_text.h"
#include "core/tokenizer/tokenizer_file.h"
#include "core/tokenizer/tokenizer_source.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

namespace headwise {

namespace {

struct Token {
    std::string spelling; ///< as the file has it
    std::string bytes;
    std::string shown;
    bool special = false;
    bool added = false;
};

constexpr int noToken = -1;
constexpr std::size_t textSizeLimit = 256u << 20; // bytes

/// Parses a query such as "#50256".
std::optional<long> idIn(std::string_view query)
{
    if (query.size() < 2 || query.front() != '#')
        return std::nullopt;
    long id = 0;
    const auto [end, failure] = std::from_chars(query.data() + 1, query.data() + query.size(), id);
    if (failure != std::errc() || end != query.data() + query.size() || id < 0)
        return std::nullopt;
    return id;
}

/// Guesses tokens close to one that does not exist.
std::vector<std::string> neighbours(std::string_view query)
{
    constexpr std::string_view shownSpace = "␣";
    std::string text(query);
    std::vector<std::string> guesses;
    const auto withAndWithoutSpace = [&guesses, shownSpace](const std::string& word) {
        guesses.push_back(" " + word);
        if (word.starts_with(' '))
            guesses.push_back(word.substr(1));
        if (word.starts_with(shownSpace))
            guesses.push_back(word.substr(shownSpace.size()));
    };
    withAndWithoutSpace(text);
    std::string lower = text;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    std::string capital = lower;
    const std::size_t first = capital.find_first_not_of(' ');
    if (first != std::string::npos && capital[first] >= 'a' && capital[first] <= 'z')
        capital[first] = static_cast<char>(capital[first] - 'a' + 'A');
    for (const std::string& variant : {lower, capital}) {
        guesses.push_back(variant);
        withAndWithoutSpace(variant);
    }
    return guesses;
}

} // namespace

struct Tokenizer::Tables {
    using Index = std::unordered_map<std::string_view, int>; // into the strings of `tokens`

    std::vector<Token> tokens;  // unordered
    std::vector<int> tokenOfId; // [size], noToken for gaps
    std::vector<int> idOfToken; // [tokens]
    Index idOfShown;
    Index idOfBytes;
    Index idOfSpelling;
    std::optional<TokenDecoder> decoder; ///< Absent if made from a vocabulary alone.
    std::vector<int> idsBefore;
    std::vector<int> idsAfter;
    std::optional<TokenEncoder> encoder;
    Error cannotEncode; ///< Used only without an encoder.

    const Token* token(int id) const
    {
        if (id < 0 || id >= static_cast<int>(tokenOfId.size()) || tokenOfId[id] == noToken)
            return nullptr;
        return &tokens[tokenOfId[id]];
    }

    void put(int id, Token token);
    void putAll(const TokenizerFile& file, const TokenDecoder& spelling);
    Result<Done> makeEncoder(const TokenizerFile& file);
    void buildIndexes();
    std::optional<int> idNamed(std::string_view text) const;
    std::string suggestion(std::string_view query) const;
};

void Tokenizer::Tables::put(int id, Token token)
{
    if (id >= static_cast<int>(tokenOfId.size()))
        tokenOfId.resize(static_cast<std::size_t>(id) + 1, noToken);
    if (tokenOfId[id] != noToken) {
        tokens[tokenOfId[id]] = std::move(token);
        return;
    }
    tokenOfId[id] = static_cast<int>(tokens.size());
    idOfToken.push_back(id);
    tokens.push_back(std::move(token));
}

void Tokenizer::Tables::putAll(const TokenizerFile& file, const TokenDecoder& spelling)
{
    tokens.reserve(file.vocabulary.size() + file.addedTokens.size());
    for (const TokenizerFile::Entry& entry : file.vocabulary) {
        std::string bytes = spelling.bytes(entry.text);
        std::string shown = shownToken(bytes);
        put(entry.id, {entry.text, std::move(bytes), std::move(shown), false, false});
    }
    for (const AddedToken& added : file.addedTokens) {
        const std::string& text = added.content;
        std::string shown = added.special ? shownSpecialToken(text) : shownToken(text);
        put(added.id, {text, text, std::move(shown), added.special, true});
    }
    idsBefore = file.stages.idsBefore;
    idsAfter = file.stages.idsAfter;
    buildIndexes();
}

/// Refuses a file whose tokens contradict each other. A file with an unknown encoder can still be shown.
Result<Done> Tokenizer::Tables::makeEncoder(const TokenizerFile& file)
{
    if (!file.cannotEncode.empty()) {
        cannotEncode = {ErrorCode::Unsupported, file.cannotEncode};
        return Done{};
    }
    Result<TokenModel> model = TokenModel::create(file);
    if (!model)
        return model.error();
    Result<TokenEncoder> created = TokenEncoder::create(file, std::move(model).value());
    if (created)
        encoder = std::move(created).value();
    else
        cannotEncode = created.error();
    return Done{};
}

void Tokenizer::Tables::buildIndexes()
{
    idOfShown.reserve(tokens.size());
    idOfBytes.reserve(tokens.size());
    idOfSpelling.reserve(tokens.size());
    // The first token keeps a name, so they are sorted as encoding prefers them.
    const auto rank = [](const Token& found) {
        if (found.added)
            return 0;
        return found.spelling.size() == 6 && found.spelling.starts_with("<0x") && found.bytes.size() == 1 ? 2
                                                                                                          : 1;
    };
    for (const int wanted : {0, 1, 2}) {
        for (int id = 0; id < static_cast<int>(tokenOfId.size()); ++id) {
            const Token* found = token(id);
            if (!found || rank(*found) != wanted)
                continue;
            idOfShown.emplace(found->shown, id);
            idOfBytes.emplace(found->bytes, id);
            idOfSpelling.emplace(found->spelling, id);
        }
    }
}

std::optional<int> Tokenizer::Tables::idNamed(std::string_view text) const
{
    for (const Index* index : {&idOfShown, &idOfBytes, &idOfSpelling}) {
        const auto found = index->find(text);
        if (found != index->end())
            return found->second;
    }
    return std::nullopt;
}

std::string Tokenizer::Tables::suggestion(std::string_view query) const
{
    for (const std::string& guess : neighbours(query)) {
        const std::optional<int> id = idNamed(guess);
        if (id && guess != query)
            return " Did you mean '" + token(*id)->shown + "' (#" + std::to_string(*id) + ")?";
    }
    return " It may be several tokens; give one of them, or an id as #ID.";
}

Tokenizer::Tokenizer(std::shared_ptr<const Tables> tables)
    : m_tables(std::move(tables))
{
}

Result<Tokenizer> Tokenizer::open(const std::filesystem::path& path)
{
    Result<TokenizerFile> file = readTokenizerSource(path);
    if (!file)
        return file.error();
    Result<TokenDecoder> decoder = TokenDecoder::create(*file);
    if (!decoder)
        return decoder.error();

    const auto tables = std::make_shared<Tables>();
    tables->putAll(*file, *decoder);
    tables->decoder = std::move(decoder).value();
    const Result<Done> done = tables->makeEncoder(*file);
    if (!done)
        return done.error();
    return Tokenizer(tables);
}

Tokenizer Tokenizer::fromVocabulary(std::vector<std::string> shown, std::vector<std::string> bytes)
{
    const auto tables = std::make_shared<Tables>();
    bytes.resize(shown.size());
    for (int id = 0; id < static_cast<int>(shown.size()); ++id) {
        if (shown[id] == shownUnused(id))
            continue;
        // Only special tokens are shown differently from their bytes.
        const bool special = shown[id] != shownToken(bytes[id]);
        if (special) // a session from elsewhere may contain anything here
            shown[id] = shownSpecialToken(shown[id]);
        tables->put(id, {bytes[id], bytes[id], std::move(shown[id]), special, special});
    }
    tables->tokenOfId.resize(shown.size(), noToken);
    tables->buildIndexes();
    tables->cannotEncode = {
        ErrorCode::Unsupported,
        "A stored vocabulary does not say how text is encoded; give token ids instead, or open the model's folder with its tokenizer.json."};
    return Tokenizer(tables);
}

int Tokenizer::size() const
{
    return static_cast<int>(m_tables->tokenOfId.size());
}

bool Tokenizer::hasToken(int id) const
{
    return m_tables->token(id) != nullptr;
}

bool Tokenizer::isSpecial(int id) const
{
    const Token* token = m_tables->token(id);
    return token && token->special;
}

std::string Tokenizer::shown(int id) const
{
    const Token* token = m_tables->token(id);
    return token ? token->shown : shownUnused(id);
}

std::string Tokenizer::bytes(int id) const
{
    const Token* token = m_tables->token(id);
    return token ? token->bytes : std::string();
}

std::string Tokenizer::decode(std::span<const int> ids) const
{
    if (!m_tables->decoder) {
        std::string text;
        for (const int id : ids)
            text += bytes(id);
        return withReplacementCharacters(text);
    }
    std::vector<TokenDecoder::Token> tokens;
    tokens.reserve(ids.size());
    for (const int id : ids)
        if (const Token* token = m_tables->token(id))
            tokens.push_back({token->spelling, token->added});
    return m_tables->decoder->text(std::move(tokens));
}

Result<std::vector<int>> Tokenizer::encode(std::string_view text, SpecialTokens specialTokens,
                                           SpecialText specialText) const
{
    if (!m_tables->encoder)
        return m_tables->cannotEncode;
    if (text.size() > textSizeLimit)
        return Error{ErrorCode::InvalidArgument,
                     "The text has " + std::to_string(text.size()) + " bytes; at most "
                         + std::to_string(textSizeLimit) + " can be encoded at once."};
    if (const std::optional<std::size_t> position = firstInvalidUtf8(text))
        return Error{ErrorCode::InvalidArgument,
                     "The text is not UTF-8: its byte " + std::to_string(*position)
                         + " belongs to no character."};
    Result<std::vector<int>> encoded = m_tables->encoder->encode(text, specialText);
    if (!encoded || specialTokens == SpecialTokens::None)
        return encoded;
    std::vector<int> ids = std::move(encoded).value();
    const std::vector<int>& before = m_tables->idsBefore;
    const std::vector<int>& after = m_tables->idsAfter;
    const bool begun = ids.size() >= before.size() && std::equal(before.begin(), before.end(), ids.begin());
    if (!begun)
        ids.insert(ids.begin(), before.begin(), before.end());
    const bool ended = ids.size() >= after.size() && std::equal(after.rbegin(), after.rend(), ids.rbegin());
    if (!ended)
        ids.insert(ids.end(), after.begin(), after.end());
    return ids;
}

Result<int> Tokenizer::find(std::string_view query) const
{
    if (query.empty())
        return Error{ErrorCode::InvalidArgument, "No token was given; expected its text as shown, or #ID."};
    if (const std::optional<long> id = idIn(query)) {
        if (*id < size() && hasToken(static_cast<int>(*id)))
            return static_cast<int>(*id);
        return Error{ErrorCode::NotFound,
                     "There is no token with id " + std::to_string(*id) + "; the vocabulary has "
                         + std::to_string(m_tables->tokens.size()) + " tokens up to id "
                         + std::to_string(size() - 1) + "."};
    }
    if (const std::optional<int> id = m_tables->idNamed(query))
        return *id;
    return Error{ErrorCode::NotFound,
                 "There is no token '" + shownSpecialToken(query) + "'." + m_tables->suggestion(query)};
}

std::string shownToken(const Tokenizer* tokenizer, int id)
{
    return tokenizer ? tokenizer->shown(id) : shownId(id);
}

} // namespace headwise
