#include "core/analysis/position/rotary_energies.h"

#include "core/analysis/shared/positions_shown.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

const std::string rotaryEnergiesFolder = "analyses/rotary/";

std::vector<std::string> namesOfHeads(const ModelConfig& config)
{
    std::vector<std::string> names;
    for (int layer = 0; layer < config.nLayers; ++layer)
        for (int head = 0; head < config.nHeads; ++head)
            names.push_back(dottedHead({layer, head}));
    return names;
}

} // namespace

int mostFrequencies(const ModelConfig& config)
{
    int most = 0;
    for (int layer = 0; layer < config.nLayers; ++layer)
        most = std::max(most, config.rotaryOf(layer).dim / 2);
    return most;
}

std::vector<ArraySpec> rotaryEnergyArrays()
{
    const std::string at = rotaryEnergiesFolder;
    const std::vector<ArrayAxis> axes = headAxes({Axis::Frequency}),
                                 rows{Axis::HeadOfAllLayers, Axis::Frequency};
    const char* formula = "‖Q_m K_mᵀ‖_F, Q_m and K_m the two columns of W_Q and W_K that frequency m rotates";
    std::vector<ArraySpec> all{{at + "energy", axes, "Energy by frequency", formula},
                               {at + "energy_null", axes, "Energy by frequency, unaligned columns",
                                "‖Q_m‖_F ‖K_m‖_F / √2: for pairs of orthogonal columns of equal norm"},
                               {at + "energy_of_heads", rows, "Energy, heads by frequency", formula}};
    for (const std::string name : {"query", "key"})
        all.push_back({at + name + "_pair_cosine", axes, "Angle within a pair, " + name,
                       std::string("cosine between the two columns of W_") + (name == "query" ? "Q" : "K")
                           + " that frequency m rotates",
                       "", std::pair(-1.0, 1.0)});
    return all;
}

RotaryEnergyNumbers::RotaryEnergyNumbers(const ModelConfig& config)
    : energy(RealNumbers::perHead(config, mostFrequencies(config)))
    , unaligned(energy)
    , queryCosine(energy)
    , keyCosine(energy)
{
}

void RotaryEnergyNumbers::set(HeadId head, const RotaryEnergies& found)
{
    setRows(energy, head, found.energy);
    setRows(unaligned, head, found.unaligned);
    setRows(queryCosine, head, found.qCosine);
    setRows(keyCosine, head, found.kCosine);
}

void RotaryEnergyNumbers::put(Results& results, const ModelConfig& config) const
{
    results.put(rotaryEnergiesFolder + "energy", energy);
    results.put(rotaryEnergiesFolder + "energy_null", unaligned);
    const std::vector<std::string> names = namesOfHeads(config);
    results
        .put(rotaryEnergiesFolder + "energy_of_heads", {names.size(), energy.shape().back()}, energy.values())
        .attributes["head of all layers labels"] = names;
    for (const bool isKey : {false, true}) {
        ResultArray& array = results.put(rotaryEnergiesFolder + (isKey ? "key" : "query") + "_pair_cosine",
                                         isKey ? keyCosine : queryCosine);
        array.nullMean = 0.0;
        array.nullDeviation = 1 / std::sqrt(static_cast<double>(config.dModel));
    }
}

} // namespace headwise
