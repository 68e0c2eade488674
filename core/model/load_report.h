#pragma once

#include "core/model/weights.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headwise {

/// Use of one stored tensor, or the reason why it was ignored.
struct TensorUse {
    std::string use;        ///< "W_Q, W_K, W_V of layer 3"; empty if it was ignored.
    std::string whyIgnored; ///< "causal mask, which the forward pass builds itself"; empty if it is used.

    bool operator==(const TensorUse&) const = default;
};

/// Tensors that were ignored for one reason.
struct IgnoredTensors {
    std::string why;
    std::vector<std::string> names;
    std::int64_t bytes = 0;

    bool operator==(const IgnoredTensors&) const = default;
};

/// Comparison of a config value with the tensors. The loader refuses a model if a size it needs differs. Other differences are
/// harmless, such as a longer table of positions.
struct ConfigCheck {
    std::string what;    ///< "vocabulary"
    std::string config;  ///< "512"; empty if it does not say.
    std::string tensors; ///< "512 rows of 'model.embed_tokens.weight'"
    bool agrees = true;

    bool operator==(const ConfigCheck&) const = default;
};

/// Report on a checkpoint: tensors used, tensors ignored, and checks of the config. Made from the headers alone.
struct LoadReport {
    std::vector<TensorUse> uses; ///< One per tensor of the file, in its order.
    std::vector<IgnoredTensors> ignored;
    int usedCount = 0;
    std::int64_t usedBytes = 0, ignoredBytes = 0;
    std::string embeddings; ///< How W_E and W_U are stored, a sentence.
    std::vector<ConfigCheck> checks;
};

LoadReport loadReport(const ModelWeights& weights);

/// Factors of the norms of one kind over all layers: the stored weights w, or 1 + w.
struct NormFactors {
    std::string name;    ///< "ln1"
    std::string formula; ///< "RMS, times 1 + w" as stored
    int count = 0;       ///< How many such norms the model has.
    double minimum = 0, maximum = 0, mean = 0;

    bool operator==(const NormFactors&) const = default;
};

/// Returns the factors of each kind of norm; empty for a model whose norms have no weights.
/// Cost: reads the norms' weights, a few vectors per layer.
std::vector<NormFactors> normFactors(const ModelWeights& weights);

} // namespace headwise
