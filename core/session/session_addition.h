#pragma once

#include "core/circuits/circuits.h"
#include "core/session/session.h"

#include <filesystem>
#include <string>

namespace headwise {

/// Says why the results of `run` must not stand beside those of `stored`: another model, another processing, embedding,
/// precision, config or vocabulary. Empty if they may.
///
/// Both models are opened and their weights compared only if `stored` was computed from other files that are still there.
/// \returns the end of a sentence that begins with the name of the stored session: "is about another model, …"
std::string whyNotAdded(const Session& stored, const Session& run, Precision precision);

/// The first file of the weights that was changed after `stored` was created, so that its results may be of other weights;
/// empty if there is none. A copy or a fresh download is younger too: a reason to say so, not to refuse.
std::filesystem::path changedSince(const Session& stored, const WeightMap& weights);

/// Returns `run` with all that `stored` has besides: notes, bookmarks, view, results, warnings, the time it was created.
///
/// A result of `run` replaces the one of the same path. An analysis and a table are replaced as a whole, so that none of
/// their arrays answers another question than the rest.
Session added(Session stored, Session run);

} // namespace headwise
