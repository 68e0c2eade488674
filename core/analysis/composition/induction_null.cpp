#include "core/analysis/composition/induction_meeting.h"
#include "core/analysis/composition/induction_parts.h"
#include "core/analysis/shared/eigenvalue_null.h"
#include "core/analysis/shared/position_vectors.h"
#include "core/base/decompositions.h"
#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/spectrum.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index longestContext = 1024; // as in scores/previous_token

/// Random permutations of the residual directions. Fisher–Yates gives the same result on every machine.
class RandomOrder {
public:
    explicit RandomOrder(std::uint64_t seed)
        : m_random(seed)
    {
    }

    std::size_t below(std::size_t count) { return static_cast<std::size_t>(m_random() % count); }

    std::vector<Eigen::Index> next(Eigen::Index count)
    {
        std::vector<Eigen::Index> order(static_cast<std::size_t>(count));
        std::iota(order.begin(), order.end(), Eigen::Index(0));
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[below(i)]);
        return order;
    }

private:
    std::mt19937_64 m_random;
};

struct Draw {
    double previousToken = notComputed, copying = notComputed, composition = notComputed,
           matching = notComputed;
};

/// Vectors and matrices of the residual stream that all random pairs share.
template <typename Scalar>
struct Residuals {
    std::optional<PositionVectors<Scalar>> positions; // of learned positions
    RowVector<double> tokenOfLayer0, tokenOfLater; // x̄ of the tokens that layer 0 and the later layers read
    Matrix<Scalar> unembedEmbedOfLayer0, unembedEmbedOfLater; // [d, d], atUnitNorm; empty unless square

    Residuals(const AnalysisContext& context, RowVector<double> meanOfLayer0, RowVector<double> meanOfLater)
        : tokenOfLayer0(std::move(meanOfLayer0))
        , tokenOfLater(std::move(meanOfLater))
    {
        const ModelConfig& config = context.circuits.config();
        if (config.positional == Positional::Learned)
            positions.emplace(context.circuits.weights(),
                              std::min<Eigen::Index>(config.nCtx, longestContext));
        if (context.tokens->isSquare()) {
            unembedEmbedOfLayer0 = atUnitNorm(context.tokens->unembedEmbedOf(0)).template cast<Scalar>();
            unembedEmbedOfLater = atUnitNorm(context.tokens->UE).template cast<Scalar>();
        }
    }
};

template <typename Scalar>
double randomPreviousToken(const AnalysisContext& context, HeadId head,
                           const std::vector<Eigen::Index>& order, const Residuals<Scalar>& residuals)
{
    const ModelConfig& config = context.circuits.config();
    const ProcessedWeights& weights = context.circuits.weights();
    const Eigen::Index n = std::min<Eigen::Index>(config.nCtx, longestContext);
    const int window = config.windowOf(head.layer);
    if (residuals.positions) {
        const Matrix<Scalar> x = (*residuals.positions->of(head.layer))(Eigen::all, order);
        return previousTokenScore(positionScores(weights, head.layer, weights.head<Scalar>(head), x), window,
                                  weights.sink(head));
    }
    if (config.positional != Positional::Rotary)
        return notComputed;
    const RowVector<double> x = (head.layer == 0 ? residuals.tokenOfLayer0 : residuals.tokenOfLater)(order);
    return previousTokenScore(offsetScores(weights, head, x, n), window, weights.sink(head));
}

template <typename Scalar>
Result<double> randomCopying(const HeadWeights<double>& head, const Matrix<Scalar>& UE, RandomOrder& random)
{
    const Eigen::Index d = head.W_V.rows();
    const Matrix<Scalar> V = atUnitNorm(head.W_V(random.next(d), Eigen::all)).template cast<Scalar>();
    const Matrix<Scalar> O = atUnitNorm(head.W_O(Eigen::all, random.next(d))).template cast<Scalar>();
    const auto lambda = eigenvalues<Scalar>(smallerProduct<Scalar>(V, O * UE));
    if (!lambda)
        return lambda.error();
    return positivity({lambda->data(), static_cast<std::size_t>(lambda->size())});
}

