#include "core/io/tokenizer_file.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace headwise {

namespace {

using nlohmann::json;

constexpr std::int64_t idLimit = 10'000'000;
constexpr std::uintmax_t fileSizeLimit = 512u * 1024u * 1024u; // bytes; the largest known file has 35 MB
constexpr int sequenceDepthLimit = 8;

Result<std::string> readText(const std::filesystem::path& path)
{
    std::error_code failure;
    if (!std::filesystem::exists(path, failure))
        return Error{ErrorCode::NotFound, "There is no file '" + path.string() + "'."};
    if (!std::filesystem::is_regular_file(path, failure))
        return Error{ErrorCode::Io, "'" + path.string() + "' is not a file."};
    const std::uintmax_t size = std::filesystem::file_size(path, failure);
    if (failure)
        return Error{ErrorCode::Io, "Cannot read '" + path.string() + "': " + failure.message() + "."};
    if (size > fileSizeLimit)
        return Error{ErrorCode::Corrupt,
                     "'" + path.string() + "' has " + std::to_string(size) + " bytes, a tokenizer at most "
                         + std::to_string(fileSizeLimit) + "."};
    std::ifstream stream(path, std::ios::binary);
    std::string text(static_cast<std::size_t>(size), '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream)
        return Error{ErrorCode::Io, "Cannot read '" + path.string() + "'."};
    return text;
}

Result<json> readJson(const std::filesystem::path& path)
{
    const Result<std::string> text = readText(path);
    if (!text)
        return text.error();
    try {
        return json::parse(*text);
    } catch (const json::parse_error& failure) {
        return Error{ErrorCode::Corrupt,
                     "'" + path.string() + "' is not valid JSON, from byte " + std::to_string(failure.byte)
                         + " on; expected a tokenizer.json."};
    }
}

/// Walks the JSON and remembers the first thing that is wrong with it.
class Reader {
public:
    explicit Reader(std::filesystem::path path) { m_file.path = std::move(path); }

    /// \param config tokenizer_config.json beside the file; null if there is none
    Result<TokenizerFile> read(const json& root, const json& config);
    Result<TokenizerFile> readVocabulary(const json& vocabulary, const json& added, std::string_view merges);

private:
    // Of a member that is absent or null: the default. Of another type: Corrupt.
    const json& member(const json& object, const char* name) const;
    bool flag(const json& object, const char* name, bool otherwise);
    std::string text(const json& object, const char* name, std::string otherwise = {});
    int smallNumber(const json& object, const char* name);
    TokenPatternText pattern(const json& step, std::string_view where);
    PrependScheme prependScheme(const json& step);
    SplitBehavior behavior(const json& step);

    void readModel(const json& model);
    void readModelType(const json& model);
    void readVocabularyObject(const json& vocabulary);
    void readVocabularyArray(const json& vocabulary);
    void readMerges(const json& merges);
    void readMergesText(std::string_view text);
    void readAddedTokens(const json& tokens);
    void readNormalizer(const json& step, int depth);
    void readPreTokenizer(const json& step, int depth);
    void readDecoder(const json& step, int depth);
    void readPostProcessor(const json& step, int depth);
    void readTemplate(const json& step);
    void readLegacySpecialTokens(const json& config);
    void readPair(const json& pair, std::vector<int>& ids);
    int id(const json& value, std::string_view token);

    void corrupt(const std::string& what);
    void cannotEncode(const std::string& what);
    bool isSequence(const json& step, std::string_view stage, int depth);
    Result<TokenizerFile> result();

    TokenizerFile m_file;
    std::optional<Error> m_error;
};

void Reader::corrupt(const std::string& what)
{
    if (!m_error)
        m_error = Error{ErrorCode::Corrupt, "'" + m_file.path.string() + "': " + what};
}

void Reader::cannotEncode(const std::string& what)
{
    if (m_file.cannotEncode.empty())
        m_file.cannotEncode = "'" + m_file.path.string() + "' " + what
            + "; its tokens can be shown, but text cannot be encoded: give token ids instead.";
}

const json& Reader::member(const json& object, const char* name) const
{
    static const json null;
    if (!object.is_object())
        return null;
    const auto found = object.find(name);
    return found == object.end() ? null : *found;
}

bool Reader::flag(const json& object, const char* name, bool otherwise)
{
    const json& value = member(object, name);
    if (value.is_boolean())
        return value.get<bool>();
    if (!value.is_null())
        corrupt("'" + std::string(name) + "' is neither true nor false.");
    return otherwise;
}

std::string Reader::text(const json& object, const char* name, std::string otherwise)
{
    const json& value = member(object, name);
    if (value.is_string())
        return value.get<std::string>();
    if (!value.is_null())
        corrupt("'" + std::string(name) + "' is not a string.");
    return otherwise;
}

int Reader::smallNumber(const json& object, const char* name)
{
    const json& value = member(object, name);
    if (value.is_null())
        return 0;
    if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > 1e6) {
        corrupt("'" + std::string(name) + "' is not a count.");
        return 0;
    }
    return value.get<int>();
}

int Reader::id(const json& value, std::string_view token)
{
    // As double first: an unsigned 2^64 - 1 is a negative int64.
    if (value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() < double(idLimit))
        return value.get<int>();
    corrupt("Token '" + std::string(token.substr(0, 80)) + "' has id "
            + (value.is_number() ? value.dump() : std::string(value.type_name()))
            + ", expected an integer from 0 to " + std::to_string(idLimit - 1) + ".");
    return 0;
}

TokenPatternText Reader::pattern(const json& step, std::string_view where)
{
    const json& value = member(step, "pattern");
    if (value.is_string())
        return {false, value.get<std::string>()};
    const json& literal = member(value, "String");
    const json& regex = member(value, "Regex");
    if (literal.is_string())
        return {false, literal.get<std::string>()};
    if (regex.is_string())
        return {true, regex.get<std::string>()};
    corrupt("A " + std::string(where) + " step has no pattern.");
    return {};
}

PrependScheme Reader::prependScheme(const json& step)
{
    const std::string scheme = text(step, "prepend_scheme");
    if (scheme == "first")
        return PrependScheme::First;
    if (scheme == "never" || (scheme.empty() && !flag(step, "add_prefix_space", true)))
        return PrependScheme::Never;
    if (scheme != "always" && !scheme.empty())
        corrupt("prepend_scheme '" + scheme + "' is none of always, first, never.");
    return PrependScheme::Always;
}

SplitBehavior Reader::behavior(const json& step)
{
    constexpr std::pair<std::string_view, SplitBehavior> names[] = {
        {"Isolated", SplitBehavior::Isolated},
        {"Removed", SplitBehavior::Removed},
        {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
        {"MergedWithNext", SplitBehavior::MergedWithNext},
        {"Contiguous", SplitBehavior::Contiguous},
    };
    const std::string name = text(step, "behavior", "Isolated");
    for (const auto& [known, behavior] : names)
        if (name == known)
            return behavior;
    corrupt("A pre-tokenizer has the unknown behavior '" + name + "'.");
    return SplitBehavior::Isolated;
}

bool Reader::isSequence(const json& step, std::string_view stage, int depth)
{
    if (!step.is_object()) {
        corrupt("The " + std::string(stage) + " is not an object.");
        return false;
    }
    if (text(step, "type") != "Sequence")
        return false;
    if (depth >= sequenceDepthLimit)
        corrupt("The " + std::string(stage) + " nests sequences too deeply.");
    return depth < sequenceDepthLimit;
}

// --- model -------------------------------------------------------------------------------------------------

void Reader::readModelType(const json& model)
{
    const std::string type = text(model, "type");
    // Very old files carry no type.
    if (type == "BPE" || (type.empty() && !member(model, "merges").is_null()))
        m_file.model = TokenizerFile::Model::Bpe;
    else if (type == "Unigram" || (type.empty() && member(model, "vocab").is_array()))
        m_file.model = TokenizerFile::Model::Unigram;
    else if (type == "WordPiece" || (type.empty() && model.contains("max_input_chars_per_word")))
        m_file.model = TokenizerFile::Model::WordPiece;
    else if (type == "WordLevel" || type.empty())
        m_file.model = TokenizerFile::Model::WordLevel;
    else if (!m_error)
        m_error = Error{ErrorCode::Unsupported,
                        "'" + m_file.path.string() + "' has a model of type '" + type
                            + "', expected BPE, WordPiece, Unigram or WordLevel."};
    if (m_file.model != TokenizerFile::Model::Bpe)
        cannotEncode("is not a BPE tokenizer");
}

void Reader::readModel(const json& model)
{
    if (!model.is_object())
        return corrupt("It has no model; expected an object with a vocabulary.");
    readModelType(model);
    const json& vocabulary = member(model, "vocab");
    if (vocabulary.is_object())
        readVocabularyObject(vocabulary);
    else if (vocabulary.is_array() && m_file.model == TokenizerFile::Model::Unigram)
        readVocabularyArray(vocabulary);
    else
        corrupt("Its model has no vocabulary.");
    if (m_file.model == TokenizerFile::Model::Bpe)
        readMerges(member(model, "merges"));
    if (member(model, "unk_token").is_string())
        m_file.unknownToken = text(model, "unk_token");
    m_file.fuseUnknown = flag(model, "fuse_unk", false);
    m_file.byteFallback = flag(model, "byte_fallback", false);
    m_file.ignoreMerges = flag(model, "ignore_merges", false);
    m_file.continuingPrefix = text(model, "continuing_subword_prefix");
    m_file.endOfWordSuffix = text(model, "end_of_word_suffix");
}

void Reader::readVocabularyObject(const json& vocabulary)
{
    m_file.vocabulary.reserve(vocabulary.size());
    for (const auto& [token, value] : vocabulary.items())
        m_file.vocabulary.push_back({token, id(value, token)});
}

void Reader::readVocabularyArray(const json& vocabulary)
{
    if (vocabulary.size() > static_cast<std::size_t>(idLimit))
        return corrupt("Its vocabulary has " + std::to_string(vocabulary.size())
                       + " tokens, expected at most " + std::to_string(idLimit) + ".");
    m_file.vocabulary.reserve(vocabulary.size());
    for (const json& entry : vocabulary) {
        const int next = static_cast<int>(m_file.vocabulary.size());
        if (!entry.is_array() || entry.empty() || !entry[0].is_string())
            return corrupt("Entry " + std::to_string(next) + " of its vocabulary is not [text, score].");
        m_file.vocabulary.push_back({entry[0].get<std::string>(), next});
    }
}

void Reader::readMerges(const json& merges)
{
    if (!merges.is_array())
        return corrupt("Its BPE model has no list of merges.");
    m_file.merges.reserve(merges.size());
    for (const json& merge : merges) {
        const std::string rank = std::to_string(m_file.merges.size());
        if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
            m_file.merges.push_back({merge[0].get<std::string>(), merge[1].get<std::string>()});
            continue;
        }
        const std::string both = merge.is_string() ? merge.get<std::string>() : std::string();
        const std::size_t space = both.find(' ');
        if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos)
            return corrupt("Merge " + rank + " is not two tokens.");
        m_file.merges.push_back({both.substr(0, space), both.substr(space + 1)});
    }
}

