#include "core/analysis/composition/induction_ranking.h"
#include "core/base/matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace headwise {

namespace {

std::size_t inductionRankingFlat(const ModelConfig& config, HeadId head)
{
    return static_cast<std::size_t>(head.layer) * config.nHeads + head.head;
}

/// Returns the percentile, or the median 0.5 if it is unknown.
double inductionRankingKnown(double percentile)
{
    return std::isnan(percentile) ? 0.5 : percentile;
}

using InductionRankingPair = std::pair<HeadId, HeadId>;

/// Returns the pairs with known composition and matching, in order.
std::vector<InductionRankingPair> pairsOf(const AnalysisContext& context, const InductionParts& parts)
{
    const std::vector<HeadId> heads = selectedHeads(context.circuits.config(), context.options);
    std::vector<InductionRankingPair> pairs;
    for (const HeadId earlier : heads) {
        for (const HeadId later : heads) {
            if (!std::isnan(parts.composition.at(earlier, later))
                && !std::isnan(parts.matching.at(earlier, later)))
                pairs.emplace_back(earlier, later);
        }
    }
    return pairs;
}

/// The product of a pair's four percentiles among this model's heads and pairs.
class Ranking {
public:
    Ranking(const ModelConfig& config, const InductionParts& parts, const std::vector<HeadId>& marked)
        : m_config(config)
        , m_composition(percentiles(parts.composition.values()))
        , m_matching(percentiles(parts.matching.values()))
    {
        const auto perLayer = static_cast<std::ptrdiff_t>(config.nHeads);
        std::vector<double> before = parts.previousToken; // the last layer has nothing after it
        std::fill(before.end() - perLayer, before.end(), notComputed);
        std::vector<double> after = parts.copying; // the first has nothing before it
        std::fill(after.begin(), after.begin() + perLayer, notComputed);
        m_previousToken = percentiles(before);
        for (const HeadId head : marked)
            m_previousToken[inductionRankingFlat(config, head)] = 1;
        m_copying = percentiles(after);
    }

    double product(const InductionRankingPair& pair) const
    {
        const std::size_t earlier = inductionRankingFlat(m_config, pair.first);
        const std::size_t later = inductionRankingFlat(m_config, pair.second);
        const std::size_t both = earlier * m_previousToken.size() + later;
        return inductionRankingKnown(m_previousToken[earlier]) * m_composition[both] * m_matching[both]
            * inductionRankingKnown(m_copying[later]);
    }

private:
    const ModelConfig& m_config;
    std::vector<double> m_previousToken, m_copying, m_composition, m_matching;
};

/// The largest product of four percentiles over all pairs, if each percentile were chance: previous-token scores one per earlier
/// head, copying one per later head, the others one per pair.
class MaximumOfChance {
public:
    MaximumOfChance(const AnalysisContext& context, const InductionNull& null,
                    const std::vector<InductionRankingPair>& pairs)
        : m_config(context.circuits.config())
        , m_null(null)
        , m_pairs(pairs)
        , m_random(context.options.inputs.seed)
    {
    }

    Result<Sample> draw(const Task& task)
    {
        std::vector<double> maxima;
        for (int i = 0; i < inductionMaximumDraws && !m_pairs.empty(); ++i) {
            if (task.cancelled())
                return stopped();
            maxima.push_back(drawOne());
        }
        return Sample(maxima);
    }

private:
    /// Draws uniformly from the values that `Sample::percentile` can take. Returns ½ if nothing is known.
    double percentile(const Sample& sample)
    {
        if (sample.size() == 0)
            return 0.5;
        const double count = static_cast<double>(sample.size()) + 1;
        const double uniform = static_cast<double>(m_random() >> 11) * 0x1p-53;
        return (std::floor(uniform * count) + 0.5) / count;
    }

    double drawOne()
    {
        const std::size_t heads = static_cast<std::size_t>(m_config.nLayers) * m_config.nHeads;
        std::vector<double> previousToken(heads), copying(heads);
        for (std::size_t i = 0; i < heads; ++i) {
            previousToken[i] = percentile(m_null.previousToken);
            copying[i] = percentile(m_null.copying);
        }
        double largest = 0;
        for (const InductionRankingPair& pair : m_pairs) {
            const double ofHeads = previousToken[inductionRankingFlat(m_config, pair.first)]
                * copying[inductionRankingFlat(m_config, pair.second)];
            if (ofHeads > largest) // the other two cannot lift it
                largest =
                    std::max(largest, ofHeads * percentile(m_null.composition) * percentile(m_null.matching));
        }
        return largest;
    }

    const ModelConfig& m_config;
    const InductionNull& m_null;
    const std::vector<InductionRankingPair>& m_pairs;
    std::mt19937_64 m_random;
};

double productOfChance(const ModelConfig& config, const InductionParts& parts, const InductionNull& null,
                       const InductionRankingPair& pair)
{
    const auto [earlier, later] = pair;
    return inductionRankingKnown(
               null.previousToken.percentile(parts.previousToken[inductionRankingFlat(config, earlier)]))
        * inductionRankingKnown(null.copying.percentile(parts.copying[inductionRankingFlat(config, later)]))
        * null.composition.percentile(parts.composition.at(earlier, later))
        * null.matching.percentile(parts.matching.at(earlier, later));
}

} // namespace

Result<InductionRanking> rankInduction(const AnalysisContext& context, const InductionParts& parts,
                                       const InductionNull& null, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<InductionRankingPair> pairs = pairsOf(context, parts);
    auto maximum = MaximumOfChance(context, null, pairs).draw(task);
    if (!maximum)
        return maximum.error();
    InductionRanking all{std::move(pairs), PerPair(config), PerPair(config), PerPair(config),
                         std::move(maximum).value()};
    const Ranking ranking(config, parts, context.options.inputs.previousTokenHeads);
    const std::vector<double>& maxima = all.maximum.values();
    for (const InductionRankingPair& pair : all.pairs) {
        const double product = productOfChance(config, parts, null, pair);
        const auto below = std::lower_bound(maxima.begin(), maxima.end(), product) - maxima.begin();
        all.combined.set(pair.first, pair.second, ranking.product(pair));
        all.nullProduct.set(pair.first, pair.second, product);
        all.nullPercentile.set(pair.first, pair.second,
                               static_cast<double>(below) / static_cast<double>(maxima.size()));
    }
    std::stable_sort(all.pairs.begin(), all.pairs.end(),
                     [&](const InductionRankingPair& a, const InductionRankingPair& b) {
                         return all.combined.at(a.first, a.second) > all.combined.at(b.first, b.second);
                     });
    return all;
}

} // namespace headwise
