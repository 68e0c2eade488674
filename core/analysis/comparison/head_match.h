#pragma once

#include "core/analysis/comparison/model_comparison.h"

#include <string>
#include <vector>

namespace headwise {

/// Pairs of ids that stand for the same bytes in two vocabularies, ascending in the first.
struct SharedTokens {
    std::vector<int> a, b;

    std::size_t size() const { return a.size(); }
};

/// Matches tokens by bytes. Special tokens match if they are spelled alike. If several ids have the same bytes, the lowest counts.
/// \param unusedA, unusedB true: an id without a token; empty: none
SharedTokens sharedTokens(const Tokenizer& a, const std::vector<bool>& unusedA, const Tokenizer& b,
                          const std::vector<bool>& unusedB);

/// One of two models, of any size.
struct MatchedModel {
    const Circuits& circuits;
    const Tokenizer* tokenizer;     ///< Null: ids stand for themselves, if the other has none either.
    std::vector<bool> unusedTokens; ///< true: an id without a token; empty: none.
};

/// Specs of the arrays of `matchHeads`.
std::vector<ArraySpec> matchArrays();

/// Finds, for every head of A, the heads of B that write the same outputs for the same tokens. Results: "comparison/match/".
/// The score is the mean Jaccard index of the k largest entries in each row of full OV.
/// Rows and columns are a seeded sample of at most 128 tokens that both vocabularies have.
/// The results also hold the CKA of the head outputs and the best head of B.
/// The null of the best head is the best score after shifting B's tokens by half the sample.
///
/// The models may differ in every size, in architecture and in vocabulary.
/// Errors: InvalidArgument for fewer than 8 shared tokens; Cancelled.
/// Cost: O(heads · tokens · d_head (d_model + 128)) for each model; memory: W_U of the shared tokens of both.
/// Source: CONTRACTS.md §7.
Result<ResultSet> matchHeads(const MatchedModel& a, const MatchedModel& b, const ComparisonOptions& options,
                             const Task& task);

} // namespace headwise
