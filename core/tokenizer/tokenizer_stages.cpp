#include "core/tokenizer/tokenizer_stages.h"

#include "core/files/base64.h"
#include "core/tokenizer/tokenizer_fields.h"

#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

namespace headwise {

namespace {

using nlohmann::json;

constexpr int sequenceDepthLimit = 8;

class StageReader {
public:
    explicit StageReader(TokenizerFields& fields)
        : m_fields(fields)
    {
    }

    void readNormalizer(const json& step, int depth);
    void readPreTokenizer(const json& step, int depth);
    void readDecoder(const json& step, int depth);
    void readPostProcessor(const json& step, int depth);
    TokenizerStages takeStages() { return std::move(m_stages); }

private:
    TokenPatternText pattern(const json& step, std::string_view where);
    PrependScheme prependScheme(const json& step);
    SplitBehavior behavior(const json& step);
    bool isSequence(const json& step, std::string_view stage, int depth);
    void readBertNormalizer(const json& step);
    void readCharacterMap(const json& step);
    void addBertPreTokenizer();
    void addDelimiter(const std::string& delimiter);
    void readTemplate(const json& step);
    void readPair(const json& pair, std::vector<int>& ids);

    void unknown(const std::string& stage, const std::string& type)
    {
        if (m_stages.unknownStep.empty())
            m_stages.unknownStep = stage + " '" + type + "'";
    }

