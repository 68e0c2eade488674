#include "core/checkpoint/gguf_value.h"

#include "core/files/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace headwise {

std::optional<nlohmann::json> ggufNumber(const GgufValue& value)
{
    if (const auto* integer = std::get_if<std::int64_t>(&value))
        return nlohmann::json(*integer);
    if (const auto* real = std::get_if<double>(&value)) {
        // The file stores floats: 1e-5 must come back as 1e-5, not as 9.99999974737875e-06.
        char shortest[64];
        const auto end = std::to_chars(shortest, shortest + sizeof shortest, static_cast<float>(*real)).ptr;
        double exact = 0;
        std::from_chars(shortest, end, exact);
        return nlohmann::json(exact);
    }
    const auto* numbers = std::get_if<std::vector<double>>(&value);
    if (!numbers || numbers->empty()
        || std::count(numbers->begin(), numbers->end(), numbers->front()) != std::ssize(*numbers))
        return std::nullopt;
    return nlohmann::json(static_cast<std::int64_t>(numbers->front()));
}

std::string ggufShown(const GgufValue& value)
{
    if (const auto* text = std::get_if<std::string>(&value))
        return jsonText(nlohmann::json(*text));
    const std::optional<nlohmann::json> number = ggufNumber(value);
    return number ? number->dump() : "a list";
}

} // namespace headwise
