#include "core/model/families/unknown_fields.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace headwise {
namespace {

using nlohmann::json;

/// The context of a model whose config does not state it: how far lists of offsets go in the window. No answer depends on it.
constexpr int contextStandIn = 1024;

/// The keys that state a field; the first is the usual one. Empty: the family has none.
Names keysOf(const Family& family, ConfigField field)
{
    const bool isTransformerLens = family.code.readAll != nullptr;
    switch (field) {
    case ConfigField::Activation: return isTransformerLens ? Names{"act_fn"} : family.keys.activation;
    case ConfigField::Context: return isTransformerLens ? Names{"n_ctx"} : family.keys.context;
    case ConfigField::NormEps: return isTransformerLens ? Names{"eps"} : family.keys.normEps;
    case ConfigField::Positions: return isTransformerLens ? Names{"positional_embedding_type"} : Names{};
    case ConfigField::RotaryBase:
        return isTransformerLens ? Names{"rotary_base"}
                                 : Names{"rope_theta", "rotary_emb_base", "rope_parameters"};
    }
    return {};
}

bool matters(const ModelConfig& c, ConfigField field)
{
    switch (field) {
    case ConfigField::Activation: return !c.attentionOnly || c.hasHeadTransform;
    case ConfigField::NormEps:
        return c.norm != NormKind::None || c.finalNorm != NormKind::None || c.qkNorm != NormKind::None
            || c.embeddingNorm != NormKind::None;
    case ConfigField::RotaryBase: return c.positional == Positional::Rotary;
    case ConfigField::Context:
    case ConfigField::Positions: return true;
    }
    return true;
}

bool states(const json& config, std::string_view key)
{
    const auto found = config.find(key);
    return found != config.end() && !found->is_null();
}

} // namespace

std::vector<std::string> namesOfUnknown(const std::vector<UnknownField>& fields)
{
    std::vector<std::string> names;
    for (const UnknownField& one : fields)
        names.emplace_back(configFieldName(one.field));
    return names;
}

std::vector<ConfigField> takeUnknownFields(json& config)
{
    std::vector<ConfigField> fields;
    const auto found = config.find(unknownFieldsKey);
    if (found == config.end())
        return fields;
    if (found->is_array())
        for (const json& name : *found)
            if (name.is_string())
                if (const auto field = parseConfigField(name.get_ref<const std::string&>()))
                    fields.push_back(*field);
    config.erase(found);
    return fields;
}

void settleUnknownFields(const Family& family, const std::vector<ConfigField>& fields, const json& config,
                         ModelDescription& description)
{
    ModelConfig& c = description.config;
    for (const ConfigField field : fields) {
        const Names keys = keysOf(family, field);
        const auto isStated = [&](std::string_view key) { return states(config, key); };
        if (keys.empty() || std::any_of(keys.begin(), keys.end(), isStated))
            continue;
        if (field == ConfigField::Positions) {
            c.positional = Positional::None;
            c.rotary = {};
        }
        if (c.isKnown(field) && matters(c, field))
            c.unknown.push_back({field, std::string(keys[0])});
        std::erase_if(description.assumed, [&](const AssumedKey& one) {
            return std::find(keys.begin(), keys.end(), one.key) != keys.end();
        });
    }
    if (!c.isKnown(ConfigField::Context))
        c.nCtx = contextStandIn;
}

} // namespace headwise
