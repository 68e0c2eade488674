#include "core/analysis/tokens/best_relations.h"

#include "core/analysis/shared/cards.h"
#include "core/analysis/tokens/relation_questions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

namespace {

/// Mean and deviation of the smallest of m ranks drawn from 0 … n − 1: P(min ≥ k) = ((n − k)/n)^m.
std::pair<double, double> smallestRank(double n, double m)
{
    double mean = 0, square = 0;
    for (double k = 1; k < n; ++k) {
        const double atLeast = std::pow((n - k) / n, m);
        mean += atLeast;
        square += (2 * k - 1) * atLeast;
    }
    return {mean, std::sqrt(std::max(0.0, square - mean * mean))};
}

double distinctTargets(const std::vector<std::pair<std::int32_t, int>>& targets)
{
    std::vector<int> ids;
    ids.reserve(targets.size());
    for (const auto& [relation, target] : targets)
        ids.push_back(target);
    std::sort(ids.begin(), ids.end());
    return static_cast<double>(std::unique(ids.begin(), ids.end()) - ids.begin());
}

} // namespace

double rankInLine(const RowVector<double>& line, int token, const std::vector<bool>& unused)
{
    int larger = 0;
    for (Eigen::Index id = 0; id < line.size(); ++id)
        larger += line(id) > line(token) && (unused.empty() || !unused[static_cast<std::size_t>(id)]) ? 1 : 0;
    return larger;
}

std::vector<ArraySpec> bestRelationArrays()
{
    const std::string condition = "with a tokenizer, where the token begins a pair of a relation";
    return {
        {.path = "analyses/token_card/relation_rank",
         .axes = headAxes(),
         .title = "Rank of the best relation",
         .definition =
             "the smallest rank in the given token's row of E W_V W_O W_U that a target of a pair (token, target) of any relation has",
         .condition = condition},
        {.path = "analyses/token_card/relation",
         .axes = headAxes(),
         .title = "Best relation",
         .definition =
             "the first relation with the rank of relation_rank, an index into relations; -1 where there is none",
         .type = NumberType::Whole,
         .condition = condition}};
}

BestRelations::BestRelations(const AnalysisContext& context, int token)
    : m_context(context)
    , m_rank(RealNumbers::perHead(context.circuits.config()))
    , m_relation(WholeNumbers::perHead(context.circuits.config()))
{
    if (!context.options.inputs.tokenizer)
        return;
    const RelationQuestions questions = relationQuestions(context);
    for (const AskedRelation& relation : questions.relations) {
        for (const std::size_t row : relation.rows) {
            if (questions.sources[row] == token)
                m_targets.emplace_back(static_cast<std::int32_t>(m_names.size()), questions.targets[row]);
        }
        m_names.push_back(relation.name);
    }
}

void BestRelations::put(HeadId head, const RowVector<double>& line, const std::vector<bool>& unused)
{
    if (line.isZero(0))
        return; // a head that writes nothing has no best relation
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [relation, target] : m_targets) { // ties to the earlier relation
        const double rank = rankInLine(line, target, unused);
        if (rank >= best)
            continue;
        best = rank;
        m_rank.set(head, rank);
        m_relation.set(head, relation);
    }
}

void BestRelations::putInto(Results& results) const
{
    if (m_targets.empty())
        return;
    const ModelConfig& config = m_context.circuits.config();
    const auto unused = unusedOf(m_context.options, config.dVocabOut);
    const auto n = static_cast<double>(config.dVocabOut - std::count(unused.begin(), unused.end(), true));
    const auto [mean, deviation] = smallestRank(n, distinctTargets(m_targets));
    ResultArray& rank = results.put("analyses/token_card/relation_rank", m_rank);
    rank.nullMean = mean;
    rank.nullDeviation = deviation;
    rank.range = {0.0, std::max(0.0, n - 1)};
    results.put("analyses/token_card/relation", m_relation).attributes["relations"] = m_names;
}

} // namespace headwise
