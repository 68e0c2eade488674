#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/tokens/entry_ranks.h"
#include "core/analysis/tokens/maps_scores.h"
#include "core/analysis/tokens/relation_questions.h"
#include "core/analysis/tokens/token_factors.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

constexpr const char* relationStep = "relation scores";
// Up to here the outputs themselves, in float32, cost less than W_O W_U in double, which is half as fast, and pairs after it.
constexpr std::size_t fewPerDimension = 2;
constexpr Eigen::Index outputsAtOnce = 256; // a tile's rows

constexpr const char* hitFormula =
    "share of pairs (s, t) with t among the k largest entries of row s of E W_V W_O W_U, ties against it; k = 1 where source and target are the same, else 10; 3 and 25 for Llama 3";
constexpr const char* missFormula =
    "share of pairs (s, t) with t among the k smallest entries of row s of E W_V W_O W_U, ties against it; k = 1 where source and target are the same, else 10; 3 and 25 for Llama 3";

std::string relationsAt(const std::string& name)
{
    return "analyses/relations/" + name;
}

std::vector<ArraySpec> relationsArrays()
{
    using enum NumberType;
    const std::vector<ArrayAxis> list{Axis::Relation};
    std::vector<ArraySpec> all;
    const auto add = [&](const char* name, const std::vector<ArrayAxis>& axes, const char* title,
                         const std::string& definition, NumberType type = Whole) {
        all.push_back({.path = relationsAt(name),
                       .axes = axes,
                       .title = title,
                       .definition = definition,
                       .type = type});
    };
    const auto addShare = [&](const char* name, const std::vector<ArrayAxis>& axes, const char* title,
                              const std::string& definition) {
        add(name, axes, title, definition, Real);
        all.back().range = {0.0, 1.0};
    };
    const std::string over = " over the valid relations (all where none is), of E W_V W_O W_U";
    const std::string entries =
        "among the k largest entries of row s of E W_V W_O W_U; -1 where not computed";
    addShare("best", headAxes(), "Best relation score", "the largest of the relation scores" + over);
    addShare("best_suppression", headAxes(), "Best relation suppression",
             "the largest of the suppressions" + over);
    addShare("by_head", headAxes({Axis::Relation}), "Relation scores of a head", hitFormula);
    addShare("suppression", headAxes({Axis::Relation}), "Relation suppression of a head", missFormula);
    add("best_relation", headAxes(), "Best relation",
        "the first relation with the score of best, an index into relations; -1 where there is none");
    add("hits", headAxes({Axis::Relation}), "Pairs hit", "number of pairs (s, t) with t " + entries);
    add("misses", headAxes({Axis::Relation}), "Pairs missed", "number of pairs (s, t) with t not " + entries);
    add("pairs_given", list, "Pairs of words", "number of pairs in the list");
    add("pairs_used", list, "Pairs of single tokens",
        "number of pairs whose words are both single tokens in use, with a leading space or both without");
    add("k", list, "k", "how many of the largest entries count as a hit");
    add("valid", list, "Valid", "1 with at least 30 pairs of single tokens, else 0");
    add("null", list, "Score by chance", "p = k / V, V = number of tokens a target is ranked among", Real);
    add("null_deviation", list, "Its deviation", "√(p (1 − p) / pairs_used)", Real);
    addShare("scores", {Axis::Relation, Axis::Layer, Axis::Head}, "Relation scores", hitFormula);
    addShare("best_score", list, "Score of its best head",
             "the largest entry of scores in each relation, of E W_V W_O W_U");
    add("best_layer", list, "Layer of its best head",
        "layer of the first head with best_score; -1 where there is none");
    add("best_head", list, "Its best head in that layer",
        "head of the first head with best_score; -1 where there is none");
    const std::vector<ArraySpec> maps = mapsScoresArrays();
    all.insert(all.end(), maps.begin(), maps.end());
    return all;
}

/// Scores of heads on the relations.
struct Found {
    RealNumbers scores, suppression; // [n_layers, n_heads, relation]
    RealNumbers best, bestSuppression;
    WholeNumbers hits, misses; // [n_layers, n_heads, relation]
    WholeNumbers bestRelation;

    Found(const ModelConfig& config, std::size_t relations)
        : scores(RealNumbers::perHead(config, relations))
        , suppression(scores)
        , best(RealNumbers::perHead(config))
        , bestSuppression(best)
        , hits(WholeNumbers::perHead(config, relations))
        , misses(hits)
        , bestRelation(WholeNumbers::perHead(config))
    {
    }
};

