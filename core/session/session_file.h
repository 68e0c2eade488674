#pragma once

#include "core/base/task.h"
#include "core/session/session.h"

#include <filesystem>

namespace headwise {

/// A session and its HDF5 file (layout: FORMAT.md beside this file).

/// The version this program writes. Files of later versions are read as far as they are known.
inline constexpr int sessionFormatVersion = 1;

/// Parts of the file: a run that is kept half-way needs no findings.
enum class SessionParts { All, WithoutFindings };

/// Writes the session to `path`. A crash, a kill or a full disk leaves the old file or the complete new one. Empty times
/// and an empty version are set; `modified` is always now.
/// Errors: Io (no such folder, no permission, disk full), naming the path; InvalidArgument for a session read from a
/// later format version, because saving would lose data; Cancelled, OutOfMemory.
/// Cost: packing at about 50 MB/s of numbers; memory of the packed file.
Result<Done> writeSession(const std::filesystem::path& path, const Session& session, const Task& task,
                          SessionParts parts = SessionParts::All);

/// Reads a session. Unknown content is ignored; known content must have the right shape.
///
/// Arrays come back in the order of their groups and, within a group, as they were written.
/// Errors: NotFound, Io; Corrupt (not HDF5, truncated, a shape that contradicts /model); Unsupported (HDF5, but not a
/// session); Cancelled, OutOfMemory.
Result<Session> readSession(const std::filesystem::path& path, const Task& task);

/// Tells whether the file is a Headwise session, whatever its name: HDF5 with the right root attribute `format`.
bool isSessionFile(const std::filesystem::path& path);

} // namespace headwise
