#include "core/analysis/analyses.h"
#include "core/analysis/comparison/all_pairs.h"
#include "core/circuits/clustering.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

const std::string headMapFolder = "analyses/head_map/";
constexpr const char* similarityFormula = "s = (cosine of W_QK + cosine of W_OV) / 2";

/// The heads that have both cosines, with 1 − s of every pair.
struct Distances {
    std::vector<HeadId> heads;
    Matrix<double> values;
};

Result<Distances> headMapDistances(const AnalysisContext& context, const Task& task)
{
    const auto qk = circuitCosines(context, CircuitKind::Qk, task);
    if (!qk)
        return qk.error();
    const auto ov = circuitCosines(context, CircuitKind::Ov, task);
    if (!ov)
        return ov.error();
    const Matrix<double> similarity = 0.5 * (*qk + *ov);
    const std::vector<HeadId> asked = selectedHeads(context.circuits.config(), context.options);
    Distances found;
    std::vector<Eigen::Index> rows;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        if (!std::isnan(similarity(row, row))) {
            found.heads.push_back(asked[i]);
            rows.push_back(row);
        }
    }
    found.values = (1 - similarity(rows, rows).array()).max(0.0);
    found.values.diagonal().setZero();
    return found;
}

std::int32_t flat(const ModelConfig& config, HeadId head)
{
    return head.layer * config.nHeads + head.head;
}

/// A linkage rule for building clusters.
struct Linkage {
    const char* prefix; // of its arrays
    const char* name;
    const char* height; // what that of a step is
    bool hasNull;       // whether unrelated heads join at 1
};
constexpr Linkage average{"", "average", "mean of 1 − s between the heads of the two clusters, ", true};
constexpr Linkage ward{
    "ward_", "Ward's",
    "root of twice what joining the two clusters adds to the sum of squared distances from their centres, distance = 1 − s, ",
    false};

std::vector<ArraySpec> headMapArrays()
{
    const std::string formula = similarityFormula;
    const std::vector<ArrayAxis> leaves{Axis::Leaf, Axis::OtherLeaf};
    std::vector<ArraySpec> all{{headMapFolder + "coordinates", headAxes({Axis::Coordinate}),
                                "Map of the heads", "classical scaling of 1 − s, " + formula}};
    for (const Linkage& linkage : {average, ward}) {
        const std::string at = headMapFolder + linkage.prefix;
        const std::string of = std::string(linkage.name) + " linkage of 1 − s, ";
        const auto whole = [&](const char* name, std::vector<ArrayAxis> axes, const std::string& title,
                               const std::string& definition) {
            all.push_back({.path = at + name,
                           .axes = std::move(axes),
                           .title = title,
                           .definition = definition,
                           .type = NumberType::Whole});
        };
        const char* stepText =
            "layer · n_heads + head of a head, n_layers · n_heads + i for the cluster of step i";
        whole("leaf_order", headAxes(), "Place in the order of the leaves",
              "place in the order of the clusters of " + of + formula);
        whole("leaves", {Axis::Leaf}, "Heads in the order of the leaves", "layer · n_heads + head");
        all.push_back({at + "ordered_similarity", leaves, "Similarity in the order of the leaves", formula,
                       "", std::pair(-1.0, 1.0)});
        whole("step_first", {Axis::Step}, "First cluster joined", stepText);
        whole("step_second", {Axis::Step}, "Second cluster joined", stepText);
        all.push_back({at + "step_height",
                       {Axis::Step},
                       std::string("Height of the clusters, ") + linkage.name + " linkage",
                       linkage.height + formula});
        whole("cluster", headAxes(), std::string("Cluster, ") + linkage.name + " linkage",
              "which of √(heads/2), at least 2, clusters of " + of + "numbered by their first heads, "
                  + formula);
    }
    return all;
}

