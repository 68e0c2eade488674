#pragma once

#include "core/analysis/catalogue.h"

#include <memory>

namespace headwise {

/// The rows of E, which stand for tokens, without its Gram products. Reads W_E in blocks; keeps any other E in memory.
class TokenRows {
public:
    /// Errors: as `tokenSide`.
    static Result<TokenRows> create(const AnalysisContext& context, const Task& task);

    Eigen::Index count() const; ///< V
    /// Returns rows as heads of this layer read them, [count, d].
    Matrix<double> rows(int layer, Eigen::Index first, Eigen::Index count) const;
    bool isLayer0Special() const { return m_tokens && m_tokens->isLayer0Special(0); }

private:
    TokenRows(ProcessedWeights weights, std::shared_ptr<const TokenSide> tokens);

    ProcessedWeights m_weights;
    std::shared_ptr<const TokenSide> m_tokens; // null: E is W_E
};

/// x̄, the mean row of E.
struct MeanTokens {
    RowVector<double> layer0, later; // [d]

    const RowVector<double>& of(int layer) const { return layer == 0 ? layer0 : later; }
};

/// Errors: Cancelled.
Result<MeanTokens> meanTokens(const TokenRows& tokens, const Task& task);

} // namespace headwise
