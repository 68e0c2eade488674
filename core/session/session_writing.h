#pragma once

// Common parts of the writers of sessions and similar files. Private to them.

#include "core/files/hdf5.h"
#include "core/session/session.h"

#include <string>

namespace headwise {

Result<Done> setAttributes(Hdf5Writer& file, const std::string& path, const Hdf5Attributes& attributes);

/// Writes the attributes of the root group, /model and /processing.
/// \param format  attribute of the root group: "headwise-session"
Result<Done> writeHead(Hdf5Writer& file, const Session& session, const std::string& format);

/// Writes every array with its attributes, and the attributes of groups.
Result<Done> writeResults(Hdf5Writer& file, const ResultSet& results, const Task& task);

/// Writes labels for every array, and scales only for paths in the format, because there may be thousands of others.
Result<Done> writeAxes(Hdf5Writer& file, const Session& session);

} // namespace headwise
