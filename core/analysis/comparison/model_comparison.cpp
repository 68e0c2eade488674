#include "core/analysis/comparison/model_comparison.h"

#include "core/analysis/comparison/circuit_pair.h"
#include "core/analysis/comparison/direction_match.h"
#include "core/analysis/comparison/table_change.h"
#include "core/analysis/selected_heads.h"
#include "core/circuits/random_matrix.h"
#include "core/circuits/singular_directions.h"
#include "core/tokenizer/tokenizer.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise {

namespace {

constexpr int nullSamples = 500;

std::span<const double> valuesOf(const Eigen::VectorXd& s)
{
    return {s.data(), static_cast<std::size_t>(s.size())};
}

/// The degenerate block of each direction above the null space. \returns [rank]
std::vector<int> blocksOf(const Directions& directions)
{
    std::vector<int> blocks = degenerateBlocks(valuesOf(directions.core.S), directions.rank);
    blocks.resize(static_cast<std::size_t>(directions.rank));
    return blocks;
}

/// The changes of one circuit from the older to the newer model, for every head.
struct CircuitChange {
    RealNumbers change, cosine, oldSigma, newSigma, sigmaChange;
    std::array<RealNumbers, 2> maxCosine, intruders; // of the left and the right singular vectors
    std::array<RealNumbers, 2> cosines;              // [direction of B, direction of A]

    CircuitChange(const ModelConfig& config, int directions)
        : change(RealNumbers::perHead(config))
        , cosine(change)
        , oldSigma(RealNumbers::perHead(config, config.dHead))
        , newSigma(oldSigma)
        , sigmaChange(oldSigma)
        , maxCosine{RealNumbers::perHead(config, directions), RealNumbers::perHead(config, directions)}
        , intruders{change, change}
        , cosines{RealNumbers::perHead(config, directions, config.dHead),
                  RealNumbers::perHead(config, directions, config.dHead)}
    {
    }

