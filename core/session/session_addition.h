#pragma once

#include "core/circuits/circuits.h"
#include "core/session/session.h"

#include <filesystem>
#include <string>

namespace headwise {

/// Explains why the results of `run` cannot be added to those of `stored`: another model, processing, embedding,
/// precision, config or vocabulary, or not the same part of a sharded run. Empty if they can.
///
/// The weights of both models are compared only if `stored` was computed from other files that still exist.
/// \returns the end of a sentence that begins with the name of the stored session: "is about another model, …"
std::string whyNotAdded(const Session& stored, const Session& run, Precision precision);

/// Tells whether two models of the same shape have other weights. They are compared if they come from different files that still
/// exist, because checkpoints of one training share the digest, which covers only headers.
bool isAnotherCheckpoint(const ModelCard& stored, const ModelCard& run);

/// Returns the first weight file that changed after `stored` was created; empty if there is none. Its results may then be
/// about other weights. A copy or a fresh download is newer too, so this deserves a warning, not a refusal.
std::filesystem::path changedSince(const Session& stored, const WeightMap& weights);

/// Returns `run` merged into `stored`, which contributes its notes, bookmarks, view, results, warnings and time of
/// creation.
///
/// A result of `run` replaces the one of the same path. An analysis or a table is replaced as a whole, so that all of its
/// arrays answer the same question.
Session added(Session stored, Session run);

} // namespace headwise
