#pragma once

#include "core/circuits/token_table.h"
#include "core/results/result_set.h"

#include <optional>

namespace headwise {

/// Returns the largest and smallest entries of one token's row or column from the tables of a session (tables/full_qk,
/// tables/full_ov). Columns have no smallest entries. Empty if the session has no table of this circuit, head or token.
/// \param kind FullQk or FullOv
std::optional<TokenEnds> storedEnds(const ResultSet& results, CircuitKind kind, HeadId head, TableSide side,
                                    int token);

/// Returns the statistics of that row or column; empty if the session has none.
std::optional<LineStatistics> storedStatistics(const ResultSet& results, CircuitKind kind, HeadId head,
                                               TableSide side, int token);

} // namespace headwise
