#pragma once

#include "core/analysis/catalogue.h"
#include "core/analysis/tokens/entry_ranks.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headwise {

inline constexpr std::size_t fewestRelationPairs =
    30; ///< Below, a score says too little (Elhelo & Geva 2024).

/// How many of a row's largest entries count as a hit: 1 where source and target are the same, else 10; 3 and 25 for a
/// Llama of 128 256 tokens, that is Llama 3.
/// Source: Elhelo & Geva 2024, and get_k in src/utils.py of their code.
int standardK(const ModelConfig& config, bool isCopying);

/// One relation in the tokens of a model.
struct AskedRelation {
    std::string name;
    std::size_t given = 0; ///< Pairs of words.
    std::vector<std::size_t>
        rows; ///< Those that are pairs of single tokens, as places in RelationQuestions::sources.
    int k = 10;
    bool isValid = false;
};

/// All relations, and each pair of tokens once.
struct RelationQuestions {
    std::vector<AskedRelation> relations;
    std::vector<int> sources, targets;
    double outputs = 0; ///< How many tokens a target is ranked among.

    double chance(const AskedRelation& relation) const { return std::min(1.0, relation.k / outputs); }
};

/// What `options` asks for, else the built-in ones.
const std::vector<Relation>& askedRelations(const AnalysisOptions& options);

/// The same in tokens; a pair counts if its words are single tokens both with a leading space or both without.
RelationQuestions relationQuestions(const AnalysisContext& context);

/// How many pairs of one relation have their target among the k largest outputs, and among the k smallest.
struct PairCounts {
    std::int64_t hits = 0, suppressed = 0;
};

/// \param ranks of all pairs of the questions
PairCounts countPairs(const AskedRelation& relation, std::span<const EntryRank> ranks);

/// The relations that the best one of a head is chosen from: the valid ones, or where there is none all that have pairs.
std::vector<std::size_t> bestCandidates(const RelationQuestions& questions);

struct RelationNull {
    double mean = 0, deviation = 0;
};

/// Of the best of all candidates, for a head that orders its outputs at random, each pair by itself; 2000 draws.
RelationNull bestByChance(const RelationQuestions& questions, const std::vector<std::size_t>& chosen,
                          std::uint64_t seed);

} // namespace headwise
