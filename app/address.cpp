#include "app/address.h"

#include "core/io/utf8.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace headwise::app {
namespace {

Error wrong(const std::string& what)
{
    return Error{ErrorCode::InvalidArgument, what + "; an address is MODEL#L1H5/OV?row=%20the."};
}

bool isWordCharacter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

Result<std::string> decoded(std::string_view encoded)
{
    std::string text;
    for (std::size_t i = 0; i < encoded.size(); ++i) {
        if (encoded[i] != '%') {
            text += encoded[i];
            continue;
        }
        unsigned char byte = 0;
        const char* digits = encoded.data() + i + 1;
        if (i + 2 >= encoded.size() || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
            return wrong("'" + std::string(encoded.substr(i, 3))
                         + "' is no percent and two hexadecimal digits");
        text += static_cast<char>(byte);
        i += 2;
    }
    if (firstInvalidUtf8(text))
        return wrong("'" + std::string(encoded) + "' does not stand for UTF-8");
    if (text.find('\0') != std::string::npos)
        return wrong("'" + std::string(encoded) + "' holds a zero byte");
    return text;
}

std::string encoded(std::string_view text, std::string_view kept)
{
    static constexpr std::string_view digits = "0123456789ABCDEF";
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (isWordCharacter(c) || c == '.' || c == '~' || kept.find(c) != std::string_view::npos) {
            result += c;
            continue;
        }
        result += '%';
        result += digits[byte >> 4];
        result += digits[byte & 15];
    }
    return result;
}

Result<Done> readQuery(std::string_view query, Address& address)
{
    while (!query.empty()) {
        const std::string_view part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), part.size() + 1));
        const std::size_t equals = part.find('=');
        const std::string_view name = part.substr(0, equals);
        if (equals == std::string_view::npos || (name != "row" && name != "column"))
            return wrong("'" + std::string(part) + "' is neither row=TOKEN nor column=TOKEN");
        Result<std::string> token = decoded(part.substr(equals + 1));
        if (!token)
            return token.error();
        if (token->empty())
            return wrong("'" + std::string(part) + "' names no token");
        (name == "row" ? address.row : address.column) = std::move(token).value();
    }
    return Done{};
}

Result<std::filesystem::path> readModel(std::string_view text)
{
    if (text.empty())
        return wrong("There is no model before the '#'");
    std::error_code code;
    if (std::filesystem::exists(std::filesystem::path(text), code))
        return std::filesystem::path(text);
    Result<std::string> path = decoded(text);
    if (!path)
        return path.error();
    return std::filesystem::path(std::move(path).value());
}

} // namespace

Result<Address> parseAddress(std::string_view text)
{
    const std::size_t hash = text.rfind('#');
    if (hash == std::string_view::npos)
        return wrong("'" + std::string(text) + "' names no head after a '#'");
    Address address;
    Result<std::filesystem::path> model = readModel(text.substr(0, hash));
    if (!model)
        return model.error();
    address.model = std::move(model).value();
    const std::string_view place = text.substr(hash + 1);
    const std::size_t question = place.find('?');
    const std::string_view path = place.substr(0, question);
    const std::size_t slash = path.find('/');
    const auto head = parseHeadId(path.substr(0, slash));
    if (!head)
        return wrong("'" + std::string(path.substr(0, slash)) + "' is not a head such as L1H5");
    address.head = *head;
    if (slash != std::string_view::npos) {
        address.page = path.substr(slash + 1);
        if (address.page.empty() || !std::all_of(address.page.begin(), address.page.end(), isWordCharacter))
            return wrong("'" + address.page + "' is neither OV, QK, full-OV, full-QK nor the name of a page");
    }
    if (question != std::string_view::npos)
        if (const Result<Done> read = readQuery(place.substr(question + 1), address); !read)
            return read.error();
    return address;
}

std::string addressText(const Address& address)
{
    std::string written = encoded(address.model.string(), "/-_") + '#' + headLabel(address.head);
    if (!address.page.empty())
        written += '/' + address.page;
    char separator = '?';
    for (const auto& [name, token] : {std::pair{"row=", &address.row}, std::pair{"column=", &address.column}})
        if (*token) {
            written += separator + (name + encoded(**token, "-_"));
            separator = '&';
        }
    return written;
}

} // namespace headwise::app
