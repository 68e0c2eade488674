#pragma once

#include "core/session/session.h"

#include <string>
#include <string_view>

namespace headwise::app {

/// What options make a session's model, its processing and its tables again, each after a space: those that are not the
/// default. FILE stands for what a session does not keep the name of.
/// \param applied, embedding the session's own, or others that are asked for
std::string remakingOptions(const Session& session, const Processing& applied, std::string_view embedding);
std::string remakingOptions(const Session& session);

/// The filter that the session's tables were made with; empty: none.
std::string filterOfTables(const Session& session);

} // namespace headwise::app
