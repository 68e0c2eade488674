#pragma once

#include <string>

namespace headwise {

class ModelWeights;

/// Facts about the model that a session stores (FORMAT.md, /model), so that it opens without the model's files.
struct ModelCard {
    std::string name, architecture;
    int nLayers = 0, nHeads = 0, nKvHeads = 0, dModel = 0, dHead = 0, dMlp = 0, dVocab = 0;
    int nCtx = 0; ///< 0: no file states it.
    std::string positional, normalization;
    std::string source; ///< The full path from which it was opened.
    std::string sha256;

    bool operator==(const ModelCard&) const = default;
};

ModelCard modelCard(const ModelWeights& weights);

} // namespace headwise
