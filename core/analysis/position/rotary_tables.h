#pragma once

#include "core/analysis/position/token_rows.h"
#include "core/results/results.h"

#include <optional>
#include <vector>

namespace headwise {

/// Errors: InvalidArgument for a token without a row in E.
Result<Done> checkToken(const TokenSide& tokens, std::optional<int> token);

/// Finds the keys that the query inputs.token scores highest and lowest, for every head and the offsets 0, 1, 2, 4, 16 and 64.
/// The score is e_q W_Q R_Δ W_Kᵀ e_jᵀ, at offset 0 the row of full QK.
/// Errors: Cancelled.
/// Cost: 12 V d flops per head; memory the scores of 32 heads.
Result<Done> putRotaryTables(const AnalysisContext& context, const TokenSide& tokens, const Task& task,
                             Results& results);
/// Specs of their arrays.
std::vector<ArraySpec> rotaryTableArrays();

/// Returns the scores of one head's query `token` with every key `offset` positions before it, [V].
/// The scores are e_q W_Q R_Δ W_Kᵀ Eᵀ, at offset 0 the row of full QK.
/// Errors: InvalidArgument where positions are not rotary, for a missing head or token, or for an offset below 0.
/// Cost: 2 V d flops.
Result<RowVector<double>> rotaryTokenLine(const Circuits& circuits, const TokenSide& tokens, HeadId head,
                                          int token, int offset);

AnalysisCost rotaryTablesCost(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