/// Draws one random pair, with the residual directions of every part shuffled.
template <typename Scalar>
Result<Draw> randomPair(const AnalysisContext& context, std::pair<HeadId, HeadId> heads,
                        const Residuals<Scalar>& residuals, RandomOrder random)
{
    const auto [earlier, later] = heads;
    const TokenSide& tokens = *context.tokens;
    const Eigen::Index d = context.circuits.config().dModel;
    HeadWeights<double> before = context.circuits.weights().head<double>(earlier);
    HeadWeights<double> after = context.circuits.weights().head<double>(later);
    Draw draw;
    draw.previousToken = randomPreviousToken(context, earlier, random.next(d), residuals);
    if (tokens.isSquare()) {
        const auto copying = randomCopying(
            after, later.layer == 0 ? residuals.unembedEmbedOfLayer0 : residuals.unembedEmbedOfLater, random);
        if (!copying)
            return copying.error();
        draw.copying = *copying;
    }
    after.W_Q = Matrix<double>(after.W_Q(random.next(d), Eigen::all));
    after.W_K = Matrix<double>(after.W_K(random.next(d), Eigen::all));
    before.W_V = Matrix<double>(before.W_V(random.next(d), Eigen::all));
    const auto reader = readerOf<Scalar>(after, tokens.embeddingGramOf(later.layer));
    const auto writer = writerOf<Scalar>(before, tokens.embeddingGramOf(later.layer));
    if (!reader || !writer)
        return reader ? writer.error() : reader.error();
    const auto numbers = meet(*writer, *reader, tokens.embeddingOf(later.layer));
    if (!numbers)
        return numbers.error();
    draw.composition = numbers->composition;
    draw.matching = numbers->matching;
    return draw;
}

template <typename Scalar>
Result<Done> drawPairs(std::vector<Draw>& draws, const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<HeadId> earlier, later;
    for (const HeadId head : selectedHeads(config, context.options)) {
        if (head.layer + 1 < config.nLayers)
            earlier.push_back(head);
        if (head.layer > 0)
            later.push_back(head);
    }
    if (earlier.empty() || later.empty())
        return Done{};
    const auto ofLayer0 = context.tokens->embeddingOf(0).statistics(withoutProgress(task), {});
    const auto ofLater = context.tokens->E.statistics(withoutProgress(task), {});
    if (!ofLayer0 || !ofLater)
        return ofLayer0 ? ofLater.error() : ofLayer0.error();
    const Residuals<Scalar> residuals(context, (*ofLayer0)->mean, (*ofLater)->mean);
    return parallelFor(static_cast<int>(draws.size()), task, "random pairs", [&](int i) -> Result<Done> {
        // Every draw has its own generator, so the number of threads does not change the results.
        RandomOrder random(context.options.inputs.seed * inductionNullDraws + static_cast<std::uint64_t>(i));
        const HeadId before = earlier[random.below(earlier.size())];
        const HeadId after = later[random.below(later.size())];
        const auto draw = randomPair(context, {before, after}, residuals, random);
        if (draw)
            draws[static_cast<std::size_t>(i)] = *draw;
        return draw || draw.error().code == ErrorCode::Corrupt ? Result<Done>(Done{}) : draw.error();
    });
}

} // namespace

Result<InductionNull> inductionNull(const AnalysisContext& context, const Task& task)
{
    std::vector<Draw> draws(inductionNullDraws);
    const auto done = context.options.precision == Precision::F64 ? drawPairs<double>(draws, context, task)
                                                                  : drawPairs<float>(draws, context, task);
    if (!done)
        return done.error();
    std::vector<double> previousToken, copying, composition, matching;
    for (const Draw& draw : draws) {
        previousToken.push_back(draw.previousToken);
        copying.push_back(draw.copying);
        composition.push_back(draw.composition);
        matching.push_back(draw.matching);
    }
    return InductionNull{Sample(previousToken), Sample(copying), Sample(composition), Sample(matching)};
}

} // namespace headwise
