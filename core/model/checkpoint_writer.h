#pragma once

#include "core/base/task.h"
#include "core/model/model_folder.h"
#include "core/model/processing.h"

#include <filesystem>
#include <string>

namespace headwise {

/// Writes a model as a TransformerLens folder: model.safetensors in its names, config.json with every key of a
/// HookedTransformerConfig, and the tokenizer's files of the model it came from.
///
/// float32, or float64 if the original is. Every bias TransformerLens has a parameter for is written, zeros where the model
/// has none, so that its strict loading finds them; `mlp.b_gate` and `mlp.b_up` only where they are not zero. Norms that still
/// have parameters are written all, folded ones as identity; if none has, none. Grouped keys and values have an underscore.
/// Everything is written beside `folder` and renamed: it appears complete or not at all.
/// Errors: Unsupported if TransformerLens' keys cannot say what the model is (whyNotTransformerLens); InvalidArgument if `folder` is not empty, not a folder, or the model's own; Io; Cancelled.
Result<Done> writeTransformerLensFolder(const ProcessedWeights& weights, const OriginalFiles& original,
                                        const std::filesystem::path& folder, ExistingFolder existing,
                                        const Task& task);

/// Writes a model as its family does: model.safetensors in the names and layout of the file it came from, its config.json, and the
/// tokenizer's files.
///
/// float32, or float64 if the original is. Folded norms are written as identity; W_U is written under its own name, and the
/// config says tie_word_embeddings false. Tensors that no canonical tensor reads are copied, except integer masks. A
/// TransformerLens model is written as writeTransformerLensFolder does.
/// \param weights processed under BiasHomes::AsStored
/// Errors: those of writeTransformerLensFolder.
Result<Done> writeOriginalFolder(const ProcessedWeights& weights, const OriginalFiles& original,
                                 const std::filesystem::path& folder, ExistingFolder existing,
                                 const Task& task);

/// Returns a sentence on why TransformerLens' keys cannot describe this model; empty if they can.
std::string whyNotTransformerLens(const ModelConfig& config);

/// The model whose pair was merged. `verify` compares the merged model with it. Empty if unknown.
struct MergeSource {
    std::string path;   ///< as it was opened, absolute
    std::string sha256; ///< WeightMap::sha256
};

/// Returns the source that the config of a merged model names; for any other model, the model itself.
MergeSource mergeSource(const ModelWeights& weights);

/// Whether keys and values have TransformerLens' names of grouped ones, which go with a number of n_key_value_heads: also where
/// processing gave each query head its own.
bool isGrouped(const ProcessedWeights& weights);

/// config.json of such a folder, indented.
std::string transformerLensConfig(const ModelConfig& config, bool isGrouped, const MergeSource& source = {});

} // namespace headwise
