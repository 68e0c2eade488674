#include "core/model/merges.h"

#include "core/base/decompositions.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace headwise {
namespace {

/// The dominant singular value of the map x → apply(x) with its adjoint, by power iteration from a fixed start.
/// The result is a lower bound, and within a few per cent even where the largest singular values are close.
template <typename Apply, typename Adjoint>
double largestSingularValue(Eigen::Index size, Apply apply, Adjoint adjoint)
{
    Eigen::VectorXd x(size);
    for (Eigen::Index i = 0; i < size; ++i)
        x[i] = 1 + 0.5 * std::sin(static_cast<double>(3 * i + 1)); // along no axis and no obvious symmetry
    x.normalize();
    double previous = 0;
    for (int step = 0; step < 100; ++step) {
        const Eigen::VectorXd y = apply(x);
        const double length = y.norm();
        if (!std::isfinite(length) || length == 0)
            return length;
        x = adjoint(y);
        x.normalize();
        if (std::abs(length - previous) <= 1e-4 * length)
            return length;
        previous = length;
    }
    return previous;
}

std::string thousands(double condition)
{
    const int exponent = static_cast<int>(std::floor(std::log10(condition)));
    return "10^" + std::to_string(exponent);
}

/// Names the skip connections and norms that the counterpart of this model lacks; empty for a skipless model.
std::string ownSkipsAndNorms(const ModelConfig& c)
{
    if (c.skipless)
        return "";
    return c.norm == NormKind::None
        ? "this model has skip connections, so the merge is about its skipless counterpart"
        : "this model has skip connections and normalisation, so the merge is about its counterpart without them";
}

/// Returns why the counterpart without a pair would compute another function; "" if it would not.
std::string lossOfFunction(const ModelConfig& c)
{
    if (c.parallelBlocks)
        return "parallel blocks can lose one of Q, K, V or P without changing the function, not a pair";
    if (c.attentionOnly)
        return "without MLPs a layer's P meets the next layer's Q, K and V directly, and only one of the four can go without changing the function";
    if (c.positionsInQueriesAndKeys && c.nLayers > 1)
        return "every layer's queries and keys read the same positions, which would have to be in each layer's own basis";
    return "";
}

void setObstacle(Merge& merge, const ModelConfig& c, const std::string& obstacle)
{
    merge.obstacle = obstacle;
    const std::string own = ownSkipsAndNorms(c);
    merge.reason = obstacle + (obstacle.empty() || own.empty() ? "" : "; ") + own;
}

void makeImpossible(Merge& merge, const ModelConfig& c, const std::string& why)
{
    merge.possible = false;
    merge.weightsRemoved = 0;
    merge.saving = 0;
    merge.speedup = 1;
    setObstacle(merge, c, why);
}

/// Above this many d_model³, about half a minute of factorising, the sizes alone decide.
constexpr double maxConditionCost = 1e12;

void leaveConditionsOpen(std::array<Merge, 3>& merges, const ModelConfig& c)
{
    const std::string own = ownSkipsAndNorms(c);
    for (Merge& merge : merges)
        if (merge.possible)
            merge.reason = "by its sizes alone: the condition numbers of " + std::to_string(c.nLayers)
                + " matrices of " + std::to_string(c.dModel)
                + " dimensions are not computed for a model this large" + (own.empty() ? "" : "; ") + own;
}

} // namespace

std::string_view mergeName(MergePair pair)
{
    switch (pair) {
    case MergePair::QP: return "qp";
    case MergePair::KP: return "kp";
    case MergePair::VP: return "vp";
    }
    return "qp";
}

std::optional<MergePair> parseMerge(std::string_view name)
{
    for (const MergePair pair : {MergePair::QP, MergePair::KP, MergePair::VP})
        if (mergeName(pair) == name)
            return pair;
    return std::nullopt;
}

MergedMatrix mergedMatrix(MergePair pair, const ModelConfig& c)
{
    using enum TensorKind;
    switch (pair) {
    case MergePair::QP: break;
    case MergePair::KP: return {W_K, b_K, "K", c.nKvHeads};
    case MergePair::VP: return {W_V, b_V, "V", c.nKvHeads};
    }
    return {W_Q, b_Q, "Q", c.nHeads};
}

double conditionNumber(const Matrix<double>& square)
{
    const Result<LuFactors> lu = luFactors(square);
    if (!lu)
        return std::numeric_limits<double>::quiet_NaN();
    if (lu->LU.diagonal().cwiseAbs().minCoeff() == 0)
        return std::numeric_limits<double>::infinity();
    const auto times = [&](const Eigen::VectorXd& x) -> Eigen::VectorXd { return square * x; };
    const auto timesTransposed = [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
        return square.transpose() * x;
    };
    const auto divided = [&](const Eigen::VectorXd& x) { return luSolution(*lu, LuSide::Matrix, x); };
    const auto dividedTransposed = [&](const Eigen::VectorXd& x) {
        return luSolution(*lu, LuSide::Transpose, x);
    };
    return largestSingularValue(square.rows(), times, timesTransposed)
        * largestSingularValue(square.rows(), divided, dividedTransposed);
}

