#pragma once

#include "core/analysis/catalogue.h"

#include <memory>

namespace headwise {

/// E, the rows that stand for tokens, without its Gram products: read in blocks where it is W_E itself, else held.
class TokenRows {
public:
    /// Errors: as `tokenSide`.
    static Result<TokenRows> create(const AnalysisContext& context, const Task& task);

    Eigen::Index count() const; ///< V
    /// [count, d], as heads of this layer read them
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
