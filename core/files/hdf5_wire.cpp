#include "core/files/hdf5_wire.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace headwise::hdf5 {
namespace {

constexpr std::size_t leastUnpackLimit = std::size_t(1) << 30;
constexpr std::size_t unpackRatio = 200;
constexpr std::array<std::size_t, std::variant_size_v<Hdf5Values>> valueBytes{4, 8, 4, 8, 16};

class WireWriter {
public:
    template <typename T>
    void number(T value)
    {
        m_bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void text(std::string_view text)
    {
        number(std::uint64_t(text.size()));
        m_bytes.append(text);
    }
    void texts(const std::vector<std::string>& rows)
    {
        number(std::uint64_t(rows.size()));
        for (const std::string& row : rows)
            text(row);
    }
    std::string take() { return std::move(m_bytes); }

private:
    std::string m_bytes;
};

/// Reads the output of WireWriter. After the first mismatch everything is empty and isComplete() stays false.
class WireParser {
public:
    explicit WireParser(std::string_view bytes)
        : m_rest(bytes)
    {
    }

    template <typename T>
    T number()
    {
        T value{};
        if (m_rest.size() < sizeof value) {
            fail();
            return value;
        }
        std::memcpy(&value, m_rest.data(), sizeof value);
        m_rest.remove_prefix(sizeof value);
        return value;
    }
    std::string text()
    {
        const auto size = number<std::uint64_t>();
        if (size > m_rest.size()) {
            fail();
            return {};
        }
        std::string text(m_rest.substr(0, size));
        m_rest.remove_prefix(size);
        return text;
    }
    /// Reads a number of items, each at least `least` bytes long.
    std::size_t count(std::size_t least)
    {
        const auto items = number<std::uint64_t>();
        if (items > m_rest.size() / least)
            fail();
        return m_failed ? 0 : items;
    }
    std::vector<std::string> texts()
    {
        std::vector<std::string> rows(count(sizeof(std::uint64_t)));
        for (std::string& row : rows)
            row = text();
        return rows;
    }
    /// Reads a number from 0 to end − 1.
    std::size_t below(std::size_t end)
    {
        const auto value = number<std::uint8_t>();
        if (value >= end)
            fail();
        return m_failed ? 0 : value;
    }
    bool isComplete() const { return !m_failed && m_rest.empty(); }

private:
    void fail()
    {
        m_failed = true;
        m_rest = {};
    }