namespace {

/// Weights of an MLP. \param read components of its inputs
std::int64_t weightsOfMlp(const ModelConfig& c, std::int64_t neurons, std::int64_t read)
{
    return ((c.gatedMlp ? 2 : 1) * read + c.dModel) * neurons;
}

/// Weights of the MLPs of a layer, in a mixture of so many experts, with the router and the MLP that serves every token.
std::int64_t mlpOfLayer(const ModelConfig& c, std::int64_t experts, std::int64_t read)
{
    if (c.attentionOnly)
        return 0;
    if (c.nExperts == 0)
        return weightsOfMlp(c, c.dMlp, read);
    return weightsOfMlp(c, experts * c.dMlp + c.mixture.sharedWidth, read) + read * c.nExperts;
}

std::int64_t mlpOfAllLayers(const ModelConfig& c, std::int64_t experts, std::int64_t read)
{
    const int dense = c.nExperts > 0 ? c.mixture.denseLayers : 0;
    return (c.nLayers - dense) * mlpOfLayer(c, experts, read)
        + dense * weightsOfMlp(c, c.mixture.denseWidth, read);
}

/// Attention whose keys and values, and queries if they have one, come from a latent.
void countLatentAttention(const ModelConfig& c, WeightCount& count)
{
    const std::int64_t width = c.dModel, heads = c.nHeads, queries = c.latents.queries, keys = c.latents.keys,
                       values = heads * c.latents.values, compared = heads * c.dHead, rotated = c.rotary.dim;
    count.qpPerLayer = (queries > 0 ? queries * (width + compared) : width * compared) + values * width;
    count.kvPerLayer = width * (keys + rotated) + keys * (compared - heads * rotated + values);
}

} // namespace

WeightCount countWeights(const ModelConfig& c)
{
    const auto product = [](int a, int b) { return static_cast<std::int64_t>(a) * b; };
    const std::int64_t width = c.dModel, read = c.attentionWidth();
    WeightCount count;
    const std::int64_t stored = c.dEmbed > 0 ? c.dEmbed : width;
    count.embedding = stored * c.dVocab + (c.tiedEmbeddings ? 0 : stored * c.dVocabOut)
        + (c.dEmbed > 0 ? 2 * stored * width : 0);
    const std::int64_t q = width * product(c.nHeads, c.dHead), k = width * product(c.nKvHeads, c.dHead);
    count.qpPerLayer = !c.merged ? 2 * q : c.merged == MergePair::QP ? 0 : q;
    count.kvPerLayer = !c.merged || c.merged == MergePair::QP ? 2 * k : k;
    if (c.latentAttention)
        countLatentAttention(c, count);
    count.mlpPerLayer = mlpOfLayer(c, c.nExperts, read);
    if (c.nExperts > 0 && c.mixture.denseLayers > 0)
        count.mlpPerDenseLayer = weightsOfMlp(c, c.mixture.denseWidth, read);
    count.mlpPerToken = mlpOfAllLayers(c, c.expertsPerToken, read);
    count.total = count.embedding + c.nLayers * (count.qpPerLayer + count.kvPerLayer)
        + mlpOfAllLayers(c, c.nExperts, read);
    return count;
}

std::array<Merge, 3> mergesOf(const ModelConfig& c)
{
    ModelConfig counterpart = c;
    counterpart.latentAttention = false; // as skiplessCounterpart() has it
    const WeightCount count = countWeights(counterpart);
    std::array<Merge, 3> merges;
    for (std::size_t i = 0; i < merges.size(); ++i) {
        Merge& merge = merges[i];
        merge.pair = static_cast<MergePair>(i);
        const MergedMatrix removed = mergedMatrix(merge.pair, c);
        merge.possible = true;
        setObstacle(merge, c, lossOfFunction(c));
        merge.equivalent = merge.obstacle.empty();
        merge.weightsTotal = count.total;
        const std::int64_t perHead = static_cast<std::int64_t>(c.dModel) * c.dHead;
        // P M has n_heads · d_head rows where M had d_model: more of them only beside grouped K and V.
        const std::int64_t width = static_cast<std::int64_t>(c.nHeads) * c.dHead;
        const std::int64_t grown =
            mlpOfAllLayers(c, c.nExperts, width) - mlpOfAllLayers(c, c.nExperts, c.dModel);
        merge.weightsRemoved = c.nLayers * perHead * (removed.heads + c.nHeads) - grown;
        const auto total = static_cast<double>(count.total);
        const auto gone = static_cast<double>(merge.weightsRemoved);
        merge.saving = gone / total;
        merge.speedup = total / (total - gone);
        if (c.merged)
            makeImpossible(merge, c,
                           std::string(mergedMatrix(*c.merged, c).letter)
                               + " and P of this model are already merged into their neighbours");
        else if (static_cast<std::int64_t>(removed.heads) * c.dHead != c.dModel)
            makeImpossible(merge, c,
                           std::string(removed.letter) + " is not square: " + std::to_string(removed.heads)
                               + (merge.pair == MergePair::QP ? " heads" : " key/value heads") + " of "
                               + std::to_string(c.dHead) + " dimensions are not the "
                               + std::to_string(c.dModel) + " of the residual stream");
    }
    return merges;
}

