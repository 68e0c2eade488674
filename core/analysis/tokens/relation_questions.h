#pragma once

#include "core/analysis/catalogue.h"
#include "core/analysis/tokens/entry_ranks.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headwise {

inline constexpr std::size_t fewestRelationPairs =
    30; ///< With fewer pairs a score is not reliable (Elhelo & Geva 2024).

/// Returns how many of a row's largest entries count as a hit: 1 if source and target are the same, else 10.
/// For Llama 3 (a Llama with 128 256 tokens) it is 3 and 25.
/// Source: Elhelo & Geva 2024, and get_k in src/utils.py of their code.
int standardK(const ModelConfig& config, bool isCopying);

/// A pair of words that has no score.
struct LeftOutPair {
    std::string source, target;
    std::string why; ///< "France is several tokens"

    bool operator==(const LeftOutPair&) const = default;
};

/// One relation as tokens of a model.
struct AskedRelation {
    std::string name;
    std::size_t given = 0;         ///< Number of word pairs.
    std::vector<std::size_t> rows; ///< Single-token pairs, as indices into RelationQuestions::sources.
    int k = 10;
    bool isValid = false;
    std::vector<LeftOutPair> leftOut = {}; ///< The pairs of words without a row.
};

/// All relations, with each pair of tokens stored once.
struct RelationQuestions {
    std::vector<AskedRelation> relations;
    std::vector<int> sources, targets;
    double outputs = 0; ///< Number of tokens that a target is ranked among.

    double chance(const AskedRelation& relation) const { return std::min(1.0, relation.k / outputs); }
};

/// Returns the relations of `options`, by default the built-in ones.
const std::vector<Relation>& askedRelations(const AnalysisOptions& options);

/// Returns these relations as tokens. A pair counts if both words are single tokens, both with or both without a leading space.
RelationQuestions relationQuestions(const AnalysisContext& context);

/// Numbers of pairs of one relation with the target among the k largest outputs, and among the k smallest.
struct PairCounts {
    std::int64_t hits = 0, suppressed = 0;
};

/// Counts hits and suppressed pairs. \param ranks of all pairs of the questions
PairCounts countPairs(const AskedRelation& relation, std::span<const EntryRank> ranks);

/// Returns the candidates for a head's best relation: the valid ones, or if there are none, all that have pairs.
std::vector<std::size_t> bestCandidates(const RelationQuestions& questions);

struct RelationNull {
    double mean = 0, deviation = 0;
};

/// Returns the null of the best candidate's score. The head orders its outputs at random, independently for each pair; 2000 draws.
RelationNull bestByChance(const RelationQuestions& questions, const std::vector<std::size_t>& chosen,
                          std::uint64_t seed);

} // namespace headwise
