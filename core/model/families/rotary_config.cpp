#include "core/model/families/rotary_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace headwise {
namespace {

using nlohmann::json;
using Kind = RotaryScaling::Kind;

/// The numbers of one rope object; a value of another kind is a fault of the config.
class RopeObject {
public:
    RopeObject(const json& object, std::string_view name, ConfigReader& reader)
        : m_object(object)
        , m_name(name)
        , m_reader(reader)
    {
    }

    const std::string& name() const { return m_name; }

    /// Returns "linear", "yarn", …; both keys are in use, and null counts as absent. Nothing if there is no such string.
    std::optional<std::string> type() const
    {
        for (const char* key : {"rope_type", "type"}) {
            if (!has(key))
                continue;
            if (m_object[key].is_string())
                return m_object[key].get<std::string>();
            m_reader.refuse(m_name, "'" + std::string(key) + "' is not the name of a scaling");
            return std::nullopt;
        }
        return "default";
    }

    bool has(const char* key) const { return m_object.contains(key) && !m_object[key].is_null(); }

    double number(const char* key, std::optional<double> standard)
    {
        if (!has(key)) {
            if (!standard)
                fault("has no '" + std::string(key) + "'");
            return standard.value_or(1);
        }
        const json& value = m_object[key];
        if (!isFactor(value)) {
            fault("has '" + std::string(key) + "' = " + shownValue(value) + ", expected a positive number");
            return standard.value_or(1);
        }
        return value.get<double>();
    }

    bool flag(const char* key, bool standard)
    {
        if (!has(key))
            return standard;
        if (!m_object[key].is_boolean())
            fault("has '" + std::string(key) + "' = " + shownValue(m_object[key])
                  + ", expected true or false");
        return m_object[key] == true;
    }

    std::vector<double> numbers(const char* key, int count)
    {
        std::vector<double> out;
        if (has(key) && m_object[key].is_array())
            for (const json& value : m_object[key])
                if (isFactor(value))
                    out.push_back(value.get<double>());
        if (static_cast<int>(out.size()) != count) {
            fault("needs '" + std::string(key) + "' as a list of " + std::to_string(count)
                  + " positive numbers");
            out.clear(); // The count is of a config that is refused.
        }
        return out;
    }

private:
    static bool isFactor(const json& value)
    {
        return value.is_number() && value.get<double>() > 0 && std::isfinite(value.get<double>());
    }

    void fault(const std::string& what) { m_reader.contradiction("'" + m_name + "' " + what); }

    const json& m_object;
    std::string m_name;
    ConfigReader& m_reader;
};

RotaryScaling readLongRope(ModelConfig& config, int dim, RopeObject& object,
                           std::optional<int> topLevelContext, ConfigReader& reader)
{
    RotaryScaling scaling{};
    scaling.kind = Kind::Divisors;
    const double original =
        object.number("original_max_position_embeddings",
                      topLevelContext ? std::optional<double>(*topLevelContext) : std::optional<double>());
    if (!(original >= 2))
        reader.contradiction("'" + object.name() + "' has an original context of " + shownValue(original)
                             + " positions, expected at least 2");
    const double ratio = object.number("factor", config.nCtx / original);
    const double standard =
        ratio > 1 && original >= 2 ? std::sqrt(1 + std::log(ratio) / std::log(original)) : 1;
    scaling.attentionFactor = object.number("attention_factor", standard);
    scaling.divisors = object.numbers("short_factor", dim / 2);
    if (config.nCtx > original) {
        reader.note(
            "A prompt of more than " + std::to_string(static_cast<int>(original)) + " of this model's "
            + std::to_string(config.nCtx)
            + " positions changes its rotary frequencies for all tokens; contexts up to that length are read.");
        config.nCtx = std::max(1, static_cast<int>(original)); // Smaller values were refused above.
    }
    return scaling;
}

/// The factor of cosine and sine. Source: _compute_yarn_parameters in Hugging Face's modeling_rope_utils.
double yarnLength(double factor, RopeObject& object)
{
    const double logarithm = factor > 1 ? 0.1 * std::log(factor) : 0;
    return (object.number("mscale", 1) * logarithm + 1)
        / (object.has("mscale_all_dim") ? object.number("mscale_all_dim", 1) * logarithm + 1 : 1);
}

RotaryScaling readScaling(ModelConfig& config, int dim, RopeObject& object,
                          std::optional<int> topLevelContext, ConfigReader& reader)
{
    const std::optional<std::string> named = object.type();
    RotaryScaling scaling;
    if (!named)
        return scaling;
    const std::string& type = *named;
    const std::optional<double> context =
        topLevelContext ? std::optional<double>(*topLevelContext) : std::optional<double>();
    if (type == "linear") {
        scaling.kind = Kind::Linear;
        scaling.factor = object.number("factor", std::nullopt);
    } else if (type == "llama3") {
        scaling.kind = Kind::Llama3;
        scaling.factor = object.number("factor", std::nullopt);
        scaling.lowFactor = object.number("low_freq_factor", std::nullopt);
        scaling.highFactor = object.number("high_freq_factor", std::nullopt);
        scaling.originalContext = object.number("original_max_position_embeddings", context);
        if (!(scaling.highFactor > scaling.lowFactor))
            reader.contradiction("'" + object.name()
                                 + "' has a high_freq_factor no larger than its low_freq_factor");
    } else if (type == "longrope" || type == "su" || object.has("short_factor")) {
        scaling = readLongRope(config, dim, object, topLevelContext, reader);
    } else if (type == "yarn") {
        scaling.kind = Kind::Yarn;
        scaling.factor = object.number("factor", std::nullopt);
        scaling.betaFast = object.number("beta_fast", 32);
        scaling.betaSlow = object.number("beta_slow", 1);
        scaling.originalContext =
            object.number("original_max_position_embeddings", context.value_or(config.nCtx));
        scaling.attentionFactor = object.number("attention_factor", yarnLength(scaling.factor, object));
        scaling.wholePairs = object.flag("truncate", true);
        if (object.has("mscale") != object.has("mscale_all_dim"))
            reader.refuse(object.name(), "'mscale' and 'mscale_all_dim' together or neither");
    } else if (type != "default" && type != "dynamic") {
        // "dynamic" changes nothing up to n_ctx tokens, and longer prompts are refused.
        reader.refuse(object.name(),
                      "of the type '" + type
                          + "'; the scalings are linear, dynamic, llama3, yarn and longrope");
    }
    return scaling;
}

} // namespace

