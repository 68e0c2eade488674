#pragma once

#include "core/session/session.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace headwise::app {

/// Whether a command's MODEL is a session. A file named .h5 is one even if it is damaged, so that the error says so.
bool namesSession(const std::filesystem::path& path);

/// Returns the options that make a session's model, processing and tables again, each after a space, without defaults.
/// FILE stands for files whose names a session does not keep.
/// \param applied, embedding the session's own, or others to use instead
std::string remakingOptions(const Session& session, const Processing& applied, std::string_view embedding);
std::string remakingOptions(const Session& session);

/// The token filter of the session's tables; empty: none.
std::string filterOfTables(const Session& session);

} // namespace headwise::app