void Reader::readMergesText(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        if (!line.empty() && line.back() == '\r')
            line.remove_suffix(1);
        if (line.empty() || line.starts_with("#version"))
            continue;
        const std::size_t space = line.find(' ');
        if (space == std::string_view::npos)
            return corrupt("Line '" + std::string(line.substr(0, 80))
                           + "' of its merges.txt is not two tokens.");
        m_file.merges.push_back({std::string(line.substr(0, space)), std::string(line.substr(space + 1))});
    }
}

void Reader::readAddedTokens(const json& tokens)
{
    if (tokens.is_null())
        return;
    if (!tokens.is_array())
        return corrupt("'added_tokens' is not a list.");
    for (const json& token : tokens) {
        if (!member(token, "content").is_string())
            return corrupt("An added token has no content.");
        AddedToken added;
        added.content = text(token, "content");
        added.id = id(member(token, "id"), added.content);
        added.special = flag(token, "special", false);
        added.singleWord = flag(token, "single_word", false);
        added.stripLeft = flag(token, "lstrip", false);
        added.stripRight = flag(token, "rstrip", false);
        added.normalized = flag(token, "normalized", !added.special);
        m_file.addedTokens.push_back(std::move(added));
    }
}

// --- stages ------------------------------------------------------------------------------------------------