    Result<Done> add(HeadId head, const CircuitPair& circuit);
    /// \param all [new directions, old directions], their matches
    void addSide(HeadId head, std::size_t side, const Matrix<double>& all, bool isSame);
};

void CircuitChange::addSide(HeadId head, std::size_t side, const Matrix<double>& all, bool isSame)
{
    if (all.cols() == 0)
        return;
    const std::span<double> row = maxCosine[side].of(head);
    const std::span<double> each = cosines[side].of(head);
    const std::size_t width = each.size() / row.size();
    int found = 0;
    for (Eigen::Index i = 0; i < all.rows(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const RowVector<double> one = all.row(i);
        std::copy(one.begin(), one.end(), each.subspan(at * width, width).begin());
        row[at] = isSame ? 1.0 : std::min(1.0, one.maxCoeff());
        found += row[at] < intruderCosine ? 1 : 0;
    }
    intruders[side].set(head, found);
}

Result<Done> CircuitChange::add(HeadId head, const CircuitPair& circuit)
{
    const auto& [left, right] = circuit;
    const auto a = directionsOf(left.before, right.before);
    if (!a)
        return a.error();
    const auto b = circuit.isSame() ? a : directionsOf(left.after, right.after);
    if (!b)
        return b.error();
    const double normA = a->core.S.norm(), normB = b->core.S.norm();
    if (normA > 0)
        change.set(head, changeNorm(circuit) / normA);
    if (normA > 0 && normB > 0)
        cosine.set(head,
                   circuit.isSame() ? 1.0 : std::clamp(innerProduct(circuit) / (normA * normB), -1.0, 1.0));
    oldSigma.set(head, valuesOf(a->core.S));
    newSigma.set(head, valuesOf(b->core.S));
    const Eigen::VectorXd moved = b->core.S - a->core.S;
    sigmaChange.set(head, valuesOf(moved));
    const auto looked = std::min(static_cast<Eigen::Index>(maxCosine[0].of(head).size()), b->rank);
    const std::vector<int> oldBlocks = blocksOf(*a), newBlocks = blocksOf(*b);
    const auto matchesOf = [&](const FactorPair& pair, const Matrix<double>& before,
                               const Matrix<double>& after) -> Matrix<double> {
        const Matrix<double> cosinesOfAll =
            after.leftCols(b->rank).transpose() * pair.overlap * before.leftCols(a->rank);
        return directionMatches(cosinesOfAll, newBlocks, oldBlocks).topRows(looked);
    };
    addSide(head, 0, matchesOf(left, a->core.U, b->core.U), circuit.isSame());
    addSide(head, 1, matchesOf(right, a->core.V, b->core.V), circuit.isSame());
    return Done{};
}

/// The largest |cosine| of a random direction with r orthonormal ones: moments, and the share of intruders among the draws.
struct DirectionNull {
    double mean = 0, deviation = 0, intruders = 0;
};

DirectionNull directionNull(const ModelConfig& config, std::uint64_t seed)
{
    // By symmetry the r orthonormal directions may be axes.
    const Matrix<double> g = gaussianMatrix(config.dModel, nullSamples, seed);
    const Eigen::Index r = std::min(config.dHead, config.dModel);
    const Eigen::ArrayXd cosines =
        (g.topRows(r).cwiseAbs().colwise().maxCoeff().array() / g.colwise().norm().array()).transpose();
    return {cosines.mean(), std::sqrt((cosines - cosines.mean()).square().mean()),
            (cosines < intruderCosine).cast<double>().mean()};
}

constexpr std::array comparedCircuits{CircuitKind::Qk, CircuitKind::Ov};
constexpr std::array<const char*, 2> sideNames{"left", "right"};
constexpr std::array<std::pair<const char*, const char*>, 4> comparedSubspaces{
    {{"q", "queries read"}, {"k", "keys read"}, {"v", "values read"}, {"o", "heads write"}}};

std::string comparisonFolder(CircuitKind kind)
{
    return "comparison/" + std::string(circuitName(kind)) + "/";
}

/// Returns the definition of the best matches. \param seed appended to the null
std::string maxCosineText(CircuitKind kind, std::size_t side, const std::string& seed)
{
    return fmt::format(
        "max over J of ‖{0}_Jᵀ {0}_I‖_F/√|I|, {1} = U Σ Vᵀ, I = the degenerate block (E7) of B's direction i, J = A's blocks and, where they have fewer directions than I, "
        "shortest runs of neighbours with |J| ≥ |I|: max over j of |{0}_Bᵀ {0}_A|_ij where all stand alone; i by falling σ_B; NaN beyond the rank; null: a random direction "
        "beside old ones that stand alone, {2} samples{3}",
        side == 0 ? "U" : "V", circuitFormula(kind), nullSamples, seed);
}

std::string intrudersText(const std::string& looked)
{
    return fmt::format(
        "how many of the first {} new directions have a best match below {} among the old ones (Shuttleworth et al., arXiv 2410.21228), degenerate directions compared by their spans",
        looked, intruderCosine);
}

std::vector<ArraySpec> circuitChangeArrays(CircuitKind kind)
{
    const std::string at = comparisonFolder(kind);
    const std::string W(circuitFormula(kind));
    const std::string of = " singular values of " + W + ", falling, padded with 0";
    const std::pair share(0.0, 1.0);
    const bool isQk = kind == CircuitKind::Qk;
    std::vector<ArraySpec> all{
        {at + "relative_change", headAxes(), "Relative change of " + W,
         "‖W_B − W_A‖_F / ‖W_A‖_F, W = " + W + "; null: unrelated heads of equal norm"},
        {at + "cosine", headAxes(), "Cosine of " + W, "⟨W_A, W_B⟩_F / (‖W_A‖_F ‖W_B‖_F), W = " + W, "",
         std::pair(-1.0, 1.0)},
        {at + "singular_values_a", headAxes({Axis::Rank}), "Singular values of A", "A's" + of},
        {at + "singular_values_b", headAxes({Axis::Rank}), "Singular values of B", "B's" + of},
        {at + "singular_value_change", headAxes({Axis::Rank}), "Change of the singular values",
         "B's less A's" + of}};
    for (const std::size_t side : {0, 1}) {
        const std::string name = sideNames[side];
        const std::string where = side == 0 ? isQk ? "query" : "read" : isQk ? "key" : "written";
        all.push_back({at + name + "_max_cosine", headAxes({Axis::Direction}),
                       "Best match of each new " + where + " direction", maxCosineText(kind, side, ""), "",
                       share});
        all.push_back({at + name + "_intruders", headAxes(), "Intruders among the " + where + " directions",
                       intrudersText("n")});
        all.push_back(
            {at + name + "_cosines", headAxes({Axis::NewDirection, Axis::OldDirection}),
             std::string(isQk ? "QK" : "OV") + ", " + where + " directions, new and old",
             fmt::format(
                 "max over J with j in J of ‖{0}_Jᵀ {0}_I‖_F/√|I|, {1} = U Σ Vᵀ, I and J as of {2}, by falling σ; |{0}_Bᵀ {0}_A|_ij where i and j stand alone; NaN beyond the rank",
                 side == 0 ? "U" : "V", W, name + "_max_cosine"),
             "", share});
    }
    return all;
}

void putCircuitChange(Results& results, const CircuitChange& circuit, CircuitKind kind,
                      const ComparisonOptions& options, const ModelConfig& config)
{
    const std::string at = comparisonFolder(kind);
    results.put(at + "relative_change", circuit.change).nullMean = std::sqrt(2.0);
    ResultArray& cosine = results.put(at + "cosine", circuit.cosine);
    cosine.nullMean = 0;
    cosine.nullDeviation = 1.0 / config.dModel;
    results.put(at + "singular_values_a", circuit.oldSigma);
    results.put(at + "singular_values_b", circuit.newSigma);
    results.put(at + "singular_value_change", circuit.sigmaChange);
    const DirectionNull null = directionNull(config, options.seed);
    const int looked = std::min({options.directions, config.dHead, config.dModel});
    for (std::size_t side = 0; side < sideNames.size(); ++side) {
        const std::string start = at + sideNames[side];
        ResultArray& best = results.put(start + "_max_cosine", circuit.maxCosine[side]);
        best.definition = maxCosineText(kind, side, " with seed " + std::to_string(options.seed));
        best.nullMean = null.mean;
        best.nullDeviation = null.deviation;
        ResultArray& intruders = results.put(start + "_intruders", circuit.intruders[side]);
        intruders.definition = intrudersText(std::to_string(looked));
        intruders.nullMean = looked * null.intruders;
        intruders.nullDeviation = std::sqrt(looked * null.intruders * (1 - null.intruders));
        results.put(start + "_cosines", circuit.cosines[side]);
    }
}

std::string kernelPath(std::size_t subspace)
{
    return std::string("comparison/projection_kernel/") + comparedSubspaces[subspace].first;
}

void putKernels(Results& results, const std::vector<RealNumbers>& kernels, const ModelConfig& config)
{
    const double d = config.dModel, r = std::min(config.dHead, config.dModel);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        ResultArray& array = results.put(kernelPath(i), kernels[i]);
        array.nullMean = r / d;
        // Var tr(P Q) = 2 r² (d − r)² / (d² (d − 1) (d + 2)) for random projections of rank r.
        array.nullDeviation = d > 1 ? std::sqrt(2 / ((d - 1) * (d + 2))) * (d - r) / d : 0;
    }
}

/// "n_layers is 2 and 4, …"
void addDifference(std::string& text, std::string_view name, const std::string& a, const std::string& b)
{
    if (a != b)
        text += (text.empty() ? "" : ", ") + std::string(name) + " is " + a + " and " + b;
}

} // namespace

