#pragma once

#include "core/model/architecture.h"
#include "core/model/names/named_sizes.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <vector>

namespace headwise {

/// The numbers of one canonical tensor in a file whose names a map explains.
struct NamedPart {
    TensorKind kind;
    int layer = 0, head = 0;
    int tensor = -1; ///< Index in WeightMap::tensors().
    Slice slice;
};

/// A checkpoint as a names map describes it.
struct NamedModel {
    std::string config; ///< A config in TransformerLens' keys, as JSON.
    std::vector<std::string>
        unknown; ///< Keys that neither the map nor the tensors tell; then there are no parts.
    std::vector<AssumedKey> assumed;
    std::vector<NamedPart> parts;
    std::vector<std::string> ignored; ///< Tensors that the map says are no weights.
    std::vector<std::string> others;  ///< Tensors that the map says nothing about.
    std::vector<std::string> notes;
    std::string map;          ///< Its file, for messages.
    std::string architecture; ///< Its name.
};

/// Finds the tensors of every row and the sizes; reads headers only.
/// \param said the user's own values, in TransformerLens' keys; they come before those of the map
/// Errors: NotFound (tensors that a model needs), Corrupt (a shape that contradicts the map, naming tensor, expected and found),
/// Unsupported (a map of another stack than the one asked for).
Result<NamedModel> describeByNames(const NamesMap& map, const WeightMap& file, const nlohmann::json& said);

/// A recipe for every canonical tensor.
/// \param ignored names or patterns of unexpected tensors to leave out
/// Errors: NotFound, Corrupt, Unsupported, as loadFamily().
Result<ModelWeights> loadNamed(const NamedModel& model, const ModelConfig& config,
                               std::shared_ptr<const WeightMap> file,
                               const std::vector<std::string>& ignored);

} // namespace headwise
