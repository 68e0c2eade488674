#include "core/tokenizer/token_normalizer.h"

#include "core/files/utf8.h"
#include "core/tokenizer/token_decoder.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace headwise {

namespace {

using TokenNormalizerKind = NormalizerStep::Kind;

int normalizationOptions(TokenNormalizerKind kind)
{
    switch (kind) {
    case TokenNormalizerKind::Nfd: return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    case TokenNormalizerKind::Nfkc: return UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT;
    case TokenNormalizerKind::Nfkd: return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT;
    default: return UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    }
}

Result<std::string> inNormalForm(const std::string& text, TokenNormalizerKind kind)
{
    utf8proc_uint8_t* mapped = nullptr;
    const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                 static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                                 static_cast<utf8proc_option_t>(normalizationOptions(kind)));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
    if (length < 0)
        return Error{length == UTF8PROC_ERROR_NOMEM ? ErrorCode::OutOfMemory : ErrorCode::InvalidArgument,
                     std::string("The text cannot be normalised: ") + utf8proc_errmsg(length) + "."};
    return std::string(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length));
}

template <typename Function>
std::string forEachCodePoint(std::string_view text, Function append)
{
    std::string result;
    result.reserve(text.size());
    for (std::size_t position = 0; position < text.size();) {
        const Utf8Step step = utf8StepAt(text, position);
        append(result, step.codePoint);
        position += step.length;
    }
    return result;
}

std::string lowercase(std::string_view text)
{
    return forEachCodePoint(text, [](std::string& result, char32_t c) {
        appendUtf8(result, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
        if (c == 0x130) // İ is the only letter whose lower case is two characters: i and a dot above.
            result.replace(result.size() - 1, 1, "i\u0307");
    });
}

std::string withoutMarks(std::string_view text)
{
    return forEachCodePoint(text, [](std::string& result, char32_t c) {
        const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
        if (category != UTF8PROC_CATEGORY_MN && category != UTF8PROC_CATEGORY_MC
            && category != UTF8PROC_CATEGORY_ME)
            appendUtf8(result, c);
    });
}

bool isCleanedWhiteSpace(utf8proc_category_t category, char32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || c == 0x85 || category == UTF8PROC_CATEGORY_ZS
        || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

/// Source: BERT's tokenization.py, _clean_text; control characters as in Hugging Face tokenizers.
std::string cleanText(std::string_view text)
{
    return forEachCodePoint(text, [](std::string& result, char32_t c) {
        const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
        const bool isControl = c != '\t' && c != '\n' && c != '\r'
            && (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF
                || category == UTF8PROC_CATEGORY_CO || category == UTF8PROC_CATEGORY_CS);
        if (isControl || c == 0 || c == 0xFFFD)
            return;
        appendUtf8(result, isCleanedWhiteSpace(category, c) ? U' ' : c);
    });
}

/// Source: BERT's tokenization.py, _is_chinese_char.
bool isIdeograph(char32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF)
        || (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF)
        || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::string withSpacedIdeographs(std::string_view text)
{
    return forEachCodePoint(text, [](std::string& result, char32_t c) {
        const std::string_view space = isIdeograph(c) ? " " : "";
        result += space;
        appendUtf8(result, c);
        result += space;
    });
}

std::string withoutNonSpacingMarks(std::string_view text)
{
    return forEachCodePoint(text, [](std::string& result, char32_t c) {
        if (utf8proc_category(static_cast<utf8proc_int32_t>(c)) != UTF8PROC_CATEGORY_MN)
            appendUtf8(result, c);
    });
}

/// Source: Hugging Face tokenizers, normalizers/unicode.rs, do_nmt.
std::string nmt(std::string_view text)
{
    return forEachCodePoint(text, [](std::string& result, char32_t c) {
        if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F
            || c == 0x9F)
            return;
        const bool isSpace = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680
            || (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF
            || c == 0xFFFD;
        appendUtf8(result, isSpace ? U' ' : c);
    });
}

/// The longest output allowed. No normalization in use exceeds it: one character becomes at most eighteen.
std::size_t lengthLimit(std::size_t bytes)
{
    return (std::size_t(1) << 20) + 32 * bytes;
}

Error tooLong(std::size_t limit)
{
    return {ErrorCode::Corrupt,
            "Its normalizer lengthens the text to more than " + std::to_string(limit)
                + " bytes, which no known normalisation does."};
}

Result<std::string> replaced(const std::string& text, const TokenPattern& pattern, const std::string& by,
                             std::size_t limit)
{
    const auto matches = pattern.matches(text);
    if (!matches)
        return matches.error();
    std::string result;
    std::size_t last = 0;
    for (const TokenPattern::Match& match : *matches) {
        result.append(text, last, match.begin - last).append(by);
        last = match.end;
        if (result.size() > limit)
            return tooLong(limit);
    }
    return result.append(text, last);
}

} // namespace

Result<TokenNormalizer> TokenNormalizer::create(const std::vector<NormalizerStep>& steps)
{
    TokenNormalizer normalizer;
    for (const NormalizerStep& step : steps) {
        TokenPatternText pattern = step.pattern;
        if (step.kind == TokenNormalizerKind::Strip && (step.left || step.right))
            pattern = {true, !step.right ? "\\A\\s+" : !step.left ? "\\s+\\z" : "\\A\\s+|\\s+\\z"};
        Result<TokenPattern> compiled = TokenPattern::compile(pattern);
        if (!compiled)
            return compiled.error();
        Result<CharacterMap> map =
            CharacterMap::create(step.kind == TokenNormalizerKind::Precompiled ? step.content : "");
        if (!map)
            return map.error();
        normalizer.m_steps.push_back({step, std::move(compiled).value(), std::move(map).value()});
    }
    return normalizer;
}

Result<std::string> TokenNormalizer::normalized(std::string text) const
{
    const std::size_t limit = lengthLimit(text.size());
    for (const auto& [step, pattern, map] : m_steps) {
        Result<std::string> result = std::string();
        switch (step.kind) {
        case TokenNormalizerKind::Nfc:
        case TokenNormalizerKind::Nfd:
        case TokenNormalizerKind::Nfkc:
        case TokenNormalizerKind::Nfkd: result = inNormalForm(text, step.kind); break;
        case TokenNormalizerKind::Lowercase: result = lowercase(text); break;
        case TokenNormalizerKind::Replace: result = replaced(text, pattern, step.content, limit); break;
        case TokenNormalizerKind::Prepend:
            result = text.empty() ? std::move(text) : step.content + text;
            break;
        case TokenNormalizerKind::Strip: result = replaced(text, pattern, "", limit); break;
        case TokenNormalizerKind::StripAccents: result = withoutMarks(text); break;
        case TokenNormalizerKind::ByteLevel: result = byteLevelText(text); break;
        case TokenNormalizerKind::Nmt: result = nmt(text); break;
        case TokenNormalizerKind::Precompiled:
            result = step.byGrapheme ? map.normalizedByGrapheme(text) : map.normalized(text);
            break;
        case TokenNormalizerKind::CleanText: result = cleanText(text); break;
        case TokenNormalizerKind::SpaceIdeographs: result = withSpacedIdeographs(text); break;
        case TokenNormalizerKind::StripMarks: result = withoutNonSpacingMarks(text); break;
        }
        if (!result)
            return result.error();
        text = std::move(result).value();
        if (text.size() > limit)
            return tooLong(limit);
    }
    return text;
}

} // namespace headwise
