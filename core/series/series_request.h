#pragma once

#include "core/series/series_run.h"
#include "core/tokenizer/tokenizer.h"

namespace headwise {

/// Processes the weights of a member and marks the ids without a token.
/// \param tokenizer null if the member has none
/// Errors: those of planProcessing and process.
Result<SeriesModel> seriesModel(std::shared_ptr<const ModelWeights> weights, const ProcessingWish& wish,
                                const Tokenizer* tokenizer, const Task& task);

/// Returns the request of `headwise series FOLDER -o OUTPUT` without further options, so that each continues what the other began.
/// Its sentences go to the log.
SeriesRequest defaultSeriesRequest(SeriesMembers series, std::filesystem::path output);

} // namespace headwise
