#include "core/analysis/composition/induction_ranking.h"
#include "core/base/matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace headwise {

namespace {

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
        : m_previousToken(parts.previousToken)
        , m_copying(parts.copying)
        , m_composition(parts.composition)
        , m_matching(parts.matching)
    {
        for (int head = 0; head < config.nHeads; ++head) {
            m_previousToken.set({config.nLayers - 1, head},
                                notComputed);      // the last layer has nothing after it
            m_copying.set({0, head}, notComputed); // the first has nothing before it
        }
        for (RealNumbers* numbers : {&m_previousToken, &m_copying, &m_composition, &m_matching})
            numbers->values() = percentiles(numbers->values());
        for (const HeadId head : marked)
            m_previousToken.set(head, 1);
    }

    double product(const InductionRankingPair& pair) const
    {
        const auto [earlier, later] = pair;
        return inductionRankingKnown(m_previousToken.at(earlier)) * m_composition.at(earlier, later)
            * m_matching.at(earlier, later) * inductionRankingKnown(m_copying.at(later));
    }

private:
    RealNumbers m_previousToken, m_copying, m_composition, m_matching;
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
        RealNumbers previousToken = RealNumbers::perHead(m_config), copying = previousToken;
        for (std::size_t i = 0; i < copying.values().size(); ++i) {
            previousToken.values()[i] = percentile(m_null.previousToken);
            copying.values()[i] = percentile(m_null.copying);
        }
        double largest = 0;
        for (const InductionRankingPair& pair : m_pairs) {
            const double ofHeads = previousToken.at(pair.first) * copying.at(pair.second);
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

double productOfChance(const InductionParts& parts, const InductionNull& null,
                       const InductionRankingPair& pair)
{
    const auto [earlier, later] = pair;
    return inductionRankingKnown(null.previousToken.percentile(parts.previousToken.at(earlier)))
        * inductionRankingKnown(null.copying.percentile(parts.copying.at(later)))
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
    const RealNumbers unset = RealNumbers::perPair(config);
    InductionRanking all{std::move(pairs), unset, unset, unset, std::move(maximum).value()};
    const Ranking ranking(config, parts, context.options.inputs.previousTokenHeads);
    const std::vector<double>& maxima = all.maximum.values();
    for (const InductionRankingPair& pair : all.pairs) {
        const double product = productOfChance(parts, null, pair);
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
