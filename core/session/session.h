#pragma once

#include "core/model/architecture.h"
#include "core/model/processing.h"
#include "core/results/result_set.h"
#include "core/tokenizer/tokenizer.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// What a session knows of its model without the model's files (DESIGN §4, /model).
struct ModelCard {
    std::string name, architecture;
    int nLayers = 0, nHeads = 0, nKvHeads = 0, dModel = 0, dHead = 0, dMlp = 0, dVocab = 0, nCtx = 0;
    std::string positional, normalization;
    std::string source; ///< The whole path it was opened from.
    std::string sha256;

    bool operator==(const ModelCard&) const = default;
};

ModelCard modelCard(const ModelWeights& weights);

/// Everything we save, a plain value. Its layout on disk: FORMAT.md beside this file.
struct Session {
    std::string headwiseVersion, created; ///< ISO 8601, UTC; filled on writing where empty.
    std::string modified;                 ///< ISO 8601, UTC; the time of every writing.
    int formatVersion = 1;                ///< Above 1: read-only, some of it may be missing here.
    ModelCard model;
    std::string configFile;                     ///< The whole path, if it was not beside the weights.
    std::vector<std::string> overrides;         ///< What somebody said of the config: "n_heads=12".
    Processing processing = Processing::none(); ///< What was applied.
    std::string embedding = "raw";
    std::vector<std::string> warnings;
    std::vector<std::string> tokens;     ///< [d_vocab] as shown; empty without a tokenizer.
    std::vector<std::string> tokenBytes; ///< [d_vocab] raw bytes.
    ResultSet results; ///< Spectra, eigenvalues, scores, composition, tables, analyses, factors, embeddings.
    std::map<std::string, std::string> notes; ///< "5.1" → text
    std::vector<std::string> bookmarks;       ///< "5.1"
    std::string view;                         ///< One JSON string; empty from `analyze`.

    bool operator==(const Session&) const = default;
};

/// Takes results in, in place of what the session has, and their warnings beside its own.
void addResults(Session& session, ResultSet results);

/// Keeps what somebody said of the model's config, so that its session opens it again.
void setConfigSource(Session& session, const ModelSource& source);
/// Where the session's model was and with which config. A config file that is gone is left out.
ModelSource modelSource(const Session& session);

/// What `analyze` saves: the model's card and tokens, the processing that was applied, every warning, the results.
/// \param tokenizer null for a model without one
Session makeSession(const ProcessedWeights& weights, std::string_view embedding, const Tokenizer* tokenizer,
                    ResultSet results);

} // namespace headwise
