#include "core/analysis/tokens/maps_scores.h"

#include "core/analysis/tokens/token_factors.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace headwise {

namespace {

/// Computes the scores of layer 0 with W_E in place of MLP0(LN2(W_E)).
Result<Done> readLayer0(Mlp0Scores& out, const Task& task)
{
    const AnalysisContext& context = out.context;
    const ProcessedWeights& weights = context.circuits.weights();
    const RelationQuestions& questions = out.questions;
    Matrix<double> x(static_cast<Eigen::Index>(questions.sources.size()), context.circuits.config().dModel);
    for (Eigen::Index i = 0; i < x.rows(); ++i)
        x.row(i) = weights.W_E<double>(questions.sources[static_cast<std::size_t>(i)], 1);
    const std::vector<bool> unused = sizedMarks(context.options.unusedTokens, context.tokens->W_U.count());
    std::vector<HeadId> heads;
    for (const HeadId head : selectedHeads(context.circuits.config(), context.options))
        if (head.layer == 0)
            heads.push_back(head);
    return parallelFor(
        static_cast<int>(heads.size()), task, "relation scores of layer 0", [&](int i) -> Result<Done> {
            const HeadId head = heads[static_cast<std::size_t>(i)];
            const HeadWeights<double> w = weights.head<double>(head);
            for (RealNumbers* values : {&out.scores, &out.suppression})
                std::ranges::fill(values->of(head), std::numeric_limits<double>::quiet_NaN());
            const Matrix<double> rows = (x * w.W_V).transpose();
            const auto cols = timesTokens(w.W_O, context.tokens->W_U, task);
            if (!cols)
                return cols.error();
            if (!rows.allFinite() || !cols->allFinite() || rows.isZero(0) || cols->isZero(0))
                return Done{}; // NaN, as in by_head
            const auto ranks =
                entryRanks({rows, RankColumns(*cols, unused), questions.targets}, withoutProgress(task));
            if (!ranks)
                return ranks.error();
            for (std::size_t relation = 0; relation < questions.relations.size(); ++relation) {
                const AskedRelation& asked = questions.relations[relation];
                if (asked.rows.empty())
                    continue;
                const PairCounts counts = countPairs(asked, *ranks);
                const auto pairs = static_cast<double>(asked.rows.size());
                out.scores.of(head)[relation] = static_cast<double>(counts.hits) / pairs;
                out.suppression.of(head)[relation] = static_cast<double>(counts.suppressed) / pairs;
            }
            return Done{};
        });
}

} // namespace

std::vector<ArraySpec> mapsScoresArrays()
{
    std::vector<ArraySpec> all;
    for (const bool isScore : {true, false})
        all.push_back(
            {.path = isScore ? "analyses/relations/maps_scores" : "analyses/relations/maps_suppression",
             .axes = headAxes({Axis::Relation}),
             .title = isScore ? "Relation scores of a head, MAPS" : "Relation suppression of a head, MAPS",
             .definition = std::string("share of pairs (s, t) with t among the k ")
                 + (isScore ? "largest" : "smallest")
                 + " entries of row s of E W_V W_O W_U, ties against it; E = W_E for heads of layer 0, MLP0(LN2(W_E)) for later ones",
             .range = {{0.0, 1.0}},
             .condition = "with the embedding mlp0"});
    return all;
}

Result<Done> putMapsScores(Results& results, Mlp0Scores from, const Task& task)
{
    if (!from.questions.sources.empty())
        if (const auto done = readLayer0(from, task); !done)
            return done.error();
    const std::string folder = "analyses/relations/";
    results.put(folder + "maps_scores", std::move(from.scores)).attributes["labels"] = from.names;
    results.put(folder + "maps_suppression", std::move(from.suppression)).attributes["labels"] = from.names;
    return Done{};
}

} // namespace headwise