Matrix<double> sideBySide(const ModelWeights& weights, TensorKind kind, int layer, int heads)
{
    const ModelConfig& c = weights.config();
    Matrix<double> all(c.dModel, static_cast<Eigen::Index>(heads) * c.dHead);
    for (int head = 0; head < heads; ++head)
        all.middleCols(static_cast<Eigen::Index>(head) * c.dHead, c.dHead) =
            weights.read<double>(kind, layer, head);
    return all;
}

namespace {

/// Asks about the conditions of some of the merges.
Result<std::array<Merge, 3>> withConditions(const ModelWeights& weights, std::span<const MergePair> pairs,
                                            const Task& task)
{
    const ModelConfig& c = weights.config();
    std::array<Merge, 3> merges = mergesOf(c);
    std::vector<std::pair<std::size_t, int>> questions; // (merge, layer)
    for (const MergePair pair : pairs) {
        const auto i = static_cast<std::size_t>(pair);
        for (int layer = 0; layer < c.nLayers && merges[i].possible; ++layer)
            questions.emplace_back(i, layer);
    }
    const auto possible = std::ranges::count_if(merges, &Merge::possible);
    if (static_cast<double>(possible * c.nLayers) * std::pow(c.dModel, 3) > maxConditionCost) {
        leaveConditionsOpen(merges, c);
        return merges;
    }
    for (const auto& [i, layer] : questions)
        merges[i].conditions.resize(static_cast<std::size_t>(c.nLayers));
    const Result<Done> done = parallelFor(
        static_cast<int>(questions.size()), task, "condition numbers", [&](int q) -> Result<Done> {
            const auto [i, layer] = questions[static_cast<std::size_t>(q)];
            const MergedMatrix removed = mergedMatrix(merges[i].pair, c);
            merges[i].conditions[static_cast<std::size_t>(layer)] =
                conditionNumber(sideBySide(weights, removed.weight, layer, removed.heads));
            return Done{};
        });
    if (!done)
        return done.error();
    for (const auto& [i, layer] : questions) {
        Merge& merge = merges[i];
        const double condition = merge.conditions[static_cast<std::size_t>(layer)];
        if (condition < worstMergeCondition || !merge.possible)
            continue;
        const std::string matrix =
            std::string(mergedMatrix(merge.pair, c).letter) + " of layer " + std::to_string(layer);
        makeImpossible(merge, c,
                       std::isfinite(condition) ? matrix + " has a condition number of about "
                               + thousands(condition) + "; at 10^7 and above the inverse is too inaccurate"
                                                : matrix + " has no inverse");
    }
    return merges;
}

} // namespace

Result<std::array<Merge, 3>> mergesOf(const ModelWeights& weights, const Task& task)
{
    constexpr std::array all{MergePair::QP, MergePair::KP, MergePair::VP};
    return withConditions(weights, all, task);
}

Result<Merge> mergeOf(const ModelWeights& weights, MergePair pair, const Task& task)
{
    const auto merges = withConditions(weights, {&pair, 1}, task);
    if (!merges)
        return merges.error();
    return (*merges)[static_cast<std::size_t>(pair)];
}

Flops countFlops(const ModelConfig& c)
{
    const WeightCount count = countWeights(c);
    const double unembedding = static_cast<double>(c.dModel) * c.dVocabOut;
    const double layers = c.nLayers;
    const double matrices =
        layers * (static_cast<double>(count.qpPerLayer) + static_cast<double>(count.kvPerLayer))
        + static_cast<double>(count.mlpPerToken) + unembedding;
    const double tokens = c.nCtx;
    // Components that a pair's score and its value take.
    const double perPair =
        static_cast<double>(c.nHeads) * (c.dHead + (c.latentAttention ? c.latents.values : c.dHead));
    const double pairs = c.bidirectional ? tokens * tokens : tokens * (tokens + 1) / 2;
    return {.perToken = 2 * matrices + 2 * layers * tokens * perPair,
            .perSequence = 2 * tokens * matrices + 2 * layers * pairs * perPair};
}

} // namespace headwise
