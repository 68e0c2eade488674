#include "core/tokenizer/token_decoder.h"

#include "core/files/utf8.h"

#include <algorithm>
#include <array>
#include <optional>

namespace headwise {

namespace {

using TokenDecoderKind = DecoderStep::Kind;
using Tokens = std::vector<TokenDecoder::Token>;

constexpr char32_t alphabetEnd = 0x144; // U+0100 and 68 non-printable bytes

bool isPrintableByte(unsigned char byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::array<char32_t, 256> byteLevelAlphabet()
{
    std::array<char32_t, 256> alphabet{};
    char32_t next = 0x100;
    for (std::size_t byte = 0; byte < alphabet.size(); ++byte)
        alphabet[byte] =
            isPrintableByte(static_cast<unsigned char>(byte)) ? static_cast<char32_t>(byte) : next++;
    return alphabet;
}

std::array<int, alphabetEnd> byteOfCharacter()
{
    std::array<int, alphabetEnd> bytes{};
    bytes.fill(-1);
    for (int byte = 0; byte < 256; ++byte)
        bytes[byteLevelCharacter(static_cast<unsigned char>(byte))] = byte;
    return bytes;
}

/// Returns the bytes of a token in the byte-level alphabet; its own bytes if a character is not in the alphabet.
std::string byteLevelBytes(std::string_view token)
{
    static const std::array<int, alphabetEnd> byteOf = byteOfCharacter();
    std::string bytes;
    for (std::size_t position = 0; position < token.size();) {
        const Utf8Step step = utf8StepAt(token, position);
        if (!step.valid || step.codePoint >= alphabetEnd || byteOf[step.codePoint] < 0)
            return std::string(token);
        bytes.push_back(static_cast<char>(byteOf[step.codePoint]));
        position += step.length;
    }
    return bytes;
}

/// Returns the byte that "<0x0A>" stands for.
std::optional<char> byteOfToken(std::string_view token)
{
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>')
        return std::nullopt;
    int value = 0;
    for (const char c : token.substr(3, 2)) {
        const int digit = c >= '0' && c <= '9' ? c - '0'
            : c >= 'A' && c <= 'F'             ? c - 'A' + 10
            : c >= 'a' && c <= 'f'             ? c - 'a' + 10
                                               : -1;
        if (digit < 0)
            return std::nullopt;
        value = value * 16 + digit;
    }
    return static_cast<char>(value);
}

std::string replaceLiteral(std::string_view text, std::string_view what, std::string_view by)
{
    if (what.empty())
        return std::string(text);
    std::string replaced;
    for (std::size_t found = text.find(what); found != std::string_view::npos; found = text.find(what)) {
        replaced.append(text.substr(0, found)).append(by);
        text.remove_prefix(found + what.size());
    }
    return replaced.append(text);
}

std::string replacePattern(const std::string& text, const DecoderStep& step, const TokenPattern& pattern)
{
    if (!step.pattern.isRegex)
        return replaceLiteral(text, step.pattern.text, step.content);
    const auto matches = pattern.matches(text);
    if (!matches)
        return text;
    std::string replaced;
    std::size_t last = 0;
    for (const TokenPattern::Match& match : *matches) {
        replaced.append(text, last, match.begin - last).append(step.content);
        last = match.end;
    }
    return replaced.append(text, last);
}

void decodeByteLevel(Tokens& tokens)
{
    std::string bytes;
    for (const TokenDecoder::Token& token : tokens)
        bytes += token.added ? token.text : byteLevelBytes(token.text);
    tokens.assign(1, {withReplacementCharacters(bytes), false});
}

void decodeByteFallback(Tokens& tokens)
{
    Tokens decoded;
    std::string run;
    const auto finishRun = [&decoded, &run] {
        if (run.empty())
            return;
        std::string text = run;
        if (firstInvalidUtf8(run)) {
            text.clear();
            for (std::size_t i = 0; i < run.size(); ++i)
                appendUtf8(text, 0xFFFD);
        }
        decoded.push_back({std::move(text), false});
        run.clear();
    };
    for (TokenDecoder::Token& token : tokens) {
        if (const std::optional<char> byte = byteOfToken(token.text)) {
            run.push_back(*byte);
        } else {
            finishRun();
            decoded.push_back(std::move(token));
        }
    }
    finishRun();
    tokens = std::move(decoded);
}

void fuse(Tokens& tokens)
{
    std::string text;
    for (const TokenDecoder::Token& token : tokens)
        text += token.text;
    tokens.assign(1, {std::move(text), false});
}

std::string stripped(std::string text, const DecoderStep& step)
{
    if (step.content.empty())
        return text;
    for (int i = 0; i < step.start && text.starts_with(step.content); ++i)
        text.erase(0, step.content.size());
    for (int i = 0; i < step.stop && text.ends_with(step.content); ++i)
        text.erase(text.size() - step.content.size());
    return text;
}

/// Removes the space that splitting into words puts before English punctuation.
std::string cleanedUp(std::string text)
{
    constexpr std::pair<std::string_view, std::string_view> changes[] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (const auto& [from, to] : changes)
        text = replaceLiteral(text, from, to);
    return text;
}

void decodeWords(Tokens& tokens, const DecoderStep& step)
{
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        std::string& text = tokens[i].text;
        if (i > 0 && !step.content.empty() && text.starts_with(step.content))
            text.erase(0, step.content.size());
        else if (i > 0)
            text.insert(0, " ");
        if (step.cleanup)
            text = cleanedUp(text);
    }
}

void decodeMetaspace(Tokens& tokens, const DecoderStep& step)
{
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool dropped = i == 0 && step.prependScheme != PrependScheme::Never;
        tokens[i].text = replaceLiteral(tokens[i].text, step.content, dropped ? "" : " ");
    }
}

void decodeSuffix(Tokens& tokens, const DecoderStep& step)
{
    for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i].text = replaceLiteral(tokens[i].text, step.content, i + 1 == tokens.size() ? "" : " ");
}

