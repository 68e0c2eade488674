#include "core/tokenizer/word_model.h"

#include "core/files/utf8.h"

namespace headwise {

WordModel::WordModel(const TokenizerFile& file)
    : m_inParts(file.model == TokenizerFile::Model::WordPiece)
    , m_continuingPrefix(file.continuingPrefix)
    , m_maxCharacters(file.maxWordCharacters)
{
    m_ids.reserve(file.vocabulary.size());
    for (const TokenizerFile::Entry& entry : file.vocabulary)
        m_ids.emplace(entry.text, entry.id);
    const auto unknown = file.unknownToken ? m_ids.find(*file.unknownToken) : m_ids.end();
    if (unknown != m_ids.end())
        m_unknown = unknown->second;
}

std::optional<std::vector<int>> WordModel::parts(std::string_view word) const
{
    std::vector<std::size_t> ends; // byte offsets of the character ends
    for (std::size_t position = 0; position < word.size(); ends.push_back(position))
        position += utf8StepAt(word, position).length;
    if (static_cast<std::ptrdiff_t>(ends.size()) > m_maxCharacters)
        return std::nullopt;
    std::vector<int> ids;
    for (std::size_t begin = 0, character = 0; begin < word.size();) {
        std::size_t last = ends.size();
        auto found = m_ids.end();
        for (; last > character && found == m_ids.end(); --last) {
            const std::string_view part = word.substr(begin, ends[last - 1] - begin);
            found = begin == 0 ? m_ids.find(part) : m_ids.find(m_continuingPrefix + std::string(part));
        }
        if (found == m_ids.end())
            return std::nullopt;
        ids.push_back(found->second);
        begin = ends[last];
        character = last + 1;
    }
    return ids;
}

void WordModel::encode(std::string_view word, std::vector<int>& ids) const
{
    if (m_inParts) {
        if (const auto found = parts(word))
            ids.insert(ids.end(), found->begin(), found->end());
        else if (m_unknown)
            ids.push_back(*m_unknown);
        return;
    }
    const auto found = m_ids.find(word);
    if (found != m_ids.end())
        ids.push_back(found->second);
    else if (m_unknown)
        ids.push_back(*m_unknown);
}

} // namespace headwise