    TokenizerFields& m_fields;
    TokenizerStages m_stages;
};

TokenPatternText StageReader::pattern(const json& step, std::string_view where)
{
    const json& value = m_fields.member(step, "pattern");
    if (value.is_string())
        return {false, value.get<std::string>()};
    const json& literal = m_fields.member(value, "String");
    const json& regex = m_fields.member(value, "Regex");
    if (literal.is_string())
        return {false, literal.get<std::string>()};
    if (regex.is_string())
        return {true, regex.get<std::string>()};
    m_fields.corrupt("A " + std::string(where) + " step has no pattern.");
    return {};
}

PrependScheme StageReader::prependScheme(const json& step)
{
    const std::string scheme = m_fields.text(step, "prepend_scheme");
    if (scheme == "first")
        return PrependScheme::First;
    if (scheme == "never" || (scheme.empty() && !m_fields.flag(step, "add_prefix_space", true)))
        return PrependScheme::Never;
    if (scheme != "always" && !scheme.empty())
        m_fields.corrupt("prepend_scheme '" + scheme + "' is not always, first or never.");
    return PrependScheme::Always;
}

SplitBehavior StageReader::behavior(const json& step)
{
    constexpr std::pair<std::string_view, SplitBehavior> names[] = {
        {"Isolated", SplitBehavior::Isolated},
        {"Removed", SplitBehavior::Removed},
        {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
        {"MergedWithNext", SplitBehavior::MergedWithNext},
        {"Contiguous", SplitBehavior::Contiguous},
    };
    const std::string name = m_fields.text(step, "behavior", "Isolated");
    for (const auto& [known, behavior] : names)
        if (name == known)
            return behavior;
    m_fields.corrupt("A pre-tokenizer has the unknown behavior '" + name + "'.");
    return SplitBehavior::Isolated;
}

bool StageReader::isSequence(const json& step, std::string_view stage, int depth)
{
    if (!step.is_object()) {
        m_fields.corrupt("The " + std::string(stage) + " is not an object.");
        return false;
    }
    if (m_fields.text(step, "type") != "Sequence")
        return false;
    if (depth >= sequenceDepthLimit)
        m_fields.corrupt("The " + std::string(stage) + " nests sequences too deeply.");
    return depth < sequenceDepthLimit;
}

void StageReader::readNormalizer(const json& step, int depth)
{
    using Kind = NormalizerStep::Kind;
    constexpr std::pair<std::string_view, Kind> names[] = {
        {"NFC", Kind::Nfc},
        {"NFD", Kind::Nfd},
        {"NFKC", Kind::Nfkc},
        {"NFKD", Kind::Nfkd},
        {"Lowercase", Kind::Lowercase},
        {"Replace", Kind::Replace},
        {"Prepend", Kind::Prepend},
        {"Strip", Kind::Strip},
        {"StripAccents", Kind::StripAccents},
        {"ByteLevel", Kind::ByteLevel},
        {"Nmt", Kind::Nmt},
    };
    if (step.is_null())
        return;
    if (isSequence(step, "normalizer", depth)) {
        for (const json& inner : m_fields.member(step, "normalizers"))
            readNormalizer(inner, depth + 1);
        return;
    }
    const std::string type = m_fields.text(step, "type");
    if (type == "BertNormalizer")
        return readBertNormalizer(step);
    if (type == "Precompiled")
        return readCharacterMap(step);
    for (const auto& [name, kind] : names) {
        if (type != name)
            continue;
        NormalizerStep normalizer;
        normalizer.kind = kind;
        if (kind == Kind::Replace)
            normalizer.pattern = pattern(step, "Replace");
        normalizer.content = m_fields.text(step, kind == Kind::Prepend ? "prepend" : "content");
        normalizer.left = m_fields.flag(step, "strip_left", true);
        normalizer.right = m_fields.flag(step, "strip_right", true);
        m_stages.normalizers.push_back(std::move(normalizer));
        return;
    }
    unknown("the normalizer", type);
}

void StageReader::readBertNormalizer(const json& step)
{
    using Kind = NormalizerStep::Kind;
    const bool lowercase = m_fields.flag(step, "lowercase", true);
    const auto add = [this](Kind kind) { m_stages.normalizers.emplace_back().kind = kind; };
    if (m_fields.flag(step, "clean_text", true))
        add(Kind::CleanText);
    if (m_fields.flag(step, "handle_chinese_chars", true))
        add(Kind::SpaceIdeographs);
    if (m_fields.flag(step, "strip_accents", lowercase)) {
        add(Kind::Nfd);
        add(Kind::StripMarks);
    }
    if (lowercase)
        add(Kind::Lowercase);
}

void StageReader::readCharacterMap(const json& step)
{
    NormalizerStep& normalizer = m_stages.normalizers.emplace_back();
    normalizer.kind = NormalizerStep::Kind::Precompiled;
    // Text that is not base64 is not a character map either; encoding reports that.
    const std::string text = m_fields.text(step, "precompiled_charsmap");
    normalizer.content = fromBase64(text).value_or(text);
}

/// BERT splits at white space, which is removed, and around every punctuation character.
void StageReader::addBertPreTokenizer()
{
    using Kind = PreTokenizerStep::Kind;
    for (const Kind kind : {Kind::WhitespaceSplit, Kind::Punctuation}) {
        PreTokenizerStep step;
        step.kind = kind;
        m_stages.preTokenizers.push_back(std::move(step));
    }
}

void StageReader::addDelimiter(const std::string& delimiter)
{
    PreTokenizerStep step;
    step.kind = PreTokenizerStep::Kind::Split;
    step.pattern = {false, delimiter};
    step.behavior = SplitBehavior::Removed;
    m_stages.preTokenizers.push_back(std::move(step));
}

void StageReader::readPreTokenizer(const json& step, int depth)
{
    using Kind = PreTokenizerStep::Kind;
    constexpr std::pair<std::string_view, Kind> names[] = {
        {"ByteLevel", Kind::ByteLevel},
        {"Split", Kind::Split},
        {"Metaspace", Kind::Metaspace},
        {"Digits", Kind::Digits},
        {"Punctuation", Kind::Punctuation},
        {"Whitespace", Kind::Whitespace},
        {"WhitespaceSplit", Kind::WhitespaceSplit},
    };
    if (step.is_null())
        return;
    if (isSequence(step, "pre_tokenizer", depth)) {
        for (const json& inner : m_fields.member(step, "pretokenizers"))
            readPreTokenizer(inner, depth + 1);
        return;
    }
    const std::string type = m_fields.text(step, "type");
    if (type == "BertPreTokenizer")
        return addBertPreTokenizer();
    if (type == "CharDelimiterSplit")
        return addDelimiter(m_fields.text(step, "delimiter"));
    for (const auto& [name, kind] : names) {
        if (type != name)
            continue;
        PreTokenizerStep preTokenizer;
        preTokenizer.kind = kind;
        if (kind == Kind::Split)
            preTokenizer.pattern = pattern(step, "Split");
        if (kind == Kind::Split || kind == Kind::Punctuation)
            preTokenizer.behavior = behavior(step);
        preTokenizer.invert = m_fields.flag(step, "invert", false);
        preTokenizer.useRegex = m_fields.flag(step, "use_regex", true);
        preTokenizer.individualDigits = m_fields.flag(step, "individual_digits", false);
        preTokenizer.replacement = m_fields.text(step, "replacement", "▁");
        preTokenizer.split = m_fields.flag(step, "split", true);
        if (kind == Kind::Metaspace)
            preTokenizer.prependScheme = prependScheme(step);
        else
            preTokenizer.addPrefixSpace = m_fields.flag(step, "add_prefix_space", false);
        m_stages.preTokenizers.push_back(std::move(preTokenizer));
        return;
    }
    unknown("the pre-tokenizer", type);
}

void StageReader::readDecoder(const json& step, int depth)
{
    using Kind = DecoderStep::Kind;
    constexpr std::pair<std::string_view, Kind> names[] = {
        {"ByteLevel", Kind::ByteLevel}, {"Replace", Kind::Replace},   {"ByteFallback", Kind::ByteFallback},
        {"Fuse", Kind::Fuse},           {"Strip", Kind::Strip},       {"Metaspace", Kind::Metaspace},
        {"WordPiece", Kind::WordPiece}, {"BPEDecoder", Kind::Suffix},
    };
    if (step.is_null())
        return;
    if (isSequence(step, "decoder", depth)) {
        for (const json& inner : m_fields.member(step, "decoders"))
            readDecoder(inner, depth + 1);
        return;
    }
    const std::string type = m_fields.text(step, "type");
    for (const auto& [name, kind] : names) {
        if (type != name)
            continue;
        DecoderStep decoder;
        decoder.kind = kind;
        if (kind == Kind::Replace)
            decoder.pattern = pattern(step, "Replace");
        if (kind == Kind::Metaspace)
            decoder.prependScheme = prependScheme(step);
        decoder.content = kind == Kind::WordPiece ? m_fields.text(step, "prefix", "##")
            : kind == Kind::Suffix                ? m_fields.text(step, "suffix", "</w>")
            : kind == Kind::Metaspace             ? m_fields.text(step, "replacement", "▁")
                                                  : m_fields.text(step, "content");
        decoder.start = m_fields.smallNumber(step, "start");
        decoder.stop = m_fields.smallNumber(step, "stop");
        decoder.cleanup = m_fields.flag(step, "cleanup", true);
        m_stages.decoders.push_back(std::move(decoder));
        return;
    }
}

void StageReader::readPostProcessor(const json& step, int depth)
{
    if (step.is_null())
        return;
    if (isSequence(step, "post_processor", depth)) {
        for (const json& inner : m_fields.member(step, "processors"))
            readPostProcessor(inner, depth + 1);
        return;
    }
    const std::string type = m_fields.text(step, "type");
    if (type == "TemplateProcessing")
        return readTemplate(step);
    if (type == "BertProcessing" || type == "RobertaProcessing") {
        readPair(m_fields.member(step, "cls"), m_stages.idsBefore);
        readPair(m_fields.member(step, "sep"), m_stages.idsAfter);
    } else if (type != "ByteLevel") { // ByteLevel only moves offsets
        unknown("the post-processor", type);
    }
}

void StageReader::readPair(const json& pair, std::vector<int>& ids)
{
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string())
        return m_fields.corrupt("The post_processor has no pair of token and id.");
    ids.push_back(m_fields.id(pair[1], pair[0].get<std::string>()));
}

void StageReader::readTemplate(const json& step)
{
    const json& specialTokens = m_fields.member(step, "special_tokens");
    std::vector<int> before;
    std::vector<int> after;
    bool textSeen = false;
    for (const json& part : m_fields.member(step, "single")) {
        if (!m_fields.member(part, "Sequence").is_null()) {
            textSeen = true;
            continue;
        }
        const std::string name = m_fields.text(m_fields.member(part, "SpecialToken"), "id");
        const json& ids = m_fields.member(m_fields.member(specialTokens, name.c_str()), "ids");
        if (!ids.is_array())
            return m_fields.corrupt("The post_processor names the special token '" + name
                                    + "' but does not define it.");
        for (const json& value : ids)
            (textSeen ? after : before).push_back(m_fields.id(value, name));
    }
    // Processors run in the order of the file: a later one wraps the result of an earlier one.
    m_stages.idsBefore.insert(m_stages.idsBefore.begin(), before.begin(), before.end());
    m_stages.idsAfter.insert(m_stages.idsAfter.end(), after.begin(), after.end());
}

} // namespace

TokenizerStages readTokenizerStages(const json& root, TokenizerFields& fields)
{
    StageReader reader(fields);
    reader.readNormalizer(fields.member(root, "normalizer"), 0);
    reader.readPreTokenizer(fields.member(root, "pre_tokenizer"), 0);
    reader.readDecoder(fields.member(root, "decoder"), 0);
    reader.readPostProcessor(fields.member(root, "post_processor"), 0);
    return reader.takeStages();
}

} // namespace headwise