void Reader::readNormalizer(const json& step, int depth)
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
    };
    if (step.is_null())
        return;
    if (isSequence(step, "normalizer", depth)) {
        for (const json& inner : member(step, "normalizers"))
            readNormalizer(inner, depth + 1);
        return;
    }
    const std::string type = text(step, "type");
    for (const auto& [name, kind] : names) {
        if (type != name)
            continue;
        NormalizerStep normalizer;
        normalizer.kind = kind;
        if (kind == Kind::Replace)
            normalizer.pattern = pattern(step, "Replace");
        normalizer.content = text(step, kind == Kind::Prepend ? "prepend" : "content");
        normalizer.left = flag(step, "strip_left", true);
        normalizer.right = flag(step, "strip_right", true);
        m_file.normalizers.push_back(std::move(normalizer));
        return;
    }
    cannotEncode("uses the normalizer '" + type + "', which this version does not have");
}

void Reader::readPreTokenizer(const json& step, int depth)
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
        for (const json& inner : member(step, "pretokenizers"))
            readPreTokenizer(inner, depth + 1);
        return;
    }
    const std::string type = text(step, "type");
    for (const auto& [name, kind] : names) {
        if (type != name)
            continue;
        PreTokenizerStep preTokenizer;
        preTokenizer.kind = kind;
        if (kind == Kind::Split)
            preTokenizer.pattern = pattern(step, "Split");
        if (kind == Kind::Split || kind == Kind::Punctuation)
            preTokenizer.behavior = behavior(step);
        preTokenizer.invert = flag(step, "invert", false);
        preTokenizer.useRegex = flag(step, "use_regex", true);
        preTokenizer.individualDigits = flag(step, "individual_digits", false);
        preTokenizer.replacement = text(step, "replacement", "▁");
        preTokenizer.split = flag(step, "split", true);
        if (kind == Kind::Metaspace)
            preTokenizer.prependScheme = prependScheme(step);
        else
            preTokenizer.addPrefixSpace = flag(step, "add_prefix_space", false);
        m_file.preTokenizers.push_back(std::move(preTokenizer));
        return;
    }
    cannotEncode("uses the pre-tokenizer '" + type + "', which this version does not have");
}

