#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/tokens/entry_ranks.h"
#include "core/analysis/tokens/maps_scores.h"
#include "core/analysis/tokens/relation_questions.h"
#include "core/analysis/tokens/token_factors.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

constexpr const char* relationsFolder = "analyses/relations/";
constexpr const char* relationStep = "relation scores";
// Up to here the outputs themselves, in float32, cost less than W_O W_U in double, which is half as fast, and pairs after it.
constexpr std::size_t fewPerDimension = 2;
constexpr Eigen::Index outputsAtOnce = 256; // a tile's rows

/// Scores of heads on the relations, [n_layers, n_heads, relation].
struct Found {
    PerHead scores, suppression;
    PerHead best, bestSuppression;
    std::vector<std::int32_t> hits, misses; // [n_layers, n_heads, relation], −1
    std::vector<std::int32_t> bestRelation; // [n_layers, n_heads], −1

    Found(const ModelConfig& config, std::size_t relations)
        : scores(config, static_cast<int>(relations))
        , suppression(config, static_cast<int>(relations))
        , best(config)
        , bestSuppression(config)
        , hits(static_cast<std::size_t>(config.nLayers) * config.nHeads * relations, -1)
        , misses(hits.size(), -1)
        , bestRelation(static_cast<std::size_t>(config.nLayers) * config.nHeads, -1)
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
        ResultSet results = arrays();
        results.warnings = *done;
        addWarnings(results);
        if (m_context.tokens->embedding == Embedding::Mlp0)
            if (const auto added = addMapsScores(
                    results, {m_context, m_questions, m_found.scores, m_found.suppression, names()}, task);
                !added)
                return added.error();
        return results;
    }

private:
    /// Handles few pairs: multiplies the outputs of several heads by W_U in one product, n d V flops per head.
    Result<std::vector<std::string>> rankOutputs(const Task& task)
    {
        const TokenSide& tokens = *m_context.tokens;
        const RankColumns columns(tokens.W_U, tokens.W_U64, unusedOutputs());
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
            const Matrix<double> cols = throughUnembedding(weights.W_O, *m_context.tokens);
            const auto ranks =
                entryRanks({rows, RankColumns(cols, unused), m_questions.targets}, withoutProgress(task));
            if (!ranks)
                return ranks.error();
            if (!rows.isZero(0) && !cols.isZero(0)) // scores of a zero circuit are NaN
                put(head, *ranks);
            return Done{};
        });
    }

    std::vector<bool> unusedOutputs() const
    {
        return sizedMarks(m_context.options.unusedTokens, m_context.tokens->W_U.cols());
    }

    Matrix<double> sourceRows(HeadId head) const
    {
        return embeddingRows(*m_context.tokens, head.layer, m_questions.sources);
    }

    std::size_t place(HeadId head) const
    {
        return static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head;
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
            m_found.hits[place(head) * count + i] = static_cast<std::int32_t>(counts.hits);
            m_found.misses[place(head) * count + i] =
                static_cast<std::int32_t>(relation.rows.size()) - static_cast<std::int32_t>(counts.hits);
            m_found.scores.row(head)[i] = static_cast<double>(counts.hits) / pairs;
            m_found.suppression.row(head)[i] = static_cast<double>(counts.suppressed) / pairs;
        }
        for (const std::size_t i : m_candidates) {
            const double score = m_found.scores.row(head)[i];
            double& best = m_found.best.row(head)[0];
            if (std::isnan(best) || score > best) {
                best = score;
                m_found.bestRelation[place(head)] = static_cast<std::int32_t>(i);
            }
            double& lowest = m_found.bestSuppression.row(head)[0];
            lowest = std::isnan(lowest) ? m_found.suppression.row(head)[i]
                                        : std::max(lowest, m_found.suppression.row(head)[i]);
        }
    }

    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const AskedRelation& relation : m_questions.relations)
            all.push_back(relation.name);
        return all;
    }

    ResultArray ints(const char* name, std::vector<std::size_t> shape, std::vector<std::int32_t> values,
                     std::vector<ArrayAxis> axes) const
    {
        ResultArray array;
        array.path = std::string(relationsFolder) + name;
        array.shape = std::move(shape);
        array.values = std::move(values);
        array.axes = std::move(axes);
        return array;
    }

    ResultSet arrays();
    void addHeadArrays(ResultSet& results) const;
    void addRelationArrays(ResultSet& results) const;
    void addBestHeads(ResultSet& results) const;
    void addWarnings(ResultSet& results) const;

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    RelationQuestions m_questions;
    std::vector<std::size_t> m_candidates;
    Found m_found;
};

