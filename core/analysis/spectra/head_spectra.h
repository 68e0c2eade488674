#pragma once

#include "core/analysis/selected_heads.h"
#include "core/circuits/head_factors.h"

#include <functional>
#include <vector>

namespace headwise {

/// Takes each head, and the d_head singular values, falling, of each of its circuits. Called from several threads, for one head from one.
struct SpectrumVisitor {
    std::function<void(const HeadFactors&)> onHead;
    std::function<void(CircuitKind, HeadId, const std::vector<double>& sigma)> onSpectrum;
};

/// Visits the selected heads of this shard. A circuit that has no finite values is left out.
/// \returns warnings that name the heads with one, or none
/// Errors: Cancelled, and those of singular values except Corrupt.
Result<std::vector<std::string>> visitSpectra(const AnalysisContext& context, const SpectrumVisitor& visitor,
                                              const Task& task);

} // namespace headwise