std::string whyNotCompare(const ModelConfig& a, const ModelConfig& b)
{
    std::string text;
    addDifference(text, "architecture", a.architecture, b.architecture);
    const auto number = [&](std::string_view name, int first, int second) {
        addDifference(text, name, std::to_string(first), std::to_string(second));
    };
    number("n_layers", a.nLayers, b.nLayers);
    number("n_heads", a.nHeads, b.nHeads);
    number("n_kv_heads", a.nKvHeads, b.nKvHeads);
    number("d_model", a.dModel, b.dModel);
    number("d_head", a.dHead, b.dHead);
    number("d_mlp", a.dMlp, b.dMlp);
    addDifference(text, "positional", std::string(positionalName(a.positional)),
                  std::string(positionalName(b.positional)));
    addDifference(text, "skipless", a.skipless ? "true" : "false", b.skipless ? "true" : "false");
    addDifference(text, "merged", a.merged ? "a pair" : "none", b.merged ? "a pair" : "none");
    return text;
}

bool haveSameVocabulary(const Tokenizer* a, const Tokenizer* b, int dVocab)
{
    for (int id = 0; a && b && id < dVocab; ++id)
        if (a->bytes(id) != b->bytes(id) || a->shown(id) != b->shown(id))
            return false;
    return true;
}

