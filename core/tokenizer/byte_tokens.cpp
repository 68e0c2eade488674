#include "core/tokenizer/byte_tokens.h"

#include <string_view>
#include <unordered_map>

namespace headwise {

std::string byteToken(std::size_t byte)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    return std::string("<0x") + digits[byte >> 4] + digits[byte & 0xF] + '>';
}

std::vector<int> byteTokenIds(const TokenizerFile& file)
{
    std::unordered_map<std::string_view, int> found;
    for (const TokenizerFile::Entry& entry : file.vocabulary)
        if (entry.text.size() == 6 && entry.text.starts_with("<0x"))
            found.emplace(entry.text, entry.id);
    std::vector<int> ids;
    for (std::size_t byte = 0; byte < 256; ++byte) {
        const auto id = found.find(byteToken(byte));
        if (id == found.end())
            return {};
        ids.push_back(id->second);
    }
    return ids;
}

} // namespace headwise