void putPoints(Results& results, const AnalysisContext& context, const Distances& all, const PlaneMap& map)
{
    RealNumbers points = RealNumbers::perHead(context.circuits.config(), 2);
    for (std::size_t i = 0; i < all.heads.size(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        points.of(all.heads[i])[0] = map.points(row, 0);
        points.of(all.heads[i])[1] = map.points(row, 1);
    }
    ResultArray& array = results.put(headMapFolder + "coordinates", std::move(points));
    array.attributes["share_of_distances"] = map.shareOfDistances;
    // Heads that are all equally far from each other.
    const double others = static_cast<double>(all.heads.size()) - 1;
    array.attributes["null_share_of_distances"] = others > 2 ? 2 / others : 1.0;
}

/// Puts the clusters. Their number is √(heads/2) (Mardia et al. 1979, §13), at least 2.
void putClusters(Results& results, const AnalysisContext& context, const Distances& all,
                 const Clustering& clusters, const Linkage& linkage)
{
    const auto count = static_cast<int>(std::round(std::sqrt(static_cast<double>(all.heads.size()) / 2)));
    const std::vector<int> of = clustersOf(clusters, std::max(2, count));
    WholeNumbers numbers = WholeNumbers::perHead(context.circuits.config());
    for (std::size_t i = 0; i < of.size(); ++i)
        numbers.set(all.heads[i], of[i]);
    results.put(headMapFolder + linkage.prefix + "cluster", std::move(numbers));
}

/// Puts the order of the leaves, and the similarities in that order.
void putOrder(Results& results, const AnalysisContext& context, const Distances& all,
              const std::vector<int>& leaves, const Linkage& linkage)
{
    const std::string start = headMapFolder + linkage.prefix;
    const ModelConfig& config = context.circuits.config();
    WholeNumbers order = WholeNumbers::perHead(config);
    std::vector<std::int32_t> heads;
    std::vector<std::string> labels;
    std::vector<double> similarities;
    heads.reserve(leaves.size());
    labels.reserve(leaves.size());
    similarities.reserve(leaves.size() * leaves.size());
    for (std::size_t place = 0; place < leaves.size(); ++place) {
        const HeadId head = all.heads[static_cast<std::size_t>(leaves[place])];
        order.set(head, static_cast<std::int32_t>(place));
        heads.push_back(flat(config, head));
        labels.push_back(dottedHead(head));
        for (const int other : leaves)
            similarities.push_back(1 - all.values(leaves[place], other));
    }
    const std::size_t count = leaves.size();
    results.put(start + "leaf_order", std::move(order));
    results.put(start + "leaves", std::move(heads)).attributes["heads"] = labels;
    ResultArray& array = results.put(start + "ordered_similarity", {count, count}, std::move(similarities));
    array.nullMean = 0.0;
    array.nullDeviation = std::sqrt(0.5) / config.dModel;
    array.attributes["heads"] = std::move(labels);
}

void putSteps(Results& results, const AnalysisContext& context, const Distances& all,
              const std::vector<ClusterStep>& steps, const Linkage& linkage)
{
    const ModelConfig& config = context.circuits.config();
    const auto points = static_cast<int>(all.heads.size());
    const int beyond = config.nLayers * config.nHeads;
    const auto name = [&](int cluster) {
        return cluster < points ? flat(config, all.heads[static_cast<std::size_t>(cluster)])
                                : beyond + cluster - points;
    };
    std::vector<std::int32_t> first, second;
    std::vector<double> heights;
    first.reserve(steps.size());
    second.reserve(steps.size());
    heights.reserve(steps.size());
    for (const ClusterStep& step : steps) {
        first.push_back(name(step.first));
        second.push_back(name(step.second));
        heights.push_back(step.height);
    }
    const std::string start = headMapFolder + linkage.prefix;
    results.put(start + "step_first", std::move(first));
    results.put(start + "step_second", std::move(second));
    ResultArray& array = results.put(start + "step_height", std::move(heights));
    if (linkage.hasNull) {
        array.nullMean = 1.0; // unrelated heads
        array.nullDeviation = std::sqrt(0.5) / config.dModel;
    }
}

Result<ResultSet> runHeadMap(const AnalysisContext& context, const Task& task)
{
    const auto all = headMapDistances(context, task);
    if (!all)
        return all.error();
    const auto map = planeMap(all->values);
    if (!map)
        return map.error();
    if (task.cancelled())
        return stopped();
    Results results = resultsOf(context, headMapArrays());
    putPoints(results, context, *all, *map);
    for (const Linkage& linkage : {average, ward}) {
        if (task.cancelled())
            return stopped();
        const Clustering clusters = linkage.hasNull ? averageLinkage(all->values) : wardLinkage(all->values);
        putOrder(results, context, *all, clusters.leaves, linkage);
        putSteps(results, context, *all, clusters.steps, linkage);
        putClusters(results, context, *all, clusters, linkage);
    }
    return std::move(results).finish();
}

AnalysisCost headMapCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {heads * heads / 2 * 8 * r * r * d + 60 * heads * heads * heads,
            heads * (2 * d * r * 4 + 7 * heads * 8)};
}

std::vector<Picture> headMapPictures()
{
    using Kind = Picture::Kind;
    return {{.kind = Kind::HeadMap,
             .title = "Map of the heads",
             .arrays = {headMapFolder + "coordinates"},
             .note = "Nearby heads have similar circuits; the axes have no meaning of their own."},
            {.kind = Kind::Matrix,
             .title = "Similarity, heads in the order of the clusters",
             .arrays = {headMapFolder + "ordered_similarity"}},
            {.kind = Kind::Matrix,
             .title = "Similarity, heads in the order of Ward's clusters",
             .arrays = {headMapFolder + "ward_ordered_similarity"}},
            {.kind = Kind::HeadGrid,
             .title = "Clusters",
             .arrays = {headMapFolder + "cluster", headMapFolder + "ward_cluster"},
             .signedColors = false,
             .note = "Numbered by their first heads; the map can be coloured by them."},
            {.kind = Kind::HeadGrid,
             .title = "Place in the order of the clusters",
             .arrays = {headMapFolder + "leaf_order"},
             .signedColors = false},
            {.kind = Kind::Lines,
             .title = "Heights of the clusters",
             .arrays = {headMapFolder + "step_height", headMapFolder + "ward_step_height"},
             .note = "With average linkage, unrelated heads join at 1."}};
}

} // namespace

Analysis headMapAnalysis()
{
    return {.id = "head_map",
            .number = "F2",
            .title = "Map and clusters of the heads",
            .formula =
                "average and Ward's linkage and classical scaling of 1 − (cosine of W_QK + cosine of W_OV)/2",
            .citation = "Sokal & Michener 1958; Ward 1963; Torgerson 1952",
            .whyNot = appliesAlways,
            .cost = headMapCost,
            .run = runHeadMap,
            .arrays = headMapArrays(),
            .pictures = headMapPictures()};
}

} // namespace headwise