Rotary readRotary(ModelConfig& config, const json& file, ConfigReader& reader, const RotaryStandard& standard)
{
    Rotary rotary;
    rotary.base = reader.number({"rope_theta", "rotary_emb_base"}, standard.base);
    double part = reader.number({"partial_rotary_factor", "rotary_pct", "rope_pct"}, standard.part);
    std::optional<int> context = reader.optionalSize({"original_max_position_embeddings"});
    if (standard.originalContext > 0 && reader.isAbsent("original_max_position_embeddings"))
        context = standard.originalContext;
    constexpr Names objects{"rope_scaling", "rope_parameters"};
    reader.ignore(objects);
    reader.onlySupports("rope_interleaved", {"false"});
    std::string_view scaled;
    for (const std::string_view name : objects) {
        if (!reader.isGiven(name))
            continue;
        const json& value = *file.find(name);
        if (!value.is_object()) {
            reader.contradiction("'" + std::string(name) + "' is not an object");
            continue;
        }
        RopeObject object(value, name, reader);
        rotary.base = object.number("rope_theta", rotary.base);
        part = object.number("partial_rotary_factor", part);
        if (object.has("rope_theta"))
            reader.forget({"rope_theta"});
        if (object.has("partial_rotary_factor"))
            reader.forget({"partial_rotary_factor"});
        scaled = name;
        if (std::any_of(value.begin(), value.end(), [](const json& entry) { return entry.is_object(); }))
            reader.refuse(name, "one rotary embedding for all layers only");
    }
    if (!(part > 0 && part <= 1))
        reader.contradiction("the rotated part of a head is " + std::to_string(part)
                             + ", expected more than 0 and at most 1");
    rotary.dim = static_cast<int>(config.dHead * std::clamp(part, 0.0, 1.0));
    if (scaled.empty()) {
        reader.assume("rope_scaling", "null");
        return rotary;
    }
    RopeObject object(*file.find(scaled), scaled, reader);
    rotary.scaling = readScaling(config, rotary.dim, object, context, reader);
    return rotary;
}

json withFullRope(json config)
{
    const auto found = config.find("rope_parameters");
    if (found != config.end() && found->is_object() && found->contains("full_attention")) {
        json full = (*found)["full_attention"];
        *found = std::move(full);
    }
    return config;
}

Rotary readSlidingRotary(ModelConfig& config, const json& file, ConfigReader& reader, double base)
{
    json own = {{"rope_theta", base}};
    const auto found = file.find("rope_parameters");
    if (found != file.end() && found->is_object() && found->contains("sliding_attention"))
        own["rope_parameters"] = (*found)["sliding_attention"];
    ConfigReader ownReader(own, "sliding_attention");
    Rotary rotary = readRotary(config, own, ownReader, {.base = base});
    if (const auto read = ownReader.finish(); !read)
        reader.contradiction(read.error().message);
    return rotary;
}

} // namespace headwise
