#pragma once

#include "core/analysis/catalogue.h"

#include <memory>

namespace headwise {

/// Returns E without its Gram products: of the token side of the run if there is one, else read from the file.
/// Errors: as `tokenSide`.
Result<std::shared_ptr<const TokenSide>> embeddingsOf(const AnalysisContext& context, const Task& task);

/// x̄, the mean row of E.
struct MeanTokens {
    RowVector<double> layer0, later; // [d]

    const RowVector<double>& of(int layer) const { return layer == 0 ? layer0 : later; }
};

/// Errors: Cancelled.
Result<MeanTokens> meanTokens(const TokenSide& tokens, const Task& task);

} // namespace headwise
