#include "core/files/base64.h"

#include <openssl/evp.h>

#include <limits>

namespace headwise {

std::optional<std::string> fromBase64(std::string_view text)
{
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t last = text.find_last_not_of('=');
    const std::size_t padding = last == std::string_view::npos ? text.size() : text.size() - last - 1;
    // EVP_DecodeBlock() skips white space and accepts '=' anywhere, so both are checked here.
    if (text.size() % 4 != 0 || padding > 2 || text.size() > std::numeric_limits<int>::max()
        || text.substr(0, text.size() - padding).find_first_not_of(alphabet) != std::string_view::npos)
        return std::nullopt;
    std::string bytes(text.size() / 4 * 3, '\0');
    const int length =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (length < 0)
        return std::nullopt;
    bytes.resize(static_cast<std::size_t>(length) - padding);
    return bytes;
}

} // namespace headwise
