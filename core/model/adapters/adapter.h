#pragma once

#include "core/base/result.h"
#include "core/model/adapters/adapter_config.h"
#include "core/model/architecture.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace headwise {

inline constexpr const char* adapterConfigName = "adapter_config.json";

/// Whether the path is the folder of an adapter (adapter_config.json and no weights of a model) or its file of weights.
bool isAdapter(const std::filesystem::path& path);

/// A source taken apart: the model that is opened, and the adapter that changes it.
struct AdaptedSource {
    ModelSource base;                                  ///< The source itself if it is no adapter.
    std::optional<std::filesystem::path> adapter = {}; ///< Its folder.
    AdapterConfig config = {};
    double strength = 1;
};

/// Finds the base of an adapter: ModelSource::base, else base_model_name_or_path as a path from the adapter's folder or a
/// model in the Hugging Face cache. Opens the adapter's config alone.
/// Errors: NotFound, naming --base; those of readAdapterConfig; InvalidArgument for a base of a model that is no adapter and
/// for a strength outside of 0 to 1.
Result<AdaptedSource> takeAdapterApart(const ModelSource& source);

/// The end of every error that another base may mend.
inline constexpr const char* nameTheBase = "name the base with --base MODEL";

/// Whether a source fails to open because nobody knows where its adapter's base is, or because the adapter does not fit the one that
/// is known.
bool isBaseMissing(const ModelSource& source);

/// Opens the weights of the base, changed by the adapter if there is one; path() is then the adapter's folder.
/// Errors: those of WeightMap::open; NotFound (no adapter_model file); Corrupt or Unsupported, naming the tensor, what was
/// expected and what was found.
Result<WeightMap> openWeights(const AdaptedSource& source);

/// "gpt2 + my-adapter", and " × 0.5" if it is not at full strength.
std::string adaptedName(const std::string& base, const AdaptedSource& source);

/// Facts about the adapter of an open model.
struct AdapterFacts {
    std::string kind; ///< "LoRA", "rsLoRA", "DoRA", "rsLoRA with DoRA"
    std::set<std::int64_t> ranks;
    std::set<double> scales;
    double strength = 1;
    int tensors = 0;                ///< Stored tensors that it changes.
    std::set<std::string> matrices; ///< "W_Q": the canonical tensors in them.
    std::set<int> layers;
};
std::optional<AdapterFacts> adapterFacts(const ModelWeights& weights);

/// Sentences for the list of warnings: that an adapter is at work, and the keys of its config that were ignored.
std::vector<std::string> adapterWarnings(const AdaptedSource& source, const ModelWeights& weights);

/// As "2" or "2 to 16".
std::string rangeOf(const std::set<std::int64_t>& values);
std::string rangeOf(const std::set<double>& values);

} // namespace headwise
