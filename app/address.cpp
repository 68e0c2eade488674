#include "app/address.h"

#include "core/files/utf8.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace headwise::app {
namespace {

Error addressWrong(const std::string& what)
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
            return addressWrong("'" + std::string(encoded.substr(i, 3))
                                + "' is not a percent sign and two hexadecimal digits");
        text += static_cast<char>(byte);
        i += 2;
    }
    if (firstInvalidUtf8(text))
        return addressWrong("'" + std::string(encoded) + "' does not decode to UTF-8");
    if (text.find('\0') != std::string::npos)
        return addressWrong("'" + std::string(encoded) + "' holds a zero byte");
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

Result<Address::Direction> readDirection(std::string_view text)
{
    Address::Direction direction{.isQk = text.starts_with("qk.")};
    const char* end = text.data() + text.size();
    const bool isNamed = direction.isQk || text.starts_with("ov.");
    const auto [stop, wrong] =
        isNamed ? std::from_chars(text.data() + 3, end, direction.number) : std::from_chars_result{end, {}};
    if (!isNamed || wrong != std::errc() || stop != end || direction.number < 1)
        return addressWrong("'" + std::string(text) + "' is not a singular direction such as ov.3");
    return direction;
}

/// Reads one NAME=VALUE.
Result<Done> readPart(std::string_view name, const std::string& value, Address& address)
{
    if (name == "row")
        address.row = value;
    else if (name == "column")
        address.column = value;
    else if (name == "reference") {
        address.reference = parseHeadId(value);
        if (!address.reference)
            return addressWrong("'" + value + "' is not a head such as L1H5");
    } else if (name == "analysis")
        address.analysis = value;
    else if (name == "stack")
        address.stack = value;
    else {
        const Result<Address::Direction> direction = readDirection(value);
        if (!direction)
            return direction.error();
        address.direction = *direction;
    }
    return Done{};
}

Result<Done> readQuery(std::string_view query, Address& address)
{
    constexpr std::array<std::string_view, 6> names{"row",      "column",    "reference",
                                                    "analysis", "direction", "stack"};
    while (!query.empty()) {
        const std::string_view part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), part.size() + 1));
        const std::size_t equals = part.find('=');
        const std::string_view name = part.substr(0, equals);
        if (equals == std::string_view::npos || std::find(names.begin(), names.end(), name) == names.end())
            return addressWrong(
                "'" + std::string(part)
                + "' is neither row=TOKEN, column=TOKEN, reference=HEAD, analysis=ID, direction=ov.N nor stack=NAME");
        const Result<std::string> value = decoded(part.substr(equals + 1));
        if (!value)
            return value.error();
        if (value->empty())
            return addressWrong("'" + std::string(part) + "' names no "
                                + (name == "row" || name == "column" ? "token" : std::string(name)));
        if (const Result<Done> read = readPart(name, *value, address); !read)
            return read.error();
    }
    return Done{};
}

Result<std::filesystem::path> readModel(std::string_view text)
{
    if (text.empty())
        return addressWrong("There is no model before the '#'");
    if (text.find('\0') != std::string_view::npos)
        return addressWrong("The model before the '#' holds a zero byte");
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
        return addressWrong("'" + std::string(text) + "' names no head after a '#'");
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
        return addressWrong("'" + std::string(path.substr(0, slash)) + "' is not a head such as L1H5");
    address.head = *head;
    if (slash != std::string_view::npos) {
        address.page = path.substr(slash + 1);
        if (address.page.empty() || !std::all_of(address.page.begin(), address.page.end(), isWordCharacter))
            return addressWrong("'" + address.page
                                + "' is neither OV, QK, full-OV, full-QK nor the name of a page");
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
    const auto add = [&](std::string_view name, const std::string& value) {
        written += separator;
        written += name;
        written += encoded(value, "-_");
        separator = '&';
    };
    if (address.row)
        add("row=", *address.row);
    if (address.column)
        add("column=", *address.column);
    if (address.reference)
        add("reference=", headLabel(*address.reference));
    if (address.analysis)
        add("analysis=", *address.analysis);
    if (address.direction)
        add("direction=",
            (address.direction->isQk ? "qk." : "ov.") + std::to_string(address.direction->number));
    if (address.stack)
        add("stack=", *address.stack);
    return written;
}

} // namespace headwise::app