constexpr const char* hitFormula =
    "share of pairs (s, t) with t among the k largest entries of row s of E W_V W_O W_U, ties against it; k = 1 where source and target are the same, else 10; 3 and 25 for Llama 3";
constexpr const char* missFormula =
    "share of pairs (s, t) with t among the k smallest entries of row s of E W_V W_O W_U, ties against it; k = 1 where source and target are the same, else 10; 3 and 25 for Llama 3";

ResultSet RelationScores::arrays()
{
    ResultSet results;
    addHeadArrays(results);
    addRelationArrays(results);
    addBestHeads(results);
    std::vector<std::string> notValid;
    for (const AskedRelation& relation : m_questions.relations) {
        if (!relation.isValid)
            notValid.push_back(relation.name);
    }
    for (ResultArray& array : results.arrays) {
        if (std::find(array.axes.begin(), array.axes.end(), Axis::Relation) != array.axes.end())
            array.attributes["labels"] = names();
    }
    auto& attributes = results.groupAttributes["analyses/relations"];
    attributes["relations"] = names();
    attributes["not_valid"] = notValid;
    return results;
}

void RelationScores::addHeadArrays(ResultSet& results) const
{
    const Precision precision = m_context.options.precision;
    const std::size_t layers = m_config.nLayers;
    const std::size_t heads = m_config.nHeads;
    const std::size_t relations = m_questions.relations.size();
    const auto add = [&](const PerHead& numbers, const char* name, const char* title, const char* formula,
                         std::optional<Axis> axis) {
        ResultArray array =
            numbers.array(precision, std::string(relationsFolder) + name, title, formula, axis);
        array.range = {0.0, 1.0};
        results.arrays.push_back(std::move(array));
    };
    add(m_found.best, "best", "Best relation score",
        "the largest of the relation scores over the valid relations (all where none is), of E W_V W_O W_U",
        "");
    add(m_found.bestSuppression, "best_suppression", "Best relation suppression",
        "the largest of the suppressions over the valid relations (all where none is), of E W_V W_O W_U", "");
    if (!m_candidates.empty()) {
        const RelationNull null = bestByChance(m_questions, m_candidates, m_context.options.inputs.seed);
        for (ResultArray& array : results.arrays) {
            array.nullMean = null.mean;
            array.nullDeviation = null.deviation;
        }
    }
    add(m_found.scores, "by_head", "Relation scores of a head", hitFormula, "relation");
    add(m_found.suppression, "suppression", "Relation suppression of a head", missFormula, "relation");
    ResultArray best =
        ints("best_relation", {layers, heads}, m_found.bestRelation, {Axis::Layer, Axis::Head});
    best.title = "Best relation";
    best.definition =
        "the first relation with the score of best, an index into relations; -1 where there is none";
    best.attributes["labels"] = names();
    results.arrays.push_back(std::move(best));
    for (const bool isHit : {true, false}) {
        ResultArray array =
            ints(isHit ? "hits" : "misses", {layers, heads, relations}, isHit ? m_found.hits : m_found.misses,
                 {Axis::Layer, Axis::Head, Axis::Relation});
        array.title = isHit ? "Pairs hit" : "Pairs missed";
        array.definition = std::string("number of pairs (s, t) with t ") + (isHit ? "" : "not ")
            + "among the k largest entries of row s of E W_V W_O W_U; -1 where not computed";
        results.arrays.push_back(std::move(array));
    }
}

void RelationScores::addRelationArrays(ResultSet& results) const
{
    const std::size_t count = m_questions.relations.size();
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
    const auto addInts = [&](const char* name, std::vector<std::int32_t> values, const char* title,
                             const char* formula) {
        ResultArray array = ints(name, {count}, std::move(values), {Axis::Relation});
        array.title = title;
        array.definition = formula;
        results.arrays.push_back(std::move(array));
    };
    addInts("pairs_given", given, "Pairs of words", "number of pairs of the list");
    addInts(
        "pairs_used", used, "Pairs of single tokens",
        "number of pairs whose words are both single tokens in use, with a leading space or both without");
    addInts("k", k, "k", "how many of the largest entries count as a hit");
    addInts("valid", valid, "Valid", "1 with at least 30 pairs of single tokens, else 0");
    const auto addReals = [&](const char* name, std::vector<double> values, const char* title,
                              const char* formula) {
        ResultArray array = realArray(m_context.options.precision, std::string(relationsFolder) + name,
                                      {count}, std::move(values), {Axis::Relation});
        array.title = title;
        array.definition = formula;
        results.arrays.push_back(std::move(array));
    };
    addReals("null", chance, "Score by chance", "p = k / V, V = number of tokens a target is ranked among");
    addReals("null_deviation", deviation, "Its deviation", "√(p (1 − p) / pairs_used)");
}

