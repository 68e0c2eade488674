#include "core/tokenizer/tokenizer_file.h"

#include "core/files/json.h"
#include "core/tokenizer/tokenizer_fields.h"
#include "core/tokenizer/tokenizer_stages.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

namespace headwise {

namespace {

using nlohmann::json;

Result<json> readJson(const std::filesystem::path& path)
{
    const Result<std::string> text = readTextFile(path);
    if (!text)
        return text.error();
    if (text->starts_with("version https://git-lfs"))
        return Error{ErrorCode::Corrupt,
                     "File '" + path.string()
                         + "' is a Git LFS pointer, not the tokenizer itself; fetch it with 'git lfs pull'."};
    return parseJson(*text, path.string());
}

/// Recognises a vocab.json: nothing but tokens and their ids.
bool isVocabulary(const json& root)
{
    return root.is_object() && !root.empty()
        && std::all_of(root.begin(), root.end(), [](const json& value) { return value.is_number(); });
}

/// Returns the texts that a tokenizer_config.json or special_tokens_map.json names as special.
std::vector<std::string> specialTexts(const json& names)
{
    std::vector<std::string> texts;
    const auto add = [&texts](const json& token) {
        const json* text = &token;
        if (token.is_object() && token.contains("content"))
            text = &token["content"];
        if (text->is_string())
            texts.push_back(text->get<std::string>());
    };
    if (!names.is_object())
        return texts;
    for (const auto& [name, value] : names.items()) {
        if (name.ends_with("_token") && name != "add_bos_token" && name != "add_eos_token")
            add(value);
        if (name == "additional_special_tokens" && value.is_array())
            for (const json& token : value)
                add(token);
    }
    return texts;
}

/// Reads the model, the added tokens and legacy choices; tokenizer_stages.cpp reads the stages around the model.
class TokenizerFileReader {
public:
    explicit TokenizerFileReader(const std::filesystem::path& path)
        : m_fields(path)
    {
        m_file.path = path;
    }

    /// \param config tokenizer_config.json beside the file; null if there is none
    Result<TokenizerFile> read(const json& root, const json& config);
    /// \param specials the special texts of the vocabulary, apart from added tokens
    Result<TokenizerFile> readVocabulary(const json& vocabulary, const json& added, std::string_view merges,
                                         const std::vector<std::string>& specials, const json& config);

private:
    void readModel(const json& model);
    void readModelType(const json& model);
    void setUnknown(int index);
    void readVocabularyObject(const json& vocabulary);
    void readVocabularyArray(const json& vocabulary);
    void readMerges(const json& merges);
    void readMergesText(std::string_view text);
    void readAddedTokens(const json& tokens);
    void readLegacySpecialTokens(const json& config);
    void sayWhyItCannotEncode();
    std::uint32_t nextRank() const { return static_cast<std::uint32_t>(m_file.merges.size()); }
    Result<TokenizerFile> result();

