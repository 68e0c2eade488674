#pragma once

#include "core/base/task.h"
#include "core/session/session.h"

#include <filesystem>

namespace headwise {

/// A session and its HDF5 file (layout: FORMAT.md beside this file).

/// The version this program writes. Files of a later one are read as far as we know them.
inline constexpr int sessionFormatVersion = 1;

/// Writes the session in place of what `path` holds. A crash, a kill or a full disk leaves the old file or the complete new
/// one. Times and version are filled in where empty; `modified` is always now.
/// Errors: Io (no such folder, no permission, disk full), naming the path; InvalidArgument for a session read from a later
/// format version, which saving would cut down; Cancelled, OutOfMemory.
/// Cost: packing at about 50 MB/s of numbers; memory of the packed file.
Result<Done> writeSession(const std::filesystem::path& path, const Session& session, const Task& task);

/// Reads a session. What the format does not name is ignored; what it names must have its shape.
///
/// Arrays come back in the order of their groups and, within a group, as they were written.
/// Errors: NotFound, Io; Corrupt (not HDF5, truncated, a shape that contradicts /model); Unsupported (HDF5, but not a
/// session); Cancelled, OutOfMemory.
Result<Session> readSession(const std::filesystem::path& path, const Task& task);

/// Whether the file is a session of ours, whatever its name: HDF5 whose root attribute `format` says so.
bool isSessionFile(const std::filesystem::path& path);

} // namespace headwise
