#pragma once

#include "core/analysis/per_head.h"
#include "core/analysis/position/rotary_kernel.h"

namespace headwise {

/// Returns the largest number of frequencies in a layer of this model.
int mostFrequencies(const ModelConfig& config);

/// The weight columns that each frequency rotates, for all heads.
class RotaryEnergyArrays {
public:
    explicit RotaryEnergyArrays(const ModelConfig& config);

    void set(HeadId head, const RotaryEnergies& found);
    /// Adds the arrays, [layer, head, frequency] each. Adds the energies also as one matrix [head of all layers, frequency].
    void addTo(ResultSet& results, const ModelConfig& config, Precision precision) const;

private:
    PerHead m_energy, m_unaligned, m_qCosine, m_kCosine;
};

} // namespace headwise
