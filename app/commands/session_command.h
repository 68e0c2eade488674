#pragma once

#include "core/session/session.h"

#include <string>
#include <string_view>

namespace headwise::app {

/// Returns the options that make a session's model, processing and tables again, each after a space, without defaults.
/// FILE stands for files whose names a session does not keep.
/// \param applied, embedding the session's own, or others to use instead
std::string remakingOptions(const Session& session, const Processing& applied, std::string_view embedding);
std::string remakingOptions(const Session& session);

/// The token filter of the session's tables; empty: none.
std::string filterOfTables(const Session& session);

} // namespace headwise::app