    TokenizerFields m_fields;
    TokenizerFile m_file;
};

void TokenizerFileReader::readModelType(const json& model)
{
    const std::string type = m_fields.text(model, "type");
    // Very old files have no type.
    if (type == "BPE" || (type.empty() && !m_fields.member(model, "merges").is_null()))
        m_file.model = TokenizerFile::Model::Bpe;
    else if (type == "Unigram" || (type.empty() && m_fields.member(model, "vocab").is_array()))
        m_file.model = TokenizerFile::Model::Unigram;
    else if (type == "WordPiece" || (type.empty() && model.contains("max_input_chars_per_word")))
        m_file.model = TokenizerFile::Model::WordPiece;
    else if (type == "WordLevel" || type.empty())
        m_file.model = TokenizerFile::Model::WordLevel;
    else
        m_fields.fail({ErrorCode::Unsupported,
                       "'" + m_file.path.string() + "' has a model of type '" + type
                           + "', expected BPE, WordPiece, Unigram or WordLevel."});
}

void TokenizerFileReader::readModel(const json& model)
{
    if (!model.is_object())
        return m_fields.corrupt("It has no model; expected an object with a vocabulary.");
    readModelType(model);
    const json& vocabulary = m_fields.member(model, "vocab");
    if (vocabulary.is_object())
        readVocabularyObject(vocabulary);
    else if (vocabulary.is_array() && m_file.model == TokenizerFile::Model::Unigram)
        readVocabularyArray(vocabulary);
    else
        m_fields.corrupt("Its model has no vocabulary.");
    if (m_file.model == TokenizerFile::Model::Bpe)
        readMerges(m_fields.member(model, "merges"));
    if (m_fields.member(model, "unk_token").is_string())
        m_file.unknownToken = m_fields.text(model, "unk_token");
    m_file.fuseUnknown = m_fields.flag(model, "fuse_unk", false);
    m_file.byteFallback = m_fields.flag(model, "byte_fallback", false);
    m_file.ignoreMerges = m_fields.flag(model, "ignore_merges", false);
    const bool isWordPiece = m_file.model == TokenizerFile::Model::WordPiece;
    m_file.continuingPrefix = m_fields.text(model, "continuing_subword_prefix", isWordPiece ? "##" : "");
    if (const json& unknown = m_fields.member(model, "unk_id"); unknown.is_number_integer())
        setUnknown(m_fields.id(unknown, "unk_id"));
    if (isWordPiece && !m_fields.member(model, "max_input_chars_per_word").is_null())
        m_file.maxWordCharacters = m_fields.smallNumber(model, "max_input_chars_per_word");
    m_file.endOfWordSuffix = m_fields.text(model, "end_of_word_suffix");
}

/// Unigram's unk_id is an index into the vocabulary.
void TokenizerFileReader::setUnknown(int index)
{
    if (static_cast<std::size_t>(index) >= m_file.vocabulary.size())
        return m_fields.corrupt("Its unk_id is " + std::to_string(index) + ", its vocabulary has "
                                + std::to_string(m_file.vocabulary.size()) + " tokens.");
    if (m_file.model == TokenizerFile::Model::Unigram)
        m_file.unknownToken = m_file.vocabulary[static_cast<std::size_t>(index)].text;
}

void TokenizerFileReader::readVocabularyObject(const json& vocabulary)
{
    m_file.vocabulary.reserve(vocabulary.size());
    for (const auto& [token, value] : vocabulary.items())
        m_file.vocabulary.push_back({token, m_fields.id(value, token)});
}

void TokenizerFileReader::readVocabularyArray(const json& vocabulary)
{
    if (vocabulary.size() > static_cast<std::size_t>(tokenIdLimit))
        return m_fields.corrupt("Its vocabulary has " + std::to_string(vocabulary.size())
                                + " tokens, expected at most " + std::to_string(tokenIdLimit) + ".");
    m_file.vocabulary.reserve(vocabulary.size());
    for (const json& entry : vocabulary) {
        const int next = static_cast<int>(m_file.vocabulary.size());
        if (!entry.is_array() || entry.empty() || !entry[0].is_string())
            return m_fields.corrupt("Entry " + std::to_string(next)
                                    + " of its vocabulary is not [text, score].");
        if (entry.size() != 2 || !entry[1].is_number())
            return m_fields.corrupt("Entry " + std::to_string(next) + " of its vocabulary has no score.");
        m_file.vocabulary.push_back({entry[0].get<std::string>(), next, entry[1].get<double>()});
    }
}

void TokenizerFileReader::readMerges(const json& merges)
{
    if (!merges.is_array())
        return m_fields.corrupt("Its BPE model has no list of merges.");
    m_file.merges.reserve(merges.size());
    for (const json& merge : merges) {
        const std::string rank = std::to_string(m_file.merges.size());
        if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
            m_file.merges.push_back({merge[0].get<std::string>(), merge[1].get<std::string>(), nextRank()});
            continue;
        }
        const std::string both = merge.is_string() ? merge.get<std::string>() : std::string();
        const std::size_t space = both.find(' ');
        if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos)
            return m_fields.corrupt("Merge " + rank + " is not two tokens.");
        m_file.merges.push_back({both.substr(0, space), both.substr(space + 1), nextRank()});
    }
}

void TokenizerFileReader::readMergesText(std::string_view text)
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
            return m_fields.corrupt("Line '" + std::string(line.substr(0, 80))
                                    + "' of its merges.txt is not two tokens.");
        m_file.merges.push_back(
            {std::string(line.substr(0, space)), std::string(line.substr(space + 1)), nextRank()});
    }
}

void TokenizerFileReader::readAddedTokens(const json& tokens)
{
    if (tokens.is_null())
        return;
    if (!tokens.is_array())
        return m_fields.corrupt("'added_tokens' is not a list.");
    for (const json& token : tokens) {
        if (!m_fields.member(token, "content").is_string())
            return m_fields.corrupt("An added token has no content.");
        AddedToken added;
        added.content = m_fields.text(token, "content");
        added.id = m_fields.id(m_fields.member(token, "id"), added.content);
        added.special = m_fields.flag(token, "special", false);
        added.singleWord = m_fields.flag(token, "single_word", false);
        added.stripLeft = m_fields.flag(token, "lstrip", false);
        added.stripRight = m_fields.flag(token, "rstrip", false);
        added.normalized = m_fields.flag(token, "normalized", !added.special);
        m_file.addedTokens.push_back(std::move(added));
    }
}

