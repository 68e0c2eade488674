#pragma once

#include "core/session/session.h"

#include <string>

namespace headwise::app {

/// The session file that a run is added to.
struct SessionTarget {
    std::string output;
    bool replace = false; ///< Start the file over.
    Precision precision = Precision::F32;
};

/// Checks before hours of work that the results can be added to the session and are about the same weights.
/// \param run  without results
/// Errors: InvalidArgument if the two do not belong together; those of readSession.
Result<Done> checkStored(const SessionTarget& target, Session run, const WeightMap& weights,
                         const Task& task);

/// Adds a run to the session file. \returns the session as it is there now
Result<Session> addedToFile(const SessionTarget& target, Session run, const Task& task);

} // namespace headwise::app