bool usesByteLevel(const TokenizerFile& file)
{
    return std::any_of(file.stages.preTokenizers.begin(), file.stages.preTokenizers.end(),
                       [](const auto& step) { return step.kind == PreTokenizerStep::Kind::ByteLevel; })
        || std::any_of(file.stages.normalizers.begin(), file.stages.normalizers.end(),
                       [](const auto& step) { return step.kind == NormalizerStep::Kind::ByteLevel; });
}

} // namespace

char32_t byteLevelCharacter(unsigned char byte)
{
    static const std::array<char32_t, 256> alphabet = byteLevelAlphabet();
    return alphabet[byte];
}

std::string byteLevelText(std::string_view bytes)
{
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char byte : bytes)
        appendUtf8(text, byteLevelCharacter(static_cast<unsigned char>(byte)));
    return text;
}

Result<TokenDecoder> TokenDecoder::create(const TokenizerFile& file)
{
    std::vector<DecoderStep> steps = file.stages.decoders;
    if (steps.empty() && usesByteLevel(file))
        steps.emplace_back(); // Without a decoder in the file, tokens are still spelled in the alphabet.
    TokenDecoder decoder;
    for (DecoderStep& step : steps) {
        Result<TokenPattern> pattern = TokenPattern::compile(step.pattern);
        if (!pattern)
            return Error{pattern.error().code, "'" + file.path.string() + "': " + pattern.error().message};
        decoder.m_steps.push_back({std::move(step), std::move(pattern).value()});
    }
    return decoder;
}

std::string TokenDecoder::bytes(std::string_view spelling) const
{
    std::string text(spelling);
    for (const auto& [step, pattern] : m_steps) {
        switch (step.kind) {
        case TokenDecoderKind::ByteLevel: text = byteLevelBytes(text); break;
        case TokenDecoderKind::Replace: text = replacePattern(text, step, pattern); break;
        case TokenDecoderKind::ByteFallback:
            if (const std::optional<char> byte = byteOfToken(text))
                return std::string(1, *byte);
            break;
        case TokenDecoderKind::Metaspace: text = replaceLiteral(text, step.content, " "); break;
        case TokenDecoderKind::Suffix: text = replaceLiteral(text, step.content, " "); break;
        case TokenDecoderKind::WordPiece:
            if (text.starts_with(step.content))
                text.erase(0, step.content.size());
            else
                text.insert(0, " ");
            break;
        case TokenDecoderKind::Fuse:
        case TokenDecoderKind::Strip: break; // These steps concern the text as a whole.
        }
    }
    return text;
}

std::string TokenDecoder::text(std::vector<Token> tokens) const
{
    for (const auto& [step, pattern] : m_steps) {
        switch (step.kind) {
        case TokenDecoderKind::ByteLevel: decodeByteLevel(tokens); break;
        case TokenDecoderKind::Replace:
            for (Token& token : tokens)
                token.text = replacePattern(token.text, step, pattern);
            break;
        case TokenDecoderKind::ByteFallback: decodeByteFallback(tokens); break;
        case TokenDecoderKind::Fuse: fuse(tokens); break;
        case TokenDecoderKind::Strip:
            for (Token& token : tokens)
                token.text = stripped(std::move(token.text), step);
            break;
        case TokenDecoderKind::Metaspace: decodeMetaspace(tokens, step); break;
        case TokenDecoderKind::WordPiece: decodeWords(tokens, step); break;
        case TokenDecoderKind::Suffix: decodeSuffix(tokens, step); break;
        }
    }
    std::string text;
    for (const Token& token : tokens)
        text.append(text.empty() || !m_steps.empty() ? "" : " ").append(token.text);
    return text;
}

} // namespace headwise
