#pragma once

#include "core/model/architecture.h"
#include "core/model/merges.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headwise {

/// A model in numbers and remarks: its parameters by part, the cost of its forward pass, and what merges would save.
struct ModelFacts {
    ModelConfig config;
    std::int64_t parameters = 0; ///< All of them, vectors and W_pos too.
    WeightCount count;
    Flops flops;
    std::array<Merge, 3> merges;
    std::vector<std::string> notes; ///< circuitNotes
    std::vector<std::string> warnings;
    std::vector<AssumedKey> assumed;             ///< Keys that no file gives, with the values taken for them.
    std::shared_ptr<const ModelWeights> weights; ///< Null on a folder with config.json alone.
};

/// The number of parameters that the sizes and the family imply, where no weights can be counted.
std::int64_t parameterCount(const ModelDescription& description);

/// Reads headers, and the matrices whose condition numbers the merges need. A folder with config.json alone is enough.
/// Errors: those of readModelConfig, loadModel and mergesOf.
Result<ModelFacts> modelFacts(const ModelSource& source, const Task& task);

} // namespace headwise
