#include "core/model/config_reader.h"

#include "core/files/json.h"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {
namespace {

using nlohmann::json;

/// Compact JSON, but with the numbers that JSON does not have.
std::string written(const json& value)
{
    if (value.is_number_float() && !std::isfinite(value.get<double>()))
        return std::isnan(value.get<double>()) ? "NaN" : value.get<double>() > 0 ? "Infinity" : "-Infinity";
    if (!value.is_structured())
        return jsonText(value);
    std::string text;
    for (const auto& [key, inner] : value.items())
        text +=
            (text.empty() ? "" : ",") + (value.is_object() ? written(json(key)) + ":" : "") + written(inner);
    return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

std::optional<double> numberOf(const json& value)
{
    if (value.is_number())
        return value.get<double>();
    if (!value.is_string())
        return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

std::optional<int> wholeNumberOf(const json& value)
{
    const std::optional<double> number = numberOf(value);
    if (!number || *number != std::floor(*number) || std::abs(*number) > std::numeric_limits<int>::max())
        return std::nullopt;
    return static_cast<int>(*number);
}

std::optional<bool> flagOf(const json& value)
{
    if (value.is_boolean())
        return value.get<bool>();
    if (value == "true" || value == "True" || value == 1)
        return true;
    if (value == "false" || value == "False" || value == 0)
        return false;
    return std::nullopt;
}

} // namespace

std::string shownValue(const json& value)
{
    std::string text = written(value);
    if (text.size() > 80)
        text = text.substr(0, 77) + "…";
    return text;
}

ConfigReader::ConfigReader(const json& config, std::string_view file)
    : m_config(config)
    , m_file(file)
{
}

bool ConfigReader::isGiven(std::string_view name) const
{
    const auto found = m_config.find(name);
    return found != m_config.end() && !found->is_null();
}

bool ConfigReader::isAbsent(std::string_view name) const
{
    return m_config.find(name) == m_config.end();
}

std::optional<bool> ConfigReader::optionalFlag(std::string_view name)
{
    m_known.emplace(name);
    return isGiven(name) ? std::optional<bool>(flag({name}, false)) : std::nullopt;
}

const json* ConfigReader::find(const Names& names, std::string_view& used)
{
    const json* value = nullptr;
    for (const std::string_view name : names) {
        m_known.emplace(name);
        const auto found = m_config.find(name);
        if (!value && found != m_config.end() && !found->is_null()) {
            value = &*found;
            used = name;
        }
    }
    return value;
}

void ConfigReader::wrongKind(std::string_view name, const json& value, std::string_view expected)
{
    contradiction("'" + std::string(name) + "' is " + shownValue(value) + ", expected "
                  + std::string(expected));
}

int ConfigReader::size(const Names& names, std::optional<int> standard)
{
    std::string_view used;
    const json* value = find(names, used);
    if (!value) {
        if (!standard)
            m_missing.push_back("'" + std::string(names[0]) + "'");
        else if (!names.empty())
            assume(names[0], shownValue(*standard));
        return standard.value_or(1);
    }
    const std::optional<int> number = wholeNumberOf(*value);
    if (!number || *number < 1)
        wrongKind(used, *value, "a whole number of at least 1");
    return std::max(1, number.value_or(1)); // Sizes are divided by before finish() refuses them.
}

std::optional<int> ConfigReader::optionalSize(const Names& names)
{
    std::string_view used;
    const json* value = find(names, used);
    if (!value)
        return std::nullopt;
    const std::optional<int> number = wholeNumberOf(*value);
    if (!number || *number < -1)
        wrongKind(used, *value, "a whole number of at least 1, or null");
    return number && *number >= 1 ? number : std::nullopt;
}

int ConfigReader::count(std::string_view name, int standard)
{
    std::string_view used;
    const json* value = find({name}, used);
    if (!value) {
        assume(name, shownValue(standard));
        return standard;
    }
    const std::optional<int> number = wholeNumberOf(*value);
    if (!number || *number < 0)
        wrongKind(used, *value, "a whole number of at least 0");
    return std::max(0, number.value_or(0));
}

std::optional<int> ConfigReader::optionalId(const Names& names)
{
    std::string_view used;
    const json* value = find(names, used);
    if (value && value->is_array() && !value->empty())
        value = &value->front();
    const std::optional<int> number = value ? wholeNumberOf(*value) : std::nullopt;
    return number && *number >= 0 ? number : std::nullopt;
}

double ConfigReader::number(const Names& names, std::optional<double> standard)
{
    std::string_view used;
    const json* value = find(names, used);
    if (!value) {
        if (!standard)
            m_missing.push_back("'" + std::string(names[0]) + "'");
        else if (!names.empty())
            assume(names[0], shownValue(*standard));
        return standard.value_or(1);
    }
    const std::optional<double> number = numberOf(*value);
    if (!number || !std::isfinite(*number))
        wrongKind(used, *value, "a number");
    return number.value_or(1);
}

bool ConfigReader::flag(const Names& names, bool standard)
{
    std::string_view used;
    const json* value = find(names, used);
    if (!value) {
        assume(names[0], shownValue(standard));
        return standard;
    }
    const std::optional<bool> flag = flagOf(*value);
    if (!flag)
        wrongKind(used, *value, "true or false");
    return flag.value_or(standard);
}

std::string ConfigReader::text(const Names& names, std::string_view standard)
{
    std::string_view used;
    const json* value = find(names, used);
    if (!value) {
        if (!names.empty() && !standard.empty())
            assume(names[0], std::string(standard));
        return std::string(standard);
    }
    if (!value->is_string()) {
        wrongKind(used, *value, "a string");
        return std::string(standard);
    }
    return value->get<std::string>();
}

void ConfigReader::onlySupports(std::string_view name, const Names& values)
{
    std::string_view used;
    const json* value = find({name}, used);
    if (!value)
        return;
    for (const std::string_view supported : values) {
        const json expected = jsonValue(supported);
        const auto flag = flagOf(*value);
        const auto number = numberOf(*value);
        if (*value == expected || (expected.is_boolean() && flag && *flag == expected.get<bool>())
            || (expected.is_number() && number && *number == expected.get<double>()))
            return;
    }
    refuse(name, "");
}

void ConfigReader::refuse(std::string_view name, std::string_view explanation)
{
    m_known.emplace(name);
    const auto found = m_config.find(name);
    const std::string value = found == m_config.end() ? "missing" : shownValue(*found);
    m_refusals.push_back("'" + std::string(name) + "' = " + value
                         + (explanation.empty() ? "" : " (" + std::string(explanation) + ")"));
}

void ConfigReader::contradiction(std::string sentence)
{
    m_contradictions.push_back(std::move(sentence));
}

void ConfigReader::ignore(std::span<const std::string_view> names)
{
    m_known.insert(names.begin(), names.end());
}

void ConfigReader::assume(std::string_view key, std::string value)
{
    for (AssumedKey& known : m_assumed)
        if (known.key == key)
            return void(known.value = std::move(value));
    m_assumed.push_back({std::string(key), std::move(value)});
}

void ConfigReader::forget(const Names& keys)
{
    for (const std::string_view key : keys)
        std::erase_if(m_assumed, [&](const AssumedKey& known) { return known.key == key; });
}

Activation ConfigReader::activation(const Names& names, std::string_view standard)
{
    struct Row {
        std::string_view name;
        Activation activation;
    };
    static constexpr std::array<Row, 14> rows{{{"relu", Activation::Relu},
                                               {"relu2", Activation::ReluSquared},
                                               {"gelu", Activation::Gelu},
                                               {"gelu_python", Activation::Gelu},
                                               {"gelu_new", Activation::GeluNew},
                                               {"gelu_fast", Activation::GeluNew},
                                               {"gelu_accurate", Activation::GeluNew},
                                               {"gelu_pytorch_tanh", Activation::GeluNew},
                                               {"gelu_python_tanh", Activation::GeluNew},
                                               {"gelu_tanh", Activation::GeluNew},
                                               {"quick_gelu", Activation::QuickGelu},
                                               {"silu", Activation::Silu},
                                               {"swish", Activation::Silu},
                                               {"solu_ln", Activation::SoluLn}}};
    std::string_view used = names[0];
    find(names, used);
    const std::string name = text(names, standard);
    m_unknownActivation.clear();
    for (const Row& row : rows)
        if (row.name == name)
            return row.activation;
    m_unknownActivation = used;
    note("In '" + m_file + "', '" + std::string(used) + "' = " + shownValue(name)
         + " is none of the activations relu, relu2, gelu, gelu_new, quick_gelu, silu and solu_ln.");
    return Activation::Relu;
}

Result<std::vector<std::string>> ConfigReader::finish() const
{
    const std::string file = "'" + m_file + "'";
    // A missing key comes first: other values are compared with its placeholder.
    if (!m_missing.empty())
        return Error{ErrorCode::Corrupt,
                     "In " + file + (m_missing.size() == 1 ? " the key " : " the keys ") + listed(m_missing)
                         + (m_missing.size() == 1 ? " is" : " are") + " missing; give "
                         + (m_missing.size() == 1 ? "it" : "them") + " with --set KEY=VALUE."};
    if (!m_contradictions.empty())
        return Error{ErrorCode::Corrupt, "In " + file + ", " + listed(m_contradictions, "; ") + "."};
    if (!m_refusals.empty())
        return Error{ErrorCode::Unsupported,
                     "In " + file + ", " + listed(m_refusals)
                         + (m_refusals.size() == 1 ? " changes" : " change")
                         + " the model's function and this version does not support "
                         + (m_refusals.size() == 1 ? "it." : "them.")};
    std::vector<std::string> unknown;
    for (const auto& [name, value] : m_config.items())
        if (!value.is_null() && !m_known.contains(name))
            unknown.push_back("'" + name + "'");
    std::vector<std::string> warnings = m_notes;
    if (!unknown.empty())
        warnings.push_back("In " + file + (unknown.size() == 1 ? " the key " : " the keys ") + listed(unknown)
                           + (unknown.size() == 1 ? " is" : " are") + " unknown and ignored.");
    return warnings;
}

std::string listed(const std::vector<std::string>& names, std::string_view separator)
{
    constexpr std::size_t most = 6;
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < most; ++i)
        text += (i > 0 ? std::string(separator) : "") + names[i];
    if (names.size() > most)
        text += " and " + std::to_string(names.size() - most) + " more";
    return text;
}

Result<Done> checkSizes(const ModelConfig& c, std::string_view file)
{
    const auto corrupt = [&](const std::string& what) {
        return Error{ErrorCode::Corrupt, "In '" + std::string(file) + "', " + what + "."};
    };
    const auto number = [](int value) { return std::to_string(value); };
    if (c.nLayers > mostLayers)
        return corrupt("the model has " + number(c.nLayers) + " layers, more than the " + number(mostLayers)
                       + " that Headwise accepts");
    if (c.nHeads > mostHeads / std::max(1, c.nLayers))
        return corrupt("the model has " + number(c.nLayers) + " layers of " + number(c.nHeads)
                       + " heads, more than the " + number(mostHeads) + " heads that Headwise accepts");
    if (c.nHeads % c.nKvHeads != 0)
        return corrupt(number(c.nHeads) + " query heads cannot share " + number(c.nKvHeads)
                       + " key/value heads evenly");
    if (c.positional == Positional::Rotary && (c.rotary.dim % 2 != 0 || c.rotary.dim > c.dHead))
        return corrupt("the rotary dimension is " + number(c.rotary.dim)
                       + ", expected an even number up to the " + number(c.dHead) + " of a head");
    if (c.positional == Positional::Rotary && !(c.rotary.base > 0))
        return corrupt("the rotary base is " + std::to_string(c.rotary.base)
                       + ", expected a positive number");
    for (const Rotary& rotary : c.layerRotary)
        if (!(rotary.base > 0))
            return corrupt("a rotary base is " + std::to_string(rotary.base)
                           + ", expected a positive number");
    if (c.expertsPerToken > c.nExperts)
        return corrupt("each token goes to " + number(c.expertsPerToken) + " of " + number(c.nExperts)
                       + " experts");
    const auto isFactor = [](double value) { return std::isfinite(value) && value > 0; };
    if (!isFactor(c.attentionScale))
        return corrupt("the scale of the attention scores is " + std::to_string(c.attentionScale)
                       + ", expected a positive number");
    if (!isFactor(c.embeddingScale))
        return corrupt("the scale of the embeddings is " + std::to_string(c.embeddingScale)
                       + ", expected a positive number");
    for (const double cap : {c.attentionSoftCap, c.outputSoftCap})
        if (!std::isfinite(cap) || cap < 0)
            return corrupt("a cap of scores or logits is " + std::to_string(cap)
                           + ", expected a positive number, or 0 for none");
    if (c.normEps < 0)
        return corrupt("the epsilon of the norms is negative");
    const double neurons = std::max(double(c.dMlp) * std::max(1, c.nExperts) + c.mixture.sharedWidth,
                                    double(c.mixture.denseWidth));
    const double latents = double(c.latents.queries) + c.latents.keys;
    const double perLayer = 2.0 * c.dModel * c.dHead * (c.nHeads + static_cast<double>(c.nKvHeads))
        + latents * (c.dModel + 2.0 * c.nHeads * c.dHead) + 3.0 * c.dModel * neurons;
    const double total = perLayer * c.nLayers + static_cast<double>(c.dModel) * c.dVocab
        + static_cast<double>(c.dModel) * c.dVocabOut;
    if (total > mostWeights)
        return corrupt("the sizes need more weights (" + std::to_string(total / 1e12)
                       + "·10¹²) than any model has");
    return Done{};
}

int standardMlpWidth(int dModel)
{
    return dModel < (1 << 28) ? 4 * dModel : dModel;
}

} // namespace headwise
