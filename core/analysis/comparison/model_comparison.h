#pragma once

#include "core/analysis/catalogue.h"
#include "core/base/task.h"
#include "core/circuits/circuits.h"
#include "core/results/result_set.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headwise {

class Tokenizer;

struct ComparisonOptions {
    Precision precision = Precision::F32; ///< Precision of the arrays.
    bool sameVocabulary = true;           ///< Whether an id means the same token in both; if not, no tables.
    std::vector<bool> unusedTokens;       ///< true: an id without a token, left out of tables; empty: none.
    int tableSize = 10;                   ///< k of the tables.
    int directions = 10;                  ///< Number of the newer model's directions to examine. Default: 10.
    std::uint64_t seed = 0;               ///< Seed of the token sample and the nulls. Default: 0.
};

/// Limit for intruders: a direction of the newer model that no older direction matches better (`directionMatches`).
/// The match is the |cosine| with a single direction, or the projection onto the span of degenerate ones.
/// Source: Shuttleworth et al., "LoRA vs full fine-tuning: an illusion of equivalence", arXiv 2410.21228, algorithm 1.
inline constexpr double intruderCosine = 0.5;

/// Returns why two models cannot be compared head by head, as part of a sentence: "n_layers is 2 and 4". Empty if they can.
/// Vocabularies and contexts may differ.
std::string whyNotCompare(const ModelConfig& a, const ModelConfig& b);

/// Returns whether every id means the same token in both models: same bytes and same shown form.
/// Returns true if either has no tokenizer (null); only the number of ids counts then.
bool haveSameVocabulary(const Tokenizer* a, const Tokenizer* b, int dVocab);

/// Returns the cost of comparing two models of this shape. The text below gives the time.
/// The memory holds W_U, the head outputs for the sampled tokens, and one head.
AnalysisCost comparisonCost(const ModelConfig& config);

/// Specs of the arrays of `compareModels`.
std::vector<ArraySpec> comparisonArrays();

/// Measures the change of every head from an older model to a newer one. Results: "comparison/".
/// For W_QK and W_OV: relative change, cosine, singular values and intruder dimensions.
/// Also: projection kernels between the subspaces that the heads read and write.
/// Also: the number of tokens that left the top of full OV's rows. Two equal models give exactly 0 and 1.
///
/// No number depends on the basis of a head. All work is r × r except the tables, which use a seeded sample of tokens.
/// Errors: InvalidArgument as `whyNotCompare`; Cancelled.
/// Cost: 40 d r² flops per head, and 4 n d V for n ≤ 32 sampled tokens, fewer where that is more than 10¹² in all.
/// Source: CONTRACTS.md §7.
Result<ResultSet> compareModels(const Circuits& older, const Circuits& newer,
                                const ComparisonOptions& options, const Task& task);

} // namespace headwise
