#include "core/tokenizer/pre_tokenizer.h"

#include "core/tokenizer/token_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace headwise {

namespace {

using PreTokenizerKind = PreTokenizerStep::Kind;

/// The pattern of GPT-2, also used by NeoX, Pythia and every file that has ByteLevel with use_regex.
/// Source: Radford et al. 2019, encoder.py.
constexpr std::string_view gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct Segment {
    std::size_t begin; // bytes
    std::size_t end;
    bool matched;
};

std::vector<Segment> segments(std::string_view text, const std::vector<TokenPattern::Match>& matches,
                              bool invert)
{
    std::vector<Segment> all;
    std::size_t last = 0;
    for (const TokenPattern::Match& match : matches) {
        if (match.begin > last)
            all.push_back({last, match.begin, invert});
        all.push_back({match.begin, match.end, !invert});
        last = match.end;
    }
    if (last < text.size())
        all.push_back({last, text.size(), invert});
    return all;
}

void mergeContiguous(std::vector<Segment>& all)
{
    std::vector<Segment> merged;
    for (const Segment& segment : all) {
        if (!merged.empty() && merged.back().matched == segment.matched)
            merged.back().end = segment.end;
        else
            merged.push_back(segment);
    }
    all = std::move(merged);
}

/// Joins each match to the segment before it, unless that is a match too.
void mergeWithPrevious(std::vector<Segment>& all)
{
    std::vector<Segment> merged;
    bool previousMatched = false;
    for (const Segment& segment : all) {
        if (segment.matched && !previousMatched && !merged.empty())
            merged.back().end = segment.end;
        else
            merged.push_back(segment);
        previousMatched = segment.matched;
    }
    all = std::move(merged);
}

/// Joins each match to the segment after it, unless that is a match too.
void mergeWithNext(std::vector<Segment>& all)
{
    std::vector<Segment> merged;
    bool nextMatched = false;
    for (auto segment = all.rbegin(); segment != all.rend(); ++segment) {
        if (segment->matched && !nextMatched && !merged.empty())
            merged.back().begin = segment->begin;
        else
            merged.push_back(*segment);
        nextMatched = segment->matched;
    }
    std::reverse(merged.begin(), merged.end());
    all = std::move(merged);
}

Result<std::vector<TextPiece>> split(const TextPiece& piece, const TokenPattern& pattern,
                                     SplitBehavior behavior, bool invert)
{
    const auto matches = pattern.matches(piece.text);
    if (!matches)
        return matches.error();
    std::vector<Segment> all = segments(piece.text, *matches, invert);
    switch (behavior) {
    case SplitBehavior::Isolated: break;
    case SplitBehavior::Removed:
        std::erase_if(all, [](const Segment& segment) { return segment.matched; });
        break;
    case SplitBehavior::MergedWithPrevious: mergeWithPrevious(all); break;
    case SplitBehavior::MergedWithNext: mergeWithNext(all); break;
    case SplitBehavior::Contiguous: mergeContiguous(all); break;
    }
    std::vector<TextPiece> pieces;
    pieces.reserve(all.size());
    for (const Segment& segment : all)
        if (segment.end > segment.begin)
            pieces.push_back({piece.text.substr(segment.begin, segment.end - segment.begin),
                              piece.startsText && segment.begin == 0});
    return pieces;
}

std::string withSpacesReplaced(std::string_view text, std::string_view by)
{
    std::string replaced;
    for (const char c : text)
        replaced.append(c == ' ' ? by : std::string_view(&c, 1));
    return replaced;
}

TokenPatternText patternOf(const PreTokenizerStep& step)
{
    switch (step.kind) {
    case PreTokenizerKind::ByteLevel: return {true, std::string(gpt2Pattern)};
    case PreTokenizerKind::Split: return step.pattern;
    case PreTokenizerKind::Metaspace: return {false, step.replacement};
    case PreTokenizerKind::Digits: return {true, "\\p{N}"};
    case PreTokenizerKind::Punctuation:
        return {true, "[\\p{P}$+<=>^`|~]"}; // and the ASCII symbols that C calls punctuation
    case PreTokenizerKind::Whitespace: return {true, "[\\w\\p{Join_Control}]+|[^\\w\\p{Join_Control}\\s]+"};
    case PreTokenizerKind::WhitespaceSplit: return {true, "\\s"};
    }
    return {};
}

} // namespace

Result<PreTokenizer> PreTokenizer::create(const std::vector<PreTokenizerStep>& steps)
{
    PreTokenizer preTokenizer;
    for (const PreTokenizerStep& step : steps) {
        Result<TokenPattern> pattern = TokenPattern::compile(patternOf(step));
        if (!pattern)
            return pattern.error();
        preTokenizer.m_steps.push_back({step, std::move(pattern).value()});
    }
    return preTokenizer;
}

Result<std::vector<TextPiece>> PreTokenizer::pieces(const Step& step, TextPiece text)
{
    const PreTokenizerStep& options = step.step;
    switch (options.kind) {
    case PreTokenizerKind::ByteLevel: {
        if (options.addPrefixSpace && !text.text.starts_with(' '))
            text.text.insert(0, " ");
        Result<std::vector<TextPiece>> result = std::vector{text};
        if (options.useRegex)
            result = split(text, step.pattern, SplitBehavior::Isolated, false);
        if (!result)
            return result;
        std::vector<TextPiece> pieces = std::move(result).value();
        for (TextPiece& piece : pieces)
            piece.text = byteLevelText(piece.text);
        return pieces;
    }
    case PreTokenizerKind::Metaspace: {
        text.text = withSpacesReplaced(text.text, options.replacement);
        const bool wanted = options.prependScheme == PrependScheme::Always
            || (options.prependScheme == PrependScheme::First && text.startsText);
        if (wanted && !text.text.starts_with(options.replacement))
            text.text.insert(0, options.replacement);
        if (!options.split)
            return std::vector{std::move(text)};
        return split(text, step.pattern, SplitBehavior::MergedWithNext, false);
    }
    case PreTokenizerKind::Split: return split(text, step.pattern, options.behavior, options.invert);
    case PreTokenizerKind::Digits:
        return split(text, step.pattern,
                     options.individualDigits ? SplitBehavior::Isolated : SplitBehavior::Contiguous, false);
    case PreTokenizerKind::Punctuation: return split(text, step.pattern, options.behavior, false);
    case PreTokenizerKind::Whitespace: return split(text, step.pattern, SplitBehavior::Removed, true);
    case PreTokenizerKind::WhitespaceSplit: return split(text, step.pattern, SplitBehavior::Removed, false);
    }
    return std::vector{std::move(text)};
}

Result<std::vector<TextPiece>> PreTokenizer::pieces(TextPiece text) const
{
    std::vector<TextPiece> current;
    if (!text.text.empty())
        current.push_back(std::move(text));
    for (const Step& step : m_steps) {
        std::vector<TextPiece> next;
        next.reserve(current.size());
        for (TextPiece& piece : current) {
            Result<std::vector<TextPiece>> parts = pieces(step, std::move(piece));
            if (!parts)
                return parts;
            for (TextPiece& part : std::move(parts).value())
                next.push_back(std::move(part));
        }
        current = std::move(next);
    }
    return current;
}

} // namespace headwise