class RelationScores {
public:
    RelationScores(const AnalysisContext& context)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_questions(relationQuestions(context))
        , m_candidates(bestCandidates(m_questions))
        , m_found(m_config, m_questions.relations.size())
    {
    }

    Result<ResultSet> run(const Task& task)
    {
        Result<std::vector<std::string>> done = std::vector<std::string>{};
        if (!m_questions.sources.empty()) {
            const bool areFew =
                m_questions.sources.size() <= fewPerDimension * static_cast<std::size_t>(m_config.dHead);
            done = areFew ? rankOutputs(task) : rankThroughHeads(task);
        }
        if (!done)
            return done.error();
        Results results = resultsOf(m_context, relationsArrays());
        results.warn(*done);
        putInto(results);
        if (m_context.tokens->embedding == Embedding::Mlp0)
            if (const auto added = putMapsScores(
                    results, {m_context, m_questions, m_found.scores, m_found.suppression, names()}, task);
                !added)
                return added.error();
        return std::move(results).finish();
    }

private:
    /// Handles few pairs: multiplies the outputs of several heads by W_U in one product, n d V flops per head.
    Result<std::vector<std::string>> rankOutputs(const Task& task)
    {
        const TokenSide& tokens = *m_context.tokens;
        const auto W_U = tokens.W_U.columns<float>();
        const auto exact = tokens.W_U.exactColumns();
        const RankColumns columns(*W_U, *exact, unusedOutputs());
        const auto pairs = static_cast<Eigen::Index>(m_questions.sources.size());
        const auto rank = [&](std::span<const HeadId> heads) -> Result<std::vector<HeadId>> {
            std::vector<HeadId> finite, left;
            Matrix<double> outputs(m_config.dModel, static_cast<Eigen::Index>(heads.size()) * pairs);
            std::vector<int> targets;
            for (const HeadId head : heads) {
                const HeadWeights<double> weights = m_context.circuits.weights().head<double>(head);
                auto place = outputs.middleCols(static_cast<Eigen::Index>(finite.size()) * pairs, pairs);
                place = (sourceRows(head) * weights.W_V * weights.W_O).transpose();
                const bool isFinite = place.allFinite() && columns.isFinite();
                (isFinite ? finite : left).push_back(head);
                if (isFinite)
                    targets.insert(targets.end(), m_questions.targets.begin(), m_questions.targets.end());
            }
            if (finite.empty())
                return left;
            outputs.conservativeResize(Eigen::NoChange, static_cast<Eigen::Index>(targets.size()));
            const auto ranks = entryRanks({outputs, columns, targets}, withoutProgress(task));
            if (!ranks)
                return ranks.error();
            for (std::size_t i = 0; i < finite.size(); ++i) {
                const auto first = static_cast<Eigen::Index>(i) * pairs;
                if (!outputs.middleCols(first, pairs).isZero(0)) // scores of a zero circuit are NaN
                    put(finite[i],
                        std::span(*ranks).subspan(static_cast<std::size_t>(first),
                                                  m_questions.sources.size()));
            }
            return left;
        };
        const int size = std::max(1, static_cast<int>(outputsAtOnce / pairs));
        return forEachGroup(m_context, task, relationStep, size, rank);
    }

    /// Handles many pairs: computes W_O W_U of each head first, d r V flops per head.
    Result<std::vector<std::string>> rankThroughHeads(const Task& task)
    {
        const std::vector<bool> unused = unusedOutputs();
        return forEachHead(m_context, task, relationStep, [&](HeadId head) -> Result<Done> {
            const HeadWeights<double> weights = m_context.circuits.weights().head<double>(head);
            const Matrix<double> rows = (sourceRows(head) * weights.W_V).transpose();
            const auto cols = timesTokens(weights.W_O, m_context.tokens->W_U, task);
            if (!cols)
                return cols.error();
            const auto ranks =
                entryRanks({rows, RankColumns(*cols, unused), m_questions.targets}, withoutProgress(task));
            if (!ranks)
                return ranks.error();
            if (!rows.isZero(0) && !cols->isZero(0)) // scores of a zero circuit are NaN
                put(head, *ranks);
            return Done{};
        });
    }

    std::vector<bool> unusedOutputs() const
    {
        return sizedMarks(m_context.options.unusedTokens, m_context.tokens->W_U.count());
    }

    Matrix<double> sourceRows(HeadId head) const
    {
        return m_context.tokens->embeddingOf(head.layer).of<double>(m_questions.sources);
    }

