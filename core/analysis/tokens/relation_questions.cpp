#include "core/analysis/tokens/relation_questions.h"

#include "core/analysis/tokens/relation_lists.h"
#include "core/analysis/tokens/token_factors.h"
#include "core/tokenizer/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>

namespace headwise {

namespace {

constexpr int nullDraws = 2000;

/// The tokens of two words, or the reason why there are none.
struct PairTokens {
    int source = 0, target = 0;
    std::string problem = {}; ///< Empty: there are tokens.
};

/// Returns the tokens of source and target with a leading space, or else both without one.
PairTokens pairTokens(const Tokenizer& tokenizer, const std::pair<std::string, std::string>& words)
{
    const WordTokens source = wordTokens(tokenizer, words.first);
    const WordTokens target = wordTokens(tokenizer, words.second);
    PairTokens found;
    if (source.spaced && target.spaced)
        found = {*source.spaced, *target.spaced};
    else if (source.bare && target.bare)
        found = {*source.bare, *target.bare};
    else if (!source.spaced && !source.bare)
        found.problem = words.first + " is not a single token";
    else if (!target.spaced && !target.bare)
        found.problem = words.second + " is not a single token";
    else
        found.problem = "one word is a single token only with a leading space, the other only without it";
    // In a vocabulary without capitals, say.
    if (found.problem.empty() && found.source == found.target && words.first != words.second)
        found.problem = "both words are the same token";
    return found;
}

} // namespace

const std::vector<Relation>& askedRelations(const AnalysisOptions& options)
{
    static const std::vector<Relation> builtIn = builtInRelations();
    return options.inputs.relations.empty() ? builtIn : options.inputs.relations;
}

int standardK(const ModelConfig& config, bool isCopying)
{
    // The vocabulary of Llama 3. SmolLM3 shares it, but some of its layers have no positions.
    constexpr int llama3Tokens = 128256;
    const bool isLlama3 = config.dVocab == llama3Tokens && config.layerRotary.empty();
    if (isLlama3)
        return isCopying ? 3 : 25;
    return isCopying ? 1 : 10;
}

PairCounts countPairs(const AskedRelation& relation, std::span<const EntryRank> ranks)
{
    // Ties count against the target, so a head that writes nothing has no hits.
    const auto isHit = [&](std::size_t row) { return ranks[row].above + ranks[row].equal < relation.k; };
    const auto isLowered = [&](std::size_t row) { return ranks[row].below + ranks[row].equal < relation.k; };
    return {std::count_if(relation.rows.begin(), relation.rows.end(), isHit),
            std::count_if(relation.rows.begin(), relation.rows.end(), isLowered)};
}

RelationQuestions relationQuestions(const AnalysisContext& context)
{
    const TokenSide& tokens = *context.tokens;
    const std::vector<bool> unused = sizedMarks(context.options.unusedTokens, tokens.W_U.count());
    RelationQuestions questions;
    const auto isLeftOut = [&](int id) { return isUnusedToken(context.options.unusedTokens, id); };
    questions.outputs =
        static_cast<double>(tokens.W_U.count() - std::count(unused.begin(), unused.end(), true));
    std::map<std::pair<int, int>, std::size_t> places;
    for (const Relation& relation : askedRelations(context.options)) {
        AskedRelation asked{.name = relation.name, .given = relation.pairs.size(), .rows = {}};
        const auto same = [](const auto& words) { return words.first == words.second; };
        asked.k = standardK(context.circuits.config(),
                            std::all_of(relation.pairs.begin(), relation.pairs.end(), same));
        for (const auto& words : relation.pairs) {
            PairTokens pair = pairTokens(*context.options.inputs.tokenizer, words);
            if (pair.problem.empty()
                && (pair.source >= tokens.E.count() || pair.target >= tokens.W_U.count()))
                pair.problem = "the model has no weights for one of the tokens";
            else if (pair.problem.empty() && (isLeftOut(pair.source) || isLeftOut(pair.target)))
                pair.problem = "the token filter removes one of the tokens";
            if (!pair.problem.empty()) {
                asked.leftOut.push_back({words.first, words.second, pair.problem});
                continue;
            }
            const auto [place, isNew] =
                places.emplace(std::pair(pair.source, pair.target), questions.sources.size());
            if (isNew) {
                questions.sources.push_back(pair.source);
                questions.targets.push_back(pair.target);
            }
            if (std::find(asked.rows.begin(), asked.rows.end(), place->second) == asked.rows.end())
                asked.rows.push_back(place->second);
            else
                asked.leftOut.push_back({words.first, words.second, "the list has these tokens already"});
        }
        asked.isValid = asked.rows.size() >= fewestRelationPairs;
        questions.relations.push_back(std::move(asked));
    }
    return questions;
}

std::vector<std::size_t> bestCandidates(const RelationQuestions& questions)
{
    std::vector<std::size_t> valid, any;
    for (std::size_t i = 0; i < questions.relations.size(); ++i) {
        if (questions.relations[i].isValid)
            valid.push_back(i);
        if (!questions.relations[i].rows.empty())
            any.push_back(i);
    }
    return valid.empty() ? any : valid;
}

RelationNull bestByChance(const RelationQuestions& questions, const std::vector<std::size_t>& chosen,
                          std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    double sum = 0;
    double squares = 0;
    for (int draw = 0; draw < nullDraws; ++draw) {
        double best = 0;
        for (const std::size_t index : chosen) {
            const AskedRelation& relation = questions.relations[index];
            const double chance = questions.chance(relation);
            int hits = 0;
            for (std::size_t pair = 0; pair < relation.rows.size(); ++pair)
                hits += static_cast<double>(random() >> 11) * 0x1p-53 < chance ? 1 : 0;
            best = std::max(best, hits / static_cast<double>(relation.rows.size()));
        }
        sum += best;
        squares += best * best;
    }
    const double mean = sum / nullDraws;
    return {mean, std::sqrt(std::max(0.0, squares / nullDraws - mean * mean))};
}

} // namespace headwise
