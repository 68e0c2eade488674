#pragma once

#include "core/analysis/position/rotary_kernel.h"
#include "core/analysis/selected_heads.h"

#include <vector>

namespace headwise {

/// Returns the largest number of frequencies in a layer of this model.
int mostFrequencies(const ModelConfig& config);

/// The weight columns that each frequency rotates, [layer, head, frequency] each.
struct RotaryEnergyNumbers {
    RealNumbers energy, unaligned, queryCosine, keyCosine;

    explicit RotaryEnergyNumbers(const ModelConfig& config);

    void set(HeadId head, const RotaryEnergies& found);
    /// Puts the arrays. The energies come also as one matrix [head of all layers, frequency].
    void put(Results& results, const ModelConfig& config) const;
};

std::vector<ArraySpec> rotaryEnergyArrays();

} // namespace headwise
