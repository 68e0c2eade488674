#pragma once

#include "core/checkpoint/weight_map.h"

#include <string>
#include <vector>

namespace headwise {

/// A first map for a checkpoint whose names nobody knows.
struct NamesProposal {
    std::string map;                    ///< JSON in the schema of a names map; "?" where there is no guess.
    std::vector<std::string> questions; ///< Doubts for its author to check, a sentence each.
};

/// Guesses every tensor's role and axes from its name and shape. Reads headers only.
NamesProposal proposeNames(const WeightMap& file);

} // namespace headwise