void Reader::readDecoder(const json& step, int depth)
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
        for (const json& inner : member(step, "decoders"))
            readDecoder(inner, depth + 1);
        return;
    }
    const std::string type = text(step, "type");
    for (const auto& [name, kind] : names) {
        if (type != name)
            continue;
        DecoderStep decoder;
        decoder.kind = kind;
        if (kind == Kind::Replace)
            decoder.pattern = pattern(step, "Replace");
        if (kind == Kind::Metaspace)
            decoder.prependScheme = prependScheme(step);
        decoder.content = kind == Kind::WordPiece ? text(step, "prefix", "##")
            : kind == Kind::Suffix                ? text(step, "suffix", "</w>")
            : kind == Kind::Metaspace             ? text(step, "replacement", "▁")
                                                  : text(step, "content");
        decoder.start = smallNumber(step, "start");
        decoder.stop = smallNumber(step, "stop");
        decoder.cleanup = flag(step, "cleanup", true);
        m_file.decoders.push_back(std::move(decoder));
        return;
    }
}

void Reader::readPostProcessor(const json& step, int depth)
{
    if (step.is_null())
        return;
    if (isSequence(step, "post_processor", depth)) {
        for (const json& inner : member(step, "processors"))
            readPostProcessor(inner, depth + 1);
        return;
    }
    const std::string type = text(step, "type");
    if (type == "TemplateProcessing")
        return readTemplate(step);
    if (type == "BertProcessing" || type == "RobertaProcessing") {
        readPair(member(step, "cls"), m_file.idsBefore);
        readPair(member(step, "sep"), m_file.idsAfter);
    } else if (type != "ByteLevel") { // which only moves offsets
        cannotEncode("uses the post-processor '" + type + "', which this version does not have");
    }
}

void Reader::readPair(const json& pair, std::vector<int>& ids)
{
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string())
        return corrupt("The post_processor has no pair of token and id.");
    ids.push_back(id(pair[1], pair[0].get<std::string>()));
}

