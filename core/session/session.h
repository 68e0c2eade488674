#pragma once

#include "core/model/architecture.h"
#include "core/model/model_card.h"
#include "core/model/processing.h"
#include "core/results/result_set.h"
#include "core/runs/shard.h"
#include "core/session/screen.h"
#include "core/tokenizer/tokenizer.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// The place of a session that holds one part of a sharded run (analyze --shard).
struct SessionPart {
    Shard shard;
    std::string run;                ///< runDigest, the same in all parts.
    std::vector<std::string> heads; ///< "5.1": those that this part computes of split analyses.

    bool operator==(const SessionPart&) const = default;
};

/// A session as a plain value. For its layout on disk see FORMAT.md beside this file.
struct Session {
    std::string headwiseVersion, created; ///< ISO 8601, UTC; set on writing if empty.
    std::string modified;                 ///< ISO 8601, UTC; set on every writing.
    int formatVersion = 1;                ///< Above 1: read-only, and parts may be missing here.
    ModelCard model;
    std::string configFile;             ///< The full path, if it was not beside the weights.
    std::string namesFile;              ///< The full path of the map given with --names.
    std::string adapterBase;            ///< The full path of an adapter's base; empty for a model of its own.
    double adapterStrength = 1;         ///< From 0 to 1, of an adapter.
    std::vector<std::string> overrides; ///< Config values that the user gave: "n_heads=12".
    std::vector<std::string> ignoredTensors;    ///< Names and patterns that the user left out.
    Processing processing = Processing::none(); ///< The processing that was applied.
    std::string embedding = "raw";
    std::optional<SessionPart> part; ///< Absent from a whole session.
    std::vector<std::string> warnings;
    std::vector<std::string> tokens;     ///< [d_vocab] as shown; empty without a tokenizer.
    std::vector<std::string> tokenBytes; ///< [d_vocab] raw bytes.
    ResultSet results; ///< Spectra, eigenvalues, scores, composition, tables, analyses, factors, embeddings.
    std::map<std::string, std::string> notes; ///< "5.1" → text
    std::vector<std::string> bookmarks;       ///< "5.1"
    std::string view;                         ///< One JSON string of the window; `analyze` writes none.
    std::string figures; ///< JSON of the figures that the user composed and exported: KeptFigures.
    std::vector<ScreenPicture> screen; ///< Pictures that the window showed; `analyze` makes none.

    bool operator==(const Session&) const = default;
};

/// Adds results, replacing those of the same path, and appends their warnings.
void addResults(Session& session, ResultSet results);

/// Stores the user's config file and values, so that the session can open its model again.
void setConfigSource(Session& session, const ModelSource& source);
/// Returns the session's model path and config. A config file that no longer exists is left out.
ModelSource modelSource(const Session& session);

/// Builds the session that `analyze` saves: the model's facts and tokens, the applied processing, every warning, the
/// results.
/// \param tokenizer null for a model without one
Session makeSession(const ProcessedWeights& weights, std::string_view embedding, const Tokenizer* tokenizer,
                    ResultSet results);

} // namespace headwise
