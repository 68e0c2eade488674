#pragma once

#include "core/analysis/position/token_rows.h"

#include <optional>

namespace headwise {

/// Errors: InvalidArgument for a token that E has no row of.
Result<Done> checkToken(const TokenRows& tokens, std::optional<int> token);

/// The keys that the query inputs.token scores highest and lowest at the offsets 0, 1, 2, 4, 16 and 64 of every head:
/// e_q W_Q R_Δ W_Kᵀ e_jᵀ, the row of full QK at offset 0.
/// Errors: Cancelled.
/// Cost: 12 V d flops per head; memory the scores of 32 heads.
Result<Done> addRotaryTables(const AnalysisContext& context, const TokenRows& tokens, const Task& task,
                             ResultSet& results);

/// How the query `token` of one head scores every key `offset` places before it, [V]: e_q W_Q R_Δ W_Kᵀ Eᵀ, at offset 0 the row of full
/// QK.
/// Errors: InvalidArgument where positions are not rotary, for a head or token that is not there, or an offset below 0.
/// Cost: 2 V d flops.
Result<RowVector<double>> rotaryTokenLine(const Circuits& circuits, const TokenSide& tokens, HeadId head,
                                          int token, int offset);

AnalysisCost rotaryTablesCost(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
