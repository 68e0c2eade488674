#pragma once

// Private to session_*.cpp: the names in the format, shared by writer and reader. FORMAT.md explains them.

#include "core/session/session.h"

#include <array>
#include <string_view>

namespace headwise::layout {

inline constexpr const char* format = "headwise-session";
inline constexpr const char* configFile = "config_file"; // attributes of /model
inline constexpr const char* namesFile = "names_file";
inline constexpr const char* adapterBase = "adapter_base";
inline constexpr const char* adapterStrength = "adapter_scale";
inline constexpr const char* overrides = "overrides"; // "key=value"
inline constexpr const char* ignoredTensors = "ignored_tensors";

inline constexpr const char* shard = "shard"; // attributes of the root group: "2/8"
inline constexpr const char* shardRun = "shard_run";
inline constexpr const char* shardHeads = "shard_heads"; // "5.1"

/// Groups that hold results; anything else in the root group is ignored.
inline constexpr std::array<std::string_view, 11> resultRoots = {
    "spectra", "eigenvalues", "scores",      "composition", "tables",  "analyses",
    "factors", "embedding",   "unembedding", "comparison",  "imported"};

struct TextField {
    const char* name;
    std::string ModelCard::*member;
};
inline constexpr std::array<TextField, 6> modelTexts = {{{"name", &ModelCard::name},
                                                         {"architecture", &ModelCard::architecture},
                                                         {"positional", &ModelCard::positional},
                                                         {"normalization", &ModelCard::normalization},
                                                         {"source", &ModelCard::source},
                                                         {"sha256", &ModelCard::sha256}}};

struct NumberField {
    const char* name;
    int ModelCard::*member;
    int least;
};
inline constexpr std::array<NumberField, 8> modelNumbers = {{{"n_layers", &ModelCard::nLayers, 1},
                                                             {"n_heads", &ModelCard::nHeads, 1},
                                                             {"n_kv_heads", &ModelCard::nKvHeads, 1},
                                                             {"d_model", &ModelCard::dModel, 1},
                                                             {"d_head", &ModelCard::dHead, 1},
                                                             {"d_mlp", &ModelCard::dMlp, 0},
                                                             {"d_vocab", &ModelCard::dVocab, 1},
                                                             {"n_ctx", &ModelCard::nCtx, 0}}};

struct SwitchField {
    const char* name;
    bool Processing::*member;
};
inline constexpr std::array<SwitchField, 5> switches = {
    {{"fold_layer_norm", &Processing::foldLayerNorm},
     {"center_writing_weights", &Processing::centerWritingWeights},
     {"center_unembed", &Processing::centerUnembed},
     {"fold_value_biases", &Processing::foldValueBiases},
     {"refactor_factored_attention", &Processing::refactorAttention}}};
/// Options of folding, written only if they differ from the default.
inline constexpr std::array<SwitchField, 2> foldOptions = {
    {{"fold_biases", &Processing::foldBiases}, {"center_weights", &Processing::centerWeights}}};

/// Strings from headChangeName, written only if there are any.
inline constexpr const char* headChanges = "head_changes";

/// Attributes of an array that have a member of their own, or that repeat it for readers of HDF5's dimension labels.
inline constexpr std::array<std::string_view, 9> arrayAttributes = {
    "axes",      "definition", "title",           "unit", "null_mean", "null_deviation",
    "range_low", "range_high", "DIMENSION_LABELS"};

/// The findings as JSON. No reader of Headwise takes them from here.
inline constexpr const char* findings = "findings";

/// The user's figures as JSON: KeptFigures.
inline constexpr const char* figures = "figures";

/// Datasets that serve as dimension scales.
inline constexpr const char* layerScale = "model/axes/layer";
inline constexpr const char* headScale = "model/axes/head";
inline constexpr const char* tokenScale = "vocabulary/tokens";

} // namespace headwise::layout