void Reader::readTemplate(const json& step)
{
    const json& specialTokens = member(step, "special_tokens");
    std::vector<int> before;
    std::vector<int> after;
    bool textSeen = false;
    for (const json& part : member(step, "single")) {
        if (!member(part, "Sequence").is_null()) {
            textSeen = true;
            continue;
        }
        const std::string name = text(member(part, "SpecialToken"), "id");
        const json& ids = member(member(specialTokens, name.c_str()), "ids");
        if (!ids.is_array())
            return corrupt("The post_processor names the special token '" + name
                           + "' and does not define it.");
        for (const json& value : ids)
            (textSeen ? after : before).push_back(id(value, name));
    }
    // Processors run in the order of the file: a later one goes around what an earlier one has made.
    m_file.idsBefore.insert(m_file.idsBefore.begin(), before.begin(), before.end());
    m_file.idsAfter.insert(m_file.idsAfter.end(), after.begin(), after.end());
}

/// Files converted from SentencePiece before they had a post_processor leave the choice to tokenizer_config.json.
void Reader::readLegacySpecialTokens(const json& config)
{
    const auto append = [this, &config](const char* choice, const char* token, std::vector<int>& ids) {
        if (member(config, choice) != json(true))
            return;
        const json& value = member(config, token);
        const json& content = value.is_object() ? member(value, "content") : value;
        if (!content.is_string())
            return;
        const std::string& text = content.get_ref<const std::string&>();
        for (const AddedToken& added : m_file.addedTokens)
            if (added.content == text)
                return ids.push_back(added.id);
        for (const TokenizerFile::Entry& entry : m_file.vocabulary)
            if (entry.text == text)
                return ids.push_back(entry.id);
    };
    append("add_bos_token", "bos_token", m_file.idsBefore);
    append("add_eos_token", "eos_token", m_file.idsAfter);
}

// --- whole files -------------------------------------------------------------------------------------------

Result<TokenizerFile> Reader::result()
{
    if (m_error)
        return *m_error;
    return std::move(m_file);
}

Result<TokenizerFile> Reader::read(const json& root, const json& config)
{
    if (!root.is_object())
        corrupt("It is not an object; expected a tokenizer.json.");
    readModel(member(root, "model"));
    readAddedTokens(member(root, "added_tokens"));
    readNormalizer(member(root, "normalizer"), 0);
    readPreTokenizer(member(root, "pre_tokenizer"), 0);
    readDecoder(member(root, "decoder"), 0);
    readPostProcessor(member(root, "post_processor"), 0);
    if (member(root, "post_processor").is_null())
        readLegacySpecialTokens(config);
    return result();
}

Result<TokenizerFile> Reader::readVocabulary(const json& vocabulary, const json& added,
                                             std::string_view merges)
{
    if (!vocabulary.is_object())
        corrupt("It is not an object of tokens and ids.");
    else
        readVocabularyObject(vocabulary);
    if (!added.is_object())
        corrupt("Its added_tokens.json is not an object of tokens and ids.");
    for (const auto& [token, value] : added.items()) {
        AddedToken addedToken;
        addedToken.content = token;
        addedToken.id = id(value, token);
        m_file.addedTokens.push_back(std::move(addedToken));
    }
    readMergesText(merges);
    m_file.preTokenizers.emplace_back();
    m_file.decoders.emplace_back();
    return result();
}

} // namespace

Result<TokenizerFile> readTokenizerFile(const std::filesystem::path& tokenizerJson)
{
    const Result<json> root = readJson(tokenizerJson);
    if (!root)
        return root.error();
    // A tokenizer_config.json that cannot be read is no reason to refuse the tokenizer.
    const Result<json> config = readJson(tokenizerJson.parent_path() / "tokenizer_config.json");
    static const json none;
    return Reader(tokenizerJson).read(*root, config ? *config : none);
}

Result<TokenizerFile> readVocabularyAndMerges(const std::filesystem::path& vocabularyJson)
{
    const Result<json> vocabulary = readJson(vocabularyJson);
    if (!vocabulary)
        return vocabulary.error();
    const Result<std::string> merges = readText(vocabularyJson.parent_path() / "merges.txt");
    if (!merges)
        return merges.error();
    json added = json::object();
    const std::filesystem::path addedPath = vocabularyJson.parent_path() / "added_tokens.json";
    std::error_code failure;
    if (std::filesystem::exists(addedPath, failure)) {
        Result<json> read = readJson(addedPath);
        if (!read)
            return read.error();
        added = std::move(read).value();
    }
    return Reader(vocabularyJson).readVocabulary(*vocabulary, added, *merges);
}

} // namespace headwise
