#pragma once

#include "core/analysis/token_filter.h"

#include <QJsonObject>

namespace headwise::ui {

class Workspace;

/// What a session keeps of what is asked on every page: the filter of tokens, the heads of each analysis, Δ, and the classes of
/// heads that are the user's own.
QJsonObject questionState(const Workspace& workspace);
void restoreQuestion(Workspace& workspace, const QJsonObject& state);

/// Empty while the filter is off; without its counts.
QJsonObject filterState(const TokenFilter& filter);
TokenFilter filterFromState(const QJsonObject& state);

} // namespace headwise::ui
