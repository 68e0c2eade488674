#include "core/analysis/tokens/maps_scores.h"

#include "core/analysis/tokens/token_factors.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace headwise {

namespace {

const std::string start = "share of pairs (s, t) with t among the k ";
const std::string rest =
    " entries of row s of E W_V W_O W_U, ties against it; E = W_E for heads of layer 0, MLP0(LN2(W_E)) for later ones";

/// Computes the scores of layer 0 with W_E in place of MLP0(LN2(W_E)).
Result<Done> readLayer0(Mlp0Scores& out, const Task& task)
{
    const AnalysisContext& context = out.context;
    const ProcessedWeights& weights = context.circuits.weights();
    const RelationQuestions& questions = out.questions;
    Matrix<double> x(static_cast<Eigen::Index>(questions.sources.size()), context.circuits.config().dModel);
    for (Eigen::Index i = 0; i < x.rows(); ++i)
        x.row(i) = weights.W_E<double>(questions.sources[static_cast<std::size_t>(i)], 1);
    const std::vector<bool> unused = sizedMarks(context.options.unusedTokens, context.tokens->W_U.cols());
    std::vector<HeadId> heads;
    for (const HeadId head : selectedHeads(context.circuits.config(), context.options))
        if (head.layer == 0)
            heads.push_back(head);
    return parallelFor(
        static_cast<int>(heads.size()), task, "relation scores of layer 0", [&](int i) -> Result<Done> {
            const HeadId head = heads[static_cast<std::size_t>(i)];
            const HeadWeights<double> w = weights.head<double>(head);
            for (PerHead* values : {&out.scores, &out.suppression})
                std::ranges::fill(values->row(head), std::numeric_limits<double>::quiet_NaN());
            const Matrix<double> rows = (x * w.W_V).transpose();
            const Matrix<double> cols = throughUnembedding(w.W_O, *context.tokens);
            if (!rows.allFinite() || !cols.allFinite() || rows.isZero(0) || cols.isZero(0))
                return Done{}; // NaN, as in by_head
            const auto ranks =
                entryRanks({rows, RankColumns(cols, unused), questions.targets}, withoutProgress(task));
            if (!ranks)
                return ranks.error();
            for (std::size_t relation = 0; relation < questions.relations.size(); ++relation) {
                const AskedRelation& asked = questions.relations[relation];
                if (asked.rows.empty())
                    continue;
                const PairCounts counts = countPairs(asked, *ranks);
                const auto pairs = static_cast<double>(asked.rows.size());
                out.scores.row(head)[relation] = static_cast<double>(counts.hits) / pairs;
                out.suppression.row(head)[relation] = static_cast<double>(counts.suppressed) / pairs;
            }
            return Done{};
        });
}

} // namespace

Result<Done> addMapsScores(ResultSet& results, Mlp0Scores from, const Task& task)
{
    if (!from.questions.sources.empty())
        if (const auto done = readLayer0(from, task); !done)
            return done.error();
    for (const auto& [values, name, title, ends] :
         {std::tuple(&from.scores, "maps_scores", "Relation scores of a head, MAPS", "largest"),
          std::tuple(&from.suppression, "maps_suppression", "Relation suppression of a head, MAPS",
                     "smallest")}) {
        std::string definition = start;
        definition.append(ends).append(rest);
        ResultArray array =
            values->array(from.context.options.precision, std::string("analyses/relations/") + name, title,
                          definition, "relation");
        array.range = {0.0, 1.0};
        array.attributes["labels"] = from.names;
        results.arrays.push_back(std::move(array));
    }
    return Done{};
}

} // namespace headwise
