#pragma once

#include "core/analysis/per_head.h"
#include "core/analysis/position/rotary_kernel.h"

namespace headwise {

/// The most frequencies that a layer of this model has.
int mostFrequencies(const ModelConfig& config);

/// The weight columns that every frequency turns, of all heads.
class RotaryEnergyArrays {
public:
    explicit RotaryEnergyArrays(const ModelConfig& config);

    void set(HeadId head, const RotaryEnergies& found);
    /// [layer, head, frequency] each, and the energies once more as one matrix [head of all layers, frequency].
    void addTo(ResultSet& results, const ModelConfig& config, Precision precision) const;

private:
    PerHead m_energy, m_unaligned, m_qCosine, m_kCosine;
};

} // namespace headwise
