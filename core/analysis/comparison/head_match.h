#pragma once

#include "core/analysis/comparison/model_comparison.h"

#include <string>
#include <vector>

namespace headwise {

/// Ids that stand for the same bytes in two vocabularies, pair by pair, ascending in the first.
struct SharedTokens {
    std::vector<int> a, b;

    std::size_t size() const { return a.size(); }
};

/// Special tokens are shared where they are written alike. Of several ids of one vocabulary with the same bytes the lowest counts.
/// \param unusedA, unusedB true: an id without a token; empty: none
SharedTokens sharedTokens(const Tokenizer& a, const std::vector<bool>& unusedA, const Tokenizer& b,
                          const std::vector<bool>& unusedB);

/// One of two models of any sizes.
struct MatchedModel {
    const Circuits& circuits;
    const Tokenizer* tokenizer;     ///< Null: ids stand for themselves, if the other has none either.
    std::vector<bool> unusedTokens; ///< true: an id without a token; empty: none.
};

/// What matching heads of two models of these shapes takes.
AnalysisCost matchCost(const ModelConfig& a, const ModelConfig& b);

/// For every head of A the heads of B that write the same outputs for the same tokens, under "comparison/match/": the mean
/// Jaccard index of the k largest entries of full OV's rows, of a seeded sample of at most 128 of the tokens both vocabularies
/// have, among these tokens; CKA of what is written; the best head of B. The null of the best is the best where B's tokens
/// are shifted by half the sample.
///
/// The models may differ in every size, in architecture and in vocabulary.
/// Errors: InvalidArgument for less than 8 shared tokens; Cancelled.
/// Cost: as `matchCost`; memory: W_U of the shared tokens of both.
/// Source: CONTRACTS.md §7.
Result<ResultSet> matchHeads(const MatchedModel& a, const MatchedModel& b, const ComparisonOptions& options,
                             const Task& task);

} // namespace headwise