    std::string_view m_rest;
    bool m_failed = false;
};

template <typename T>
std::optional<T> ifComplete(const WireParser& parser, T value)
{
    return parser.isComplete() ? std::optional<T>(std::move(value)) : std::nullopt;
}

constexpr std::array codes{ErrorCode::NotFound, ErrorCode::Unsupported, ErrorCode::Corrupt,
                           ErrorCode::OutOfMemory};

Hdf5Attribute parsedAttribute(WireParser& parser)
{
    switch (parser.below(std::variant_size_v<Hdf5Attribute>)) {
    case 0: return parser.text();
    case 1: return parser.number<double>();
    case 2: return parser.below(2) == 1;
    case 3: return parser.texts();
    default: return parser.number<std::int64_t>();
    }
}

} // namespace

std::size_t unpackLimit(std::size_t fileBytes)
{
    return std::max(leastUnpackLimit, fileBytes * unpackRatio);
}

std::string encoded(const Error& error)
{
    WireWriter writer;
    const auto code = std::find(codes.begin(), codes.end(), error.code);
    writer.number(static_cast<std::uint8_t>(code == codes.end() ? 2 : code - codes.begin()));
    writer.text(std::string_view(error.message).substr(0, mostSentenceBytes));
    return writer.take();
}

std::optional<Error> decodedError(std::string_view bytes)
{
    WireParser parser(bytes);
    const ErrorCode code = codes[parser.below(codes.size())];
    std::string message = parser.text();
    if (message.empty() || message.size() > mostSentenceBytes)
        return std::nullopt;
    return ifComplete(parser, Error{code, std::move(message)});
}

std::string encoded(bool value)
{
    WireWriter writer;
    writer.number(std::uint8_t(value));
    return writer.take();
}

std::optional<bool> decodedFlag(std::string_view bytes)
{
    WireParser parser(bytes);
    const bool value = parser.below(2) == 1;
    return ifComplete(parser, value);
}

std::string encoded(const NumbersHeader& header)
{
    WireWriter writer;
    writer.number(static_cast<std::uint8_t>(header.type));
    writer.number(static_cast<std::uint8_t>(header.shape.size()));
    for (const std::size_t size : header.shape)
        writer.number(std::uint64_t(size));
    return writer.take();
}

std::optional<NumbersHeader> decodedNumbers(std::string_view bytes)
{
    WireParser parser(bytes);
    NumbersHeader header;
    header.type = parser.below(valueBytes.size());
    header.shape.resize(parser.below(maxRank + 1));
    header.count = 1;
    for (std::size_t& size : header.shape) {
        size = parser.number<std::uint64_t>();
        if (__builtin_mul_overflow(header.count, size, &header.count))
            return std::nullopt;
    }
    if (__builtin_mul_overflow(header.count, valueBytes[header.type], &header.bytes))
        return std::nullopt;
    return ifComplete(parser, std::move(header));
}

std::string encoded(const std::vector<Hdf5Entry>& entries)
{
    WireWriter writer;
    writer.number(std::uint64_t(entries.size()));
    for (const Hdf5Entry& entry : entries) {
        writer.number(static_cast<std::uint8_t>(entry.kind));
        writer.text(entry.name);
    }
    return writer.take();
}

std::optional<std::vector<Hdf5Entry>> decodedEntries(std::string_view bytes)
{
    WireParser parser(bytes);
    std::vector<Hdf5Entry> entries(parser.count(1 + sizeof(std::uint64_t)));
    for (Hdf5Entry& entry : entries) {
        entry.kind = static_cast<Hdf5Kind>(parser.below(std::size_t(Hdf5Kind::Other) + 1));
        entry.name = parser.text();
    }
    return ifComplete(parser, std::move(entries));
}

std::string encoded(const Hdf5Attributes& attributes)
{
    WireWriter writer;
    writer.number(std::uint64_t(attributes.size()));
    for (const auto& [name, value] : attributes) {
        writer.text(name);
        writer.number(static_cast<std::uint8_t>(value.index()));
        if (const auto* text = std::get_if<std::string>(&value))
            writer.text(*text);
        else if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
            writer.texts(*texts);
        else if (const auto* number = std::get_if<double>(&value))
            writer.number(*number);
        else if (const auto* flag = std::get_if<bool>(&value))
            writer.number(std::uint8_t(*flag));
        else
            writer.number(std::get<std::int64_t>(value));
    }
    return writer.take();
}

std::optional<Hdf5Attributes> decodedAttributes(std::string_view bytes)
{
    WireParser parser(bytes);
    Hdf5Attributes attributes;
    for (std::size_t left = parser.count(2 + sizeof(std::uint64_t)); left > 0; --left) {
        std::string name = parser.text();
        Hdf5Attribute value = parsedAttribute(parser);
        attributes.emplace(std::move(name), std::move(value));
    }
    return ifComplete(parser, std::move(attributes));
}

std::string encoded(const std::vector<std::string>& rows)
{
    WireWriter writer;
    writer.texts(rows);
    return writer.take();
}

std::optional<std::vector<std::string>> decodedRows(std::string_view bytes)
{
    WireParser parser(bytes);
    std::vector<std::string> rows = parser.texts();
    return ifComplete(parser, std::move(rows));
}

std::string encodedBlock(std::string_view path, const Hdf5Block& block)
{
    std::string bytes(path.substr(0, path.find('\0')));
    bytes += '\0';
    for (std::size_t i = 0; i < block.begin.size() && i < block.extent.size(); ++i)
        for (const std::uint64_t number : {block.begin[i], block.extent[i]})
            bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    return bytes;
}

std::optional<Hdf5Block> decodedBlock(std::string_view bytes, std::string& path)
{
    const std::size_t end = bytes.find('\0');
    if (end == std::string_view::npos)
        return std::nullopt;
    path = bytes.substr(0, end);
    std::string_view rest = bytes.substr(end + 1);
    std::array<std::uint64_t, 2> pair{};
    if (rest.size() % sizeof pair != 0 || rest.size() / sizeof pair > maxRank)
        return std::nullopt;
    Hdf5Block block;
    for (; !rest.empty(); rest.remove_prefix(sizeof pair)) {
        std::memcpy(pair.data(), rest.data(), sizeof pair);
        block.begin.push_back(pair[0]);
        block.extent.push_back(pair[1]);
    }
    return block;
}

} // namespace headwise::hdf5
