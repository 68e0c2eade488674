#include "core/analysis/comparison/newer_model.h"

#include "core/model/adapters/adapter.h"
#include "core/model/model_card.h"

#include <system_error>

namespace headwise {
namespace {

constexpr const char* newerBase = "model_b_adapter_base";
constexpr const char* newerStrength = "model_b_adapter_scale";

} // namespace

std::map<std::string, AttributeValue> attributesOfNewer(const ModelWeights& newer, const ModelSource& source)
{
    const ModelCard card = modelCard(newer);
    std::map<std::string, AttributeValue> attributes{{"model_b_name", card.name},
                                                     {"model_b_architecture", card.architecture},
                                                     {"model_b_source", card.source},
                                                     {"model_b_sha256", card.sha256}};
    if (const auto apart = takeAdapterApart(source); apart && apart->adapter) {
        std::error_code code;
        attributes[newerBase] = std::filesystem::absolute(apart->base.path, code).lexically_normal().string();
        attributes[newerStrength] = apart->strength;
    }
    return attributes;
}

std::optional<ModelSource> sourceOfNewer(const ResultSet& results)
{
    const auto group = results.groupAttributes.find("comparison");
    if (group == results.groupAttributes.end())
        return std::nullopt;
    const auto find = [&](const char* name) -> const AttributeValue* {
        const auto found = group->second.find(name);
        return found == group->second.end() ? nullptr : &found->second;
    };
    const auto text = [&](const char* name) {
        const AttributeValue* value = find(name);
        return value ? std::get_if<std::string>(value) : nullptr;
    };
    const std::string* path = text("model_b_source");
    if (!path)
        return std::nullopt;
    ModelSource source{*path, std::nullopt, {}};
    std::error_code code;
    if (const std::string* base = text(newerBase); base && std::filesystem::exists(*base, code))
        source.base = *base;
    if (const AttributeValue* value = find(newerStrength))
        if (const auto* strength = std::get_if<double>(value))
            source.adapterStrength = *strength;
    return source;
}

} // namespace headwise
