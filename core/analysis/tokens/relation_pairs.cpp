#include "core/analysis/tokens/relation_pairs.h"

#include "core/circuits/token_table.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>

namespace headwise {

namespace {

int rankOfTarget(const RowVector<double>& line, int target, const std::vector<bool>& unused)
{
    int before = 0;
    for (Eigen::Index id = 0; id < line.size(); ++id) {
        const auto at = static_cast<std::size_t>(id);
        const bool counts = id != target && !(at < unused.size() && unused[at]);
        before += counts && line(id) >= line(target) ? 1 : 0;
    }
    return before;
}

std::optional<Error> missingRelation(const AnalysisContext& context, std::size_t relation)
{
    const std::size_t relations = askedRelations(context.options).size();
    if (relation < relations)
        return std::nullopt;
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("There is no relation {}: {} were requested.", relation, relations)};
}

} // namespace

Result<AskedRelation> askedRelation(const AnalysisContext& context, std::size_t relation)
{
    if (const auto missing = missingRelation(context, relation))
        return *missing;
    return relationQuestions(context).relations[relation];
}

Result<std::vector<RelationPair>> relationPairs(const AnalysisContext& context, std::size_t relation,
                                                HeadId head, std::size_t count, const Task& task)
{
    if (const auto missing = missingRelation(context, relation))
        return *missing;
    const RelationQuestions questions = relationQuestions(context);
    const AskedRelation& asked = questions.relations[relation];
    std::vector<RelationPair> pairs;
    for (std::size_t i = 0; i < std::min(count, asked.rows.size()); ++i) {
        if (task.cancelled())
            return stopped();
        RelationPair pair{questions.sources[asked.rows[i]], questions.targets[asked.rows[i]]};
        const auto line = tokenLine(context.circuits, *context.tokens, {CircuitKind::FullOv, head},
                                    TableSide::Row, pair.source);
        if (!line)
            return line.error();
        pair.value = (*line)(pair.target);
        pair.rank = rankOfTarget(*line, pair.target, context.options.unusedTokens);
        pair.isHit = pair.rank < asked.k;
        pairs.push_back(pair);
    }
    return pairs;
}

} // namespace headwise
