#include "core/tokenizer/tokenizer_fields.h"

#include "core/files/json.h"
#include "core/tokenizer/tokenizer_file.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace headwise {

using nlohmann::json;

TokenizerFields::TokenizerFields(std::filesystem::path path)
    : m_path(std::move(path))
{
}

void TokenizerFields::fail(Error error)
{
    if (!m_error)
        m_error = std::move(error);
}

void TokenizerFields::corrupt(const std::string& what)
{
    fail({ErrorCode::Corrupt, "'" + m_path.string() + "': " + what});
}

const json& TokenizerFields::member(const json& object, const char* name) const
{
    static const json null;
    if (!object.is_object())
        return null;
    const auto found = object.find(name);
    return found == object.end() ? null : *found;
}

bool TokenizerFields::flag(const json& object, const char* name, bool otherwise)
{
    const json& value = member(object, name);
    if (value.is_boolean())
        return value.get<bool>();
    if (!value.is_null())
        corrupt("'" + std::string(name) + "' is neither true nor false.");
    return otherwise;
}

std::string TokenizerFields::text(const json& object, const char* name, std::string otherwise)
{
    const json& value = member(object, name);
    if (value.is_string())
        return value.get<std::string>();
    if (!value.is_null())
        corrupt("'" + std::string(name) + "' is not a string.");
    return otherwise;
}

int TokenizerFields::smallNumber(const json& object, const char* name)
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

int TokenizerFields::id(const json& value, std::string_view token)
{
    // Compares as double first, because an unsigned 2^64 - 1 is a negative int64.
    if (value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() < double(tokenIdLimit))
        return value.get<int>();
    corrupt("Token '" + std::string(token.substr(0, 80)) + "' has id "
            + (value.is_number() ? jsonText(value) : std::string(value.type_name()))
            + ", expected an integer from 0 to " + std::to_string(tokenIdLimit - 1) + ".");
    return 0;
}

} // namespace headwise
