#pragma once

#include "core/circuits/token_table.h"
#include "core/results/result_set.h"

#include <optional>

namespace headwise {

/// What the tables of a session (tables/full_qk, tables/full_ov) say of one token's row or column; columns have no
/// smallest entries. Empty if the session holds no table of this circuit, head or token.
/// \param kind FullQk or FullOv
std::optional<TokenEnds> storedEnds(const ResultSet& results, CircuitKind kind, HeadId head, TableSide side,
                                    int token);

/// What the entries of that row or column are like; empty if the session does not say.
std::optional<LineStatistics> storedStatistics(const ResultSet& results, CircuitKind kind, HeadId head,
                                               TableSide side, int token);

} // namespace headwise
