#include "core/model/adapters/adapter_config.h"

#include "core/files/json.h"
#include "core/model/config_reader.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <optional>

namespace headwise {
namespace {

using nlohmann::json;

/// Keys that say how the adapter was trained or made, or where its tensors go, which their names say too.
constexpr std::array<std::string_view, 19> withoutEffect = {
    "auto_mapping",   "peft_version",        "task_type",      "inference_mode",     "lora_dropout",
    "target_modules", "exclude_modules",     "layers_pattern", "loftq_config",       "eva_config",
    "corda_config",   "megatron_config",     "megatron_core",  "runtime_config",     "qalora_group_size",
    "lora_ga_config", "layers_to_transform", "parent_library", "ensure_weight_tying"};

/// The module's name of a pattern without its regular expression: a leading ^ and escaped dots mean what they say anyway.
std::optional<std::string> plainPattern(std::string_view pattern)
{
    std::string plain;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '^' && i == 0)
            continue;
        if (c == '\\' && i + 1 < pattern.size() && pattern[i + 1] == '.')
            continue;
        if (std::string_view("\\^$*+?()[]{}|").find(c) != std::string_view::npos)
            return std::nullopt;
        plain += c;
    }
    return plain;
}

/// Reads rank_pattern or alpha_pattern.
std::map<std::string, double> patternsIn(ConfigReader& reader, const json& config, std::string_view key,
                                         double least)
{
    std::map<std::string, double> patterns;
    reader.ignore(std::span(&key, 1));
    const auto found = config.find(key);
    if (found == config.end() || found->is_null())
        return patterns;
    const std::string quoted = "'" + std::string(key) + "'";
    if (!found->is_object()) {
        reader.contradiction(quoted + " is " + shownValue(*found) + ", expected numbers by module");
        return patterns;
    }
    for (const auto& [pattern, value] : found->items()) {
        const std::optional<std::string> plain = plainPattern(pattern);
        const double number = value.is_number() ? value.get<double>() : -1;
        if (!plain)
            reader.refuse(key, "its pattern " + shownValue(json(pattern)) + " is a regular expression");
        else if (!std::isfinite(number) || number < least)
            reader.contradiction(quoted + " of " + shownValue(json(pattern)) + " is " + shownValue(value)
                                 + ", expected a number above 0");
        else
            patterns.emplace(*plain, number);
    }
    return patterns;
}

bool isEmptyValue(const json& value)
{
    return value.is_null() || value == false || (value.is_structured() && value.empty())
        || (value.is_string() && value.get_ref<const std::string&>().empty());
}

/// Refuses what changes more than the matrices named by target_modules, or changes them in another way.
void refuseOthers(ConfigReader& reader, const json& config)
{
    struct Row {
        std::string_view key, reason;
    };
    static constexpr std::array<Row, 8> rows{
        {{"modules_to_save", "whole modules are replaced"},
         {"trainable_token_indices", "rows of the embedding are replaced"},
         {"layer_replication", "layers are repeated"},
         {"target_parameters", "parameters outside of linear layers are changed"},
         {"lora_bias", "biases are changed"},
         {"use_qalora", "the inputs are pooled"},
         {"use_bdlora", "the matrices are block diagonal"},
         {"alora_invocation_tokens", "the change depends on the prompt"}}};
    for (const Row& row : rows) {
        reader.ignore(std::span(&row.key, 1));
        const auto found = config.find(row.key);
        if (found != config.end() && !isEmptyValue(*found))
            reader.refuse(row.key, row.reason);
    }
    reader.onlySupports("bias", {"\"none\""});
    // The others (PiSSA, OLoRA, CorDA, LoftQ, LoRA-GA) take the product at the start of training out of the base.
    reader.onlySupports("init_lora_weights", {"true", "false", "\"gaussian\"", "\"eva\"", "\"orthogonal\""});
}

double numberFor(const std::map<std::string, double>& patterns, std::string_view module, double standard)
{
    for (const auto& [pattern, number] : patterns)
        if (module == pattern || module.ends_with("." + pattern))
            return number;
    return standard;
}

} // namespace

int AdapterConfig::rankOf(std::string_view module) const
{
    return static_cast<int>(numberFor(ranks, module, rank));
}

double AdapterConfig::scaleOf(std::string_view module) const
{
    const double divisor = rankOf(module);
    return numberFor(alphas, module, alpha) / (isRankStabilised ? std::sqrt(divisor) : divisor);
}

Result<AdapterConfig> readAdapterConfig(std::string_view text, std::string_view file)
{
    const Result<json> parsed = parseJson(text, file);
    if (!parsed)
        return parsed.error();
    const json& config = *parsed;
    const std::string quoted = "'" + std::string(file) + "'";
    if (!config.is_object())
        return Error{ErrorCode::Corrupt, quoted + " holds no JSON object; download it again."};
    const auto type = config.find("peft_type");
    if (type == config.end() || *type != "LORA")
        return Error{ErrorCode::Unsupported,
                     "In " + quoted + ", 'peft_type' is "
                         + (type == config.end() ? "missing" : shownValue(*type))
                         + ", but this version reads only LoRA adapters (\"LORA\": LoRA, rsLoRA, DoRA)."};
    ConfigReader reader(config, file);
    AdapterConfig adapter;
    reader.ignore(withoutEffect);
    reader.text({"peft_type"}, "");
    adapter.rank = reader.size({"r"}, 8);
    adapter.alpha = reader.number({"lora_alpha"}, 8);
    adapter.isRankStabilised = reader.flag({"use_rslora"}, false);
    adapter.isDora = reader.flag({"use_dora"}, false);
    adapter.isTransposed = reader.flag({"fan_in_fan_out"}, false);
    constexpr double leastAlpha = 1e-30;
    adapter.ranks = patternsIn(reader, config, "rank_pattern", 1);
    adapter.alphas = patternsIn(reader, config, "alpha_pattern", leastAlpha);
    for (auto& [pattern, rank] : adapter.ranks)
        if (rank != std::floor(rank) || rank > 1e9)
            reader.contradiction("'rank_pattern' of " + shownValue(json(pattern)) + " is "
                                 + shownValue(json(rank)) + ", expected a whole number of at least 1");
    adapter.base = reader.text({"base_model_name_or_path"}, "");
    adapter.revision = reader.text({"revision"}, "");
    refuseOthers(reader, config);
    Result<std::vector<std::string>> warnings = reader.finish();
    if (!warnings)
        return warnings.error();
    adapter.warnings = *std::move(warnings);
    return adapter;
}

} // namespace headwise
