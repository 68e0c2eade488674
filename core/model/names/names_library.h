#pragma once

#include "core/model/names/named_model.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headwise {

/// The maps that come with Headwise, in the schema of any other.
std::span<const std::string> builtInNamesTexts();

/// File name under which a map lies beside the weights that it explains.
inline constexpr std::string_view namesFileName = "headwise-names.json";

/// Returns the file under which this user keeps the map of all checkpoints with these names and shapes:
/// $XDG_DATA_HOME/headwise/names/FINGERPRINT.json, else in ~/.local/share; empty without a home.
std::filesystem::path userNamesFile(const WeightMap& file);

/// Describes a file by the text of a map. Errors: those of readNamesMap() and describeByNames().
Result<NamedModel> tryNamesMap(std::string_view text, const std::string& name, const WeightMap& file);

/// A checkpoint whose names a map explains.
struct NamedSource {
    std::shared_ptr<const WeightMap> file;
    NamedModel model;
};

/// Finds the map of a model and describes the model by it: the map of --names, headwise-names.json beside the weights, or, for a
/// model without a config, the user's own map of such names and shapes or a built-in one.
///
/// \returns nothing if there is no map, or no readable model to use one for
/// Errors: those of readNamesMap(), describeByNames() and, where a map was asked for, WeightMap::open().
Result<std::optional<NamedSource>> openNamed(const ModelSource& source);

} // namespace headwise