    void put(HeadId head, std::span<const EntryRank> ranks)
    {
        const std::size_t count = m_questions.relations.size();
        for (std::size_t i = 0; i < count; ++i) {
            const AskedRelation& relation = m_questions.relations[i];
            if (relation.rows.empty())
                continue;
            const PairCounts counts = countPairs(relation, ranks);
            const auto pairs = static_cast<double>(relation.rows.size());
            m_found.hits.of(head)[i] = static_cast<std::int32_t>(counts.hits);
            m_found.misses.of(head)[i] =
                static_cast<std::int32_t>(relation.rows.size()) - static_cast<std::int32_t>(counts.hits);
            m_found.scores.of(head)[i] = static_cast<double>(counts.hits) / pairs;
            m_found.suppression.of(head)[i] = static_cast<double>(counts.suppressed) / pairs;
        }
        for (const std::size_t i : m_candidates) {
            const double score = m_found.scores.of(head)[i];
            double& best = m_found.best.of(head)[0];
            if (std::isnan(best) || score > best) {
                best = score;
                m_found.bestRelation.set(head, static_cast<std::int32_t>(i));
            }
            double& lowest = m_found.bestSuppression.of(head)[0];
            lowest = std::isnan(lowest) ? m_found.suppression.of(head)[i]
                                        : std::max(lowest, m_found.suppression.of(head)[i]);
        }
    }

    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const AskedRelation& relation : m_questions.relations)
            all.push_back(relation.name);
        return all;
    }

    void putInto(Results& results) const;
    void putHeadArrays(Results& results) const;
    void putRelationArrays(Results& results) const;
    void putBestHeads(Results& results) const;
    void warnOfFew(Results& results) const;

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    RelationQuestions m_questions;
    std::vector<std::size_t> m_candidates;
    Found m_found;
};

void RelationScores::putInto(Results& results) const
{
    putHeadArrays(results);
    putRelationArrays(results);
    putBestHeads(results);
    for (ResultArray& array : results.arrays()) {
        if (std::find(array.axes.begin(), array.axes.end(), Axis::Relation) != array.axes.end())
            array.attributes["labels"] = names();
    }
    std::vector<std::string> notValid;
    for (const AskedRelation& relation : m_questions.relations) {
        if (!relation.isValid)
            notValid.push_back(relation.name);
    }
    auto& attributes = results.groupAttributes("analyses/relations");
    attributes["relations"] = names();
    attributes["not_valid"] = notValid;
    warnOfFew(results);
}

void RelationScores::putHeadArrays(Results& results) const
{
    results.put(relationsAt("best"), m_found.best);
    results.put(relationsAt("best_suppression"), m_found.bestSuppression);
    if (!m_candidates.empty()) {
        const RelationNull null = bestByChance(m_questions, m_candidates, m_context.options.inputs.seed);
        for (ResultArray& array : results.arrays()) {
            array.nullMean = null.mean;
            array.nullDeviation = null.deviation;
        }
    }
    results.put(relationsAt("by_head"), m_found.scores);
    results.put(relationsAt("suppression"), m_found.suppression);
    results.put(relationsAt("best_relation"), m_found.bestRelation).attributes["labels"] = names();
    results.put(relationsAt("hits"), m_found.hits);
    results.put(relationsAt("misses"), m_found.misses);
}

void RelationScores::putRelationArrays(Results& results) const
{
    std::vector<std::int32_t> given, used, k, valid;
    std::vector<double> chance, deviation;
    for (const AskedRelation& relation : m_questions.relations) {
        const double p = m_questions.chance(relation);
        given.push_back(static_cast<std::int32_t>(relation.given));
        used.push_back(static_cast<std::int32_t>(relation.rows.size()));
        k.push_back(relation.k);
        valid.push_back(relation.isValid ? 1 : 0);
        chance.push_back(p);
        deviation.push_back(std::sqrt(p * (1 - p) / static_cast<double>(relation.rows.size())));
    }
    results.put(relationsAt("pairs_given"), std::move(given));
    results.put(relationsAt("pairs_used"), std::move(used));
    results.put(relationsAt("k"), std::move(k));
    results.put(relationsAt("valid"), std::move(valid));
    results.put(relationsAt("null"), std::move(chance));
    results.put(relationsAt("null_deviation"), std::move(deviation));
}

