#pragma once

#include "core/analysis/result_set.h"
#include "core/model/head_id.h"
#include "core/session/session.h"

#include <QString>

#include <vector>

namespace headwise::ui {

/// What a head is known to do, by the scores that are there.
enum class HeadClass { None, PreviousToken, Induction, DuplicateToken, Suppression, Copying };
inline constexpr int headClassCount = 6;

QString text(HeadClass headClass); ///< "previous token"; empty for None.

/// The class of every head, [layer · H + head]. What it attends to on repeated random tokens, at least 0.3, comes before what it
/// copies, at least 0.5 of either sign; without those scores the weights' own previous-token score says the first.
/// \param previousTokenHeads  known to the user, whatever their scores
std::vector<HeadClass> headClasses(const ResultSet& results, const ModelCard& card,
                                   const std::vector<HeadId>& previousTokenHeads = {});

} // namespace headwise::ui
