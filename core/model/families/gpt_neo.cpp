#include "core/model/families/family_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace headwise {
namespace {

using nlohmann::json;

std::vector<std::string> kindsIn(const json& list)
{
    std::vector<std::string> kinds;
    for (const json& kind : list)
        if (kind.is_string())
            kinds.push_back(kind.get<std::string>());
    return kinds;
}

/// [[[kinds…], times], …]: no more of it than one layer too many, whatever the times are.
std::vector<std::string> repeatedKinds(const json& types, std::size_t layers, ConfigReader& reader)
{
    std::vector<std::string> kinds;
    for (const json& item : types) {
        const bool isPair =
            item.is_array() && item.size() == 2 && item[0].is_array() && item[1].is_number_integer();
        const std::vector<std::string> repeated = isPair ? kindsIn(item[0]) : std::vector<std::string>();
        if (repeated.empty() || item[1].get<double>() < 0) {
            reader.contradiction("an entry of 'attention_types' is not a list of kinds with a repeat count");
            return kinds;
        }
        const auto times = static_cast<std::size_t>(std::min(item[1].get<double>(), double(layers) + 1));
        for (std::size_t i = 0; i < times && kinds.size() <= layers; ++i)
            kinds.insert(kinds.end(), repeated.begin(), repeated.end());
    }
    return kinds;
}

/// `attention_layers` is the list itself; `attention_types` is one that repeats.
std::vector<std::string> layerKinds(FamilyReading& reading)
{
    ConfigReader& reader = reading.reader;
    const json& config = reading.json;
    constexpr Names names{"attention_layers", "attention_types"};
    reader.ignore(names);
    std::vector<std::string> kinds;
    const std::size_t layers = believedLayers(reading.config);
    for (const std::string_view name : names)
        if (reader.isGiven(name) && !config.find(name)->is_array())
            reader.contradiction("'" + std::string(name) + "' is not a list");
    if (reader.isGiven("attention_layers")) {
        kinds = kindsIn(config["attention_layers"]);
    } else if (reader.isGiven("attention_types")) {
        kinds = repeatedKinds(config["attention_types"], layers, reader);
    } else {
        for (std::size_t layer = 0; layer < layers; ++layer)
            kinds.emplace_back(layer % 2 == 0 ? "global" : "local");
    }
    if (kinds.size() != layers)
        reader.contradiction("'attention_types' lists "
                             + std::string(kinds.size() > layers ? "more" : std::to_string(kinds.size()))
                             + " layers, but there are " + std::to_string(reading.config.nLayers));
    return kinds;
}

std::vector<int> readGptNeoWindows(FamilyReading& reading)
{
    ConfigReader& reader = reading.reader;
    const int window = reader.size({"window_size"}, 256);
    std::vector<bool> slides;
    for (const std::string& kind : layerKinds(reading)) {
        if (kind != "global" && kind != "local")
            reader.contradiction("an attention layer is of kind '" + kind + "', expected global or local");
        slides.push_back(kind == "local");
    }
    return windowsOf(slides, window);
}

/// The TinyStories models were trained on 512 positions; the others of their 2048 rows are noise.
void capContext(FamilyReading& reading)
{
    constexpr int trained = 512;
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    const std::optional<int> wanted = reader.optionalSize({"n_ctx"});
    const json name = reading.json.value("_name_or_path", json());
    const bool isTiny = reading.file.find("TinyStories") != std::string_view::npos
        || (name.is_string() && name.get<std::string>().find("TinyStories") != std::string::npos);
    if (wanted)
        c.nCtx = std::min(c.nCtx, *wanted);
    if (wanted || !isTiny || c.nCtx <= trained)
        return;
    reader.note("Positions from " + std::to_string(trained)
                + " on were never trained in TinyStories models and are left out; --set n_ctx="
                + std::to_string(c.nCtx) + " reads all of them.");
    c.nCtx = trained;
}

} // namespace

void readGptNeo(FamilyReading& reading)
{
    capContext(reading);
    reading.config.attentionScale = 1; // The family does not divide by √d_head.
    reading.config.windows = readGptNeoWindows(reading);
}

} // namespace headwise