/// Adds the scores as [relation, layer, head], and the best head of each relation.
void RelationScores::addBestHeads(ResultSet& results) const
{
    const std::size_t count = m_questions.relations.size();
    const std::size_t heads = static_cast<std::size_t>(m_config.nLayers) * m_config.nHeads;
    PerHead scores = m_found.scores;
    std::vector<double> turned(count * heads, std::numeric_limits<double>::quiet_NaN());
    std::vector<double> best(count, std::numeric_limits<double>::quiet_NaN());
    std::vector<std::int32_t> layer(count, -1), head(count, -1);
    for (const HeadId id : selectedHeads(m_config, m_context.options)) {
        const std::span<const double> row = scores.row(id);
        for (std::size_t i = 0; i < count; ++i) {
            turned[i * heads + place(id)] = row[i];
            if (row[i] > best[i] || (std::isnan(best[i]) && !std::isnan(row[i]))) {
                best[i] = row[i];
                layer[i] = id.layer;
                head[i] = id.head;
            }
        }
    }
    const Precision precision = m_context.options.precision;
    ResultArray all = realArray(
        precision, std::string(relationsFolder) + "scores",
        {count, static_cast<std::size_t>(m_config.nLayers), static_cast<std::size_t>(m_config.nHeads)},
        std::move(turned), {Axis::Relation, Axis::Layer, Axis::Head});
    all.title = "Relation scores";
    all.definition = hitFormula;
    all.range = {0.0, 1.0};
    results.arrays.push_back(std::move(all));
    ResultArray top =
        realArray(precision, std::string(relationsFolder) + "best_score", {count}, best, {Axis::Relation});
    top.title = "Score of its best head";
    top.definition = "the largest entry of scores in each relation, of E W_V W_O W_U";
    top.range = {0.0, 1.0};
    results.arrays.push_back(std::move(top));
    ResultArray layerArray = ints("best_layer", {count}, layer, {Axis::Relation});
    layerArray.title = "Layer of its best head";
    layerArray.definition = "layer of the first head with best_score; -1 where there is none";
    results.arrays.push_back(std::move(layerArray));
    ResultArray headArray = ints("best_head", {count}, head, {Axis::Relation});
    headArray.title = "Its best head in that layer";
    headArray.definition = "head of the first head with best_score; -1 where there is none";
    results.arrays.push_back(std::move(headArray));
}

void RelationScores::addWarnings(ResultSet& results) const
{
    std::size_t few = 0;
    for (const AskedRelation& relation : m_questions.relations)
        few += relation.isValid ? 0 : 1;
    if (few > 0) {
        results.warnings.push_back(fmt::format(
            "{} of the {} relations {} fewer than {} pairs of single tokens and {} marked as not valid.", few,
            m_questions.relations.size(), few == 1 ? "has" : "have", fewestRelationPairs,
            few == 1 ? "is" : "are"));
    }
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
    return {heads * flops, 12 * r * V + heads * static_cast<double>(askedRelations(options).size()) * 32};
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
        .needs = {.tokenizer = true},
        .pictures =
            {
                {.kind = Picture::Kind::HeadGrid,
                 .title = "Best relation of each head",
                 .arrays = {"analyses/relations/best", "analyses/relations/best_suppression"},
                 .signedColors = false,
                 .note =
                     "1: of every pair of some relation the target is among the k tokens raised (lowered) most."},
                {.kind = Picture::Kind::Bars,
                 .title = "Relations of the head",
                 .arrays = {"analyses/relations/by_head", "analyses/relations/suppression",
                            "analyses/relations/null"},
                 .note = "The null is what a random order of the outputs gives."},
                {.kind = Picture::Kind::Bars,
                 .title = "Relations of the head as the paper's code has them",
                 .arrays = {"analyses/relations/maps_scores", "analyses/relations/maps_suppression"},
                 .note =
                     "W_E for heads of layer 0, MLP0(LN2(W_E)) for later ones; of the weights in use, in the paper those of the file."},
                {.kind = Picture::Kind::Bars,
                 .title = "Pairs hit and missed",
                 .arrays = {"analyses/relations/hits", "analyses/relations/misses"},
                 .note = "Of the pairs whose words are both single tokens."},
                {.kind = Picture::Kind::Table,
                 .title = "The best head of each relation",
                 .arrays = {"analyses/relations/best_score", "analyses/relations/best_layer",
                            "analyses/relations/best_head", "analyses/relations/null", "analyses/relations/k",
                            "analyses/relations/pairs_used", "analyses/relations/valid"},
                 .note =
                     "Relations with fewer than 30 pairs of single tokens are not valid: too few to tell."},
            },
        .followsFilter = true};
}

} // namespace headwise
