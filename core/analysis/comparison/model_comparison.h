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
    Precision precision = Precision::F32; ///< Of the arrays.
    bool sameVocabulary = true;           ///< Whether an id means one token in both; without, no tables.
    std::vector<bool> unusedTokens;       ///< true: an id without a token, left out of tables; empty: none.
    int tableSize = 10;                   ///< k of the tables.
    int directions = 10;                  ///< How many of the newer model's directions are looked at.
    std::uint64_t seed = 0;               ///< Of the sampled tokens and the nulls.
};

/// A direction of the newer model is an intruder if none of the older one matches it better (`directionMatches`): no |cosine| of
/// directions that stand alone, no projection onto the span of degenerate ones.
/// Source: Shuttleworth et al., "LoRA vs full fine-tuning: an illusion of equivalence", arXiv 2410.21228, algorithm 1.
inline constexpr double intruderCosine = 0.5;

/// What keeps two models from being compared head by head, a sentence part: "n_layers is 2 and 4"; empty if nothing does.
/// Vocabularies and contexts may differ.
std::string whyNotCompare(const ModelConfig& a, const ModelConfig& b);

/// Whether an id means one token in both: the same bytes and shown form of every id; true where either has no tokenizer (null), for
/// then the number of ids decides.
bool haveSameVocabulary(const Tokenizer* a, const Tokenizer* b, int dVocab);

/// What comparing two models of this shape takes: time as in the text below, memory of W_U, of what the heads write for the
/// sampled tokens and of one head.
AnalysisCost comparisonCost(const ModelConfig& config);

/// What happened to every head between an older model and a newer one, under "comparison/": relative change and cosine of W_QK
/// and W_OV, projection kernels between what they read and write, singular values, intruder dimensions, and how many tokens left
/// the top of full OV's rows. Two equal models give exactly 0 and 1.
///
/// No number depends on the basis of a head. Everything is r × r work but the tables, of a seeded sample of tokens.
/// Errors: InvalidArgument as `whyNotCompare`; Cancelled.
/// Cost: 40 d r² flops per head, and 4 n d V for n ≤ 32 sampled tokens, fewer where that is more than 10¹² in all.
/// Source: CONTRACTS.md §7.
Result<ResultSet> compareModels(const Circuits& older, const Circuits& newer,
                                const ComparisonOptions& options, const Task& task);

} // namespace headwise
