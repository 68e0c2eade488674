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

RotaryEnergyArrays::RotaryEnergyArrays(const ModelConfig& config)
    : m_energy(config, mostFrequencies(config))
    , m_unaligned(m_energy)
    , m_qCosine(m_energy)
    , m_kCosine(m_energy)
{
}

void RotaryEnergyArrays::set(HeadId head, const RotaryEnergies& found)
{
    setRows(m_energy, head, found.energy);
    setRows(m_unaligned, head, found.unaligned);
    setRows(m_qCosine, head, found.qCosine);
    setRows(m_kCosine, head, found.kCosine);
}

void RotaryEnergyArrays::addTo(ResultSet& results, const ModelConfig& config, Precision precision) const
{
    const auto add = [&](const PerHead& values, const char* name, const char* title, const char* formula) {
        results.arrays.push_back(
            values.array(precision, rotaryEnergiesFolder + name, title, formula, Axis::Frequency));
    };
    const char* formula = "‖Q_m K_mᵀ‖_F, Q_m and K_m the two columns of W_Q and W_K that frequency m turns";
    add(m_energy, "energy", "Energy by frequency", formula);
    add(m_unaligned, "energy_null", "Energy by frequency, unaligned columns",
        "‖Q_m‖_F ‖K_m‖_F / √2: of pairs of columns at right angles and of one length");
    ResultArray all = m_energy.array(precision, rotaryEnergiesFolder + "energy_of_heads",
                                     "Energy, heads by frequency", formula, Axis::Frequency);
    all.shape = {all.shape[0] * all.shape[1], all.shape[2]};
    all.axes = {Axis::HeadOfAllLayers, Axis::Frequency};
    all.attributes["head of all layers labels"] = namesOfHeads(config);
    results.arrays.push_back(std::move(all));
    for (const auto& [values, name] : {std::pair(&m_qCosine, "query"), std::pair(&m_kCosine, "key")}) {
        results.arrays.push_back(values->array(precision, rotaryEnergiesFolder + name + "_pair_cosine",
                                               std::string("Angle within a pair, ") + name,
                                               std::string("cosine between the two columns of W_")
                                                   + (values == &m_qCosine ? "Q" : "K")
                                                   + " that frequency m turns",
                                               Axis::Frequency));
        results.arrays.back().range = {-1.0, 1.0};
        results.arrays.back().nullMean = 0.0;
        results.arrays.back().nullDeviation = 1 / std::sqrt(static_cast<double>(config.dModel));
    }
}

} // namespace headwise
