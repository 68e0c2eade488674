#pragma once

#include "core/analysis/inputs/token_filter.h"

#include <QJsonObject>

namespace headwise::ui {

class Workspace;

/// Choices common to all pages, as a session saves them: the token filter, the heads of each analysis, Δ, and the user's own
/// head classes.
QJsonObject questionState(const Workspace& workspace);
void restoreQuestion(Workspace& workspace, const QJsonObject& state);

/// Empty while the filter is off; without its counts.
QJsonObject filterState(const TokenFilter& filter);
TokenFilter filterFromState(const QJsonObject& state);

} // namespace headwise::ui