/// Files converted from SentencePiece before post_processor existed leave the choice to tokenizer_config.json.
void TokenizerFileReader::readLegacySpecialTokens(const json& config)
{
    const auto append = [this, &config](const char* choice, const char* token, std::vector<int>& ids) {
        if (m_fields.member(config, choice) != json(true))
            return;
        const json& value = m_fields.member(config, token);
        const json& content = value.is_object() ? m_fields.member(value, "content") : value;
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
    append("add_bos_token", "bos_token", m_file.stages.idsBefore);
    append("add_eos_token", "eos_token", m_file.stages.idsAfter);
}

void TokenizerFileReader::sayWhyItCannotEncode()
{
    if (!m_file.stages.unknownStep.empty())
        m_file.cannotEncode = "'" + m_file.path.string() + "' uses " + m_file.stages.unknownStep
            + ", which this version does not have; its tokens can be shown, but text cannot be encoded: give token ids instead.";
}

Result<TokenizerFile> TokenizerFileReader::result()
{
    if (m_fields.error())
        return *m_fields.error();
    return std::move(m_file);
}

Result<TokenizerFile> TokenizerFileReader::read(const json& root, const json& config)
{
    if (!root.is_object())
        m_fields.corrupt("It is not an object; expected a tokenizer.json.");
    readModel(m_fields.member(root, "model"));
    readAddedTokens(m_fields.member(root, "added_tokens"));
    m_file.stages = readTokenizerStages(root, m_fields);
    if (m_fields.member(root, "post_processor").is_null())
        readLegacySpecialTokens(config);
    sayWhyItCannotEncode();
    return result();
}

Result<TokenizerFile> TokenizerFileReader::readVocabulary(const json& vocabulary, const json& added,
                                                          std::string_view merges,
                                                          const std::vector<std::string>& specials,
                                                          const json& config)
{
    const auto isSpecial = [&specials](const std::string& text) {
        return std::find(specials.begin(), specials.end(), text) != specials.end();
    };
    if (!vocabulary.is_object())
        m_fields.corrupt("It is not an object of tokens and ids.");
    else
        readVocabularyObject(vocabulary);
    if (!added.is_object())
        m_fields.corrupt("Its added_tokens.json is not an object of tokens and ids.");
    for (const auto& [token, value] : added.items()) {
        AddedToken addedToken;
        addedToken.content = token;
        addedToken.id = m_fields.id(value, token);
        addedToken.special = isSpecial(token);
        addedToken.normalized = !addedToken.special;
        m_file.addedTokens.push_back(std::move(addedToken));
    }
    for (const TokenizerFile::Entry& entry : m_file.vocabulary)
        if (isSpecial(entry.text))
            m_file.addedTokens.push_back(
                {.id = entry.id, .content = entry.text, .special = true, .normalized = false});
    readMergesText(merges);
    readLegacySpecialTokens(config);
    m_file.stages.preTokenizers.emplace_back();
    m_file.stages.decoders.emplace_back();
    return result();
}

} // namespace

Result<TokenizerFile> readTokenizerFile(const std::filesystem::path& tokenizerJson)
{
    const Result<json> root = readJson(tokenizerJson);
    if (!root)
        return root.error();
    if (isVocabulary(*root))
        return readVocabularyAndMerges(tokenizerJson);
    // An unreadable tokenizer_config.json is no reason to refuse the tokenizer.
    const Result<json> config = readJson(tokenizerJson.parent_path() / "tokenizer_config.json");
    static const json absent;
    return TokenizerFileReader(tokenizerJson).read(*root, config ? *config : absent);
}

Result<TokenizerFile> readVocabularyAndMerges(const std::filesystem::path& vocabularyJson)
{
    const Result<json> vocabulary = readJson(vocabularyJson);
    if (!vocabulary)
        return vocabulary.error();
    const Result<std::string> merges = readTextFile(vocabularyJson.parent_path() / "merges.txt");
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
    const std::filesystem::path folder = vocabularyJson.parent_path();
    const Result<json> config = readJson(folder / "tokenizer_config.json");
    std::vector<std::string> specials = config ? specialTexts(*config) : std::vector<std::string>();
    if (const Result<json> map = readJson(folder / "special_tokens_map.json"))
        for (std::string& text : specialTexts(*map))
            specials.push_back(std::move(text));
    if (specials.empty()) // the special token of GPT-2's tokenizer if no file names one
        specials.emplace_back("<|endoftext|>");
    return TokenizerFileReader(vocabularyJson)
        .readVocabulary(*vocabulary, added, *merges, specials, config ? *config : json::object());
}

} // namespace headwise