/// Puts the scores as [relation, layer, head], and the best head of each relation.
void RelationScores::putBestHeads(Results& results) const
{
    const std::size_t count = m_questions.relations.size();
    RealNumbers turned(
        {count, static_cast<std::size_t>(m_config.nLayers), static_cast<std::size_t>(m_config.nHeads)});
    const auto heads = static_cast<std::size_t>(m_config.nLayers) * m_config.nHeads;
    std::vector<double> best(count, RealNumbers::unset());
    std::vector<std::int32_t> layer(count, -1), head(count, -1);
    for (const HeadId id : selectedHeads(m_config, m_context.options)) {
        const std::span<const double> row = m_found.scores.of(id);
        const std::size_t place = static_cast<std::size_t>(id.layer) * m_config.nHeads + id.head;
        for (std::size_t i = 0; i < count; ++i) {
            turned.values()[i * heads + place] = row[i];
            if (row[i] > best[i] || (std::isnan(best[i]) && !std::isnan(row[i]))) {
                best[i] = row[i];
                layer[i] = id.layer;
                head[i] = id.head;
            }
        }
    }
    results.put(relationsAt("scores"), std::move(turned));
    results.put(relationsAt("best_score"), std::move(best));
    results.put(relationsAt("best_layer"), std::move(layer));
    results.put(relationsAt("best_head"), std::move(head));
}

void RelationScores::warnOfFew(Results& results) const
{
    std::size_t few = 0;
    for (const AskedRelation& relation : m_questions.relations)
        few += relation.isValid ? 0 : 1;
    if (few > 0)
        results.warn(fmt::format(
            "{} of the {} relations {} fewer than {} pairs of single tokens and {} marked as not valid.", few,
            m_questions.relations.size(), few == 1 ? "has" : "have", fewestRelationPairs,
            few == 1 ? "is" : "are"));
}

Result<ResultSet> runRelations(const AnalysisContext& context, const Task& task)
{
    return RelationScores(context).run(task);
}

AnalysisCost relationsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    double pairs = 0;
    for (const Relation& relation : askedRelations(options))
        pairs += static_cast<double>(relation.pairs.size());
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double V = config.dVocabOut;
    const double r = config.dHead;
    const double d = config.dModel;
    const bool areFew = pairs <= static_cast<double>(fewPerDimension) * r;
    const double flops = areFew ? pairs * d * V : 2 * d * r * V + 2 * pairs * r * (V + d);
    const bool isRead = areFew && !holdsTokens(config, options.embedding, options.precision);
    return {heads * flops,
            12 * r * V + (isRead ? 4 * d * V : 0)
                + heads * static_cast<double>(askedRelations(options).size()) * 32};
}

} // namespace

Analysis relationsAnalysis()
{
    return {
        .id = "relations",
        .number = "B6",
        .title = "Relations",
        .formula = hitFormula,
        .citation = "Elhelo & Geva 2024, arXiv 2412.11965; Gould et al. 2023, arXiv 2312.09230",
        .needsTokens = true,
        .whyNot = appliesAlways,
        .cost = relationsCost,
        .run = runRelations,
        .arrays = relationsArrays(),
        .needs = {.tokenizer = true},
        .pictures =
            {
                {.kind = Picture::Kind::HeadGrid,
                 .title = "Best relation of each head",
                 .arrays = {"analyses/relations/best", "analyses/relations/best_suppression"},
                 .signedColors = false,
                 .note =
                     "1: for every pair of some relation, the target is among the k tokens promoted (suppressed) most."},
                {.kind = Picture::Kind::Bars,
                 .title = "Relations of the head",
                 .arrays = {"analyses/relations/by_head", "analyses/relations/suppression",
                            "analyses/relations/null"},
                 .note = "The null is the score of a random order of the outputs."},
                {.kind = Picture::Kind::Bars,
                 .title = "Relations of the head, as in the paper's code",
                 .arrays = {"analyses/relations/maps_scores", "analyses/relations/maps_suppression"},
                 .note =
                     "W_E for heads of layer 0, MLP0(LN2(W_E)) for later ones. Uses the weights in use; the paper uses the stored weights."},
                {.kind = Picture::Kind::Bars,
                 .title = "Pairs hit and missed",
                 .arrays = {"analyses/relations/hits", "analyses/relations/misses"},
                 .note = "Only pairs whose words are both single tokens."},
                {.kind = Picture::Kind::Table,
                 .title = "The best head of each relation",
                 .arrays = {"analyses/relations/best_score", "analyses/relations/best_layer",
                            "analyses/relations/best_head", "analyses/relations/null", "analyses/relations/k",
                            "analyses/relations/pairs_used", "analyses/relations/valid"},
                 .note =
                     "Relations with fewer than 30 pairs of single tokens are not valid: too few to tell."},
            },
        .followsFilter = true,
        .uses = {.relations = true}};
}

} // namespace headwise
