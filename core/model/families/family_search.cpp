#include "core/model/families/family.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace headwise {
namespace {

bool contains(const Names& names, std::string_view name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// A family that is known and not read. \returns why, for the end of a sentence; else ""
std::string_view whyNotRead(const nlohmann::json& config)
{
    if (const auto width = config.find("kv_lora_rank"); width != config.end() && !width->is_null())
        return "its keys and values come from a latent (kv_lora_rank), which this version reads only in deepseek_v2 and deepseek_v3";
    return {};
}

} // namespace

std::string familyName(const nlohmann::json& config)
{
    const auto type = config.find("model_type");
    const auto names = config.find("architectures");
    std::string first;
    if (names != config.end() && names->is_array() && !names->empty() && names->front().is_string())
        first = names->front().get<std::string>();
    for (const Family& family : families())
        if (contains(family.classes, first))
            return std::string(family.name);
    const std::string own = type != config.end() && type->is_string() ? type->get<std::string>() : first;
    for (const Family& family : families())
        if (contains(family.otherTypes, own))
            return std::string(family.name);
    return own;
}

namespace {

/// The row of the stack that the config asks for, by the key "stack"; the family itself without one.
Result<const Family*> stackOf(const Family& family, const nlohmann::json& config, const std::string& file)
{
    const auto asked = config.find("stack");
    if (family.whole.empty() || asked == config.end() || asked->is_null())
        return &family;
    std::string stacks;
    for (const Family& other : families()) {
        if (other.whole != family.whole)
            continue;
        if (*asked == other.stack)
            return &other;
        stacks += (stacks.empty() ? "" : ", ") + std::string(other.stack);
    }
    return Error{ErrorCode::Unsupported,
                 "'" + file + "' asks for the stack " + shownValue(*asked) + "; a "
                     + std::string(family.whole) + " model has these: " + stacks + "."};
}

} // namespace

Result<const Family*> findFamily(const nlohmann::json& config, const std::string& file)
{
    const std::string name = familyName(config);
    std::string supported = "this version reads ";
    for (const Family& family : families()) {
        if (family.code.matches ? family.code.matches(config) : family.name == name)
            return stackOf(family, config, file);
        if (!family.code.matches && (family.whole.empty() || family.name == family.whole))
            supported += std::string(family.name) + ", ";
    }
    supported +=
        "and TransformerLens' own configs (d_model, n_heads, …, no model_type), and any other decoder by a names map, headwise-names.json beside its weights";
    if (name.empty())
        return Error{
            ErrorCode::Unsupported,
            "'" + file
                + "' names no model family: it has neither 'model_type' nor any of TransformerLens' own keys; "
                + supported + "."};
    if (const std::string_view why = whyNotRead(config); !why.empty())
        return Error{ErrorCode::Unsupported,
                     "'" + file + "' describes a model of type '" + name + "': " + std::string(why) + "."};
    return Error{ErrorCode::Unsupported,
                 "'" + file + "' describes a model of type '" + name + "'; " + supported + "."};
}

} // namespace headwise