AnalysisCost comparisonCost(const ModelConfig& config)
{
    const double d = config.dModel, r = std::min(config.dModel, config.dHead), V = config.dVocabOut;
    const double heads = static_cast<double>(config.nLayers) * config.nHeads;
    const double tokens = std::min(sampledTokenCount(config), config.dVocab);
    return {heads * (40 * d * r * r + 4 * tokens * d * V), 4 * d * (V + 2 * heads * tokens) + 8 * 40 * d * r};
}

std::vector<ArraySpec> comparisonArrays()
{
    std::vector<ArraySpec> all;
    const auto add = [&](const std::vector<ArraySpec>& specs) {
        all.insert(all.end(), specs.begin(), specs.end());
    };
    for (const CircuitKind kind : comparedCircuits)
        add(circuitChangeArrays(kind));
    for (std::size_t i = 0; i < comparedSubspaces.size(); ++i)
        all.push_back(
            {kernelPath(i), headAxes(), std::string("What ") + comparedSubspaces[i].second + ", then and now",
             "‖U_Aᵀ U_B‖_F² / rank, U orthonormal bases of W_Q, W_K, W_V or W_Oᵀ: 1 for the same subspace, 0 for orthogonal ones; null: random subspaces",
             "", std::pair(0.0, 1.0)});
    add(tableChangeArrays());
    return all;
}

Result<ResultSet> compareModels(const Circuits& older, const Circuits& newer,
                                const ComparisonOptions& options, const Task& task)
{
    const ModelConfig& config = older.config();
    if (const std::string reason = whyNotCompare(config, newer.config()); !reason.empty())
        return Error{
            ErrorCode::InvalidArgument,
            "Only models of the same architecture and size can be compared head by head, and of these "
                + reason
                + "; `headwise compare --match` pairs the heads of any two models by what they write."};
    const int directions = std::clamp(options.directions, 1, config.dHead);
    CircuitChange qk(config, directions), ov(config, directions);
    std::vector<RealNumbers> kernels(comparedSubspaces.size(), RealNumbers::perHead(config));
    const AnalysisContext context{older, nullptr, {}};
    auto warnings = forEachHead(context, task, "comparison", [&](HeadId head) -> Result<Done> {
        HeadWeights<double> a = older.weights().head<double>(head), b = newer.weights().head<double>(head);
        for (const CircuitKind kind : comparedCircuits) {
            const bool isQk = kind == CircuitKind::Qk;
            const auto circuit = circuitPair(kind, a, b);
            if (!circuit)
                return circuit.error();
            if (const auto done = (isQk ? qk : ov).add(head, *circuit); !done)
                return done;
            for (const auto& [factor, at] :
                 {std::pair(&circuit->left, isQk ? 0 : 2), {&circuit->right, isQk ? 1 : 3}}) {
                const auto kernel = projectionKernel(*factor);
                if (!kernel)
                    return kernel.error();
                kernels[static_cast<std::size_t>(at)].set(head, *kernel);
            }
        }
        return Done{};
    });
    if (!warnings)
        return warnings.error();
    Results results(config, options.precision, comparisonArrays());
    results.warn(*warnings);
    putCircuitChange(results, qk, CircuitKind::Qk, options, config);
    putCircuitChange(results, ov, CircuitKind::Ov, options, config);
    putKernels(results, kernels, config);
    if (!options.sameVocabulary || config.dVocab != newer.config().dVocab
        || config.dVocabOut != newer.config().dVocabOut) {
        results.warn("The token tables are not compared because the two vocabularies differ.");
        return std::move(results).finish();
    }
    if (const auto put = putTableChanges(older, newer, options, task, results); !put)
        return put.error();
    return std::move(results).finish();
}

} // namespace headwise
