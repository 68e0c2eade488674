#include "core/analysis/composition/induction_ranking.h"

#include "core/analysis/composition/induction_roles.h"
#include "core/base/matrix.h"

#include <algorithm>
#include <cmath>
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
    std::vector<InductionRankingPair> pairs = pairsOf(context, parts);
    auto alignment = MaximumOfChance(context, null, pairs).draw(task);
    if (!alignment)
        return alignment.error();
    const InductionRoles roles(context, parts, null);
    auto rePaired = roles.maximaOfRePaired(pairs.empty() ? 0 : inductionRoleDraws, task);
    if (!rePaired)
        return rePaired.error();
    const RealNumbers unset = RealNumbers::perPair(context.circuits.config());
    InductionRanking all{std::move(pairs),     unset, unset, *std::move(rePaired), unset, unset,
                         *std::move(alignment)};
    const auto below = [](const Sample& maxima, double product) {
        const auto& values = maxima.values();
        return static_cast<double>(std::lower_bound(values.begin(), values.end(), product) - values.begin());
    };
    for (const auto& [earlier, later] : all.pairs) {
        const double product = roles.product(earlier, later);
        const double aligned = productOfChance(parts, null, {earlier, later});
        all.combined.set(earlier, later, product);
        all.rolePercentile.set(earlier, later, below(all.roleMaximum, product) / (inductionRoleDraws + 1));
        all.alignmentProduct.set(earlier, later, aligned);
        all.alignmentPercentile.set(earlier, later,
                                    below(all.alignmentMaximum, aligned) / inductionMaximumDraws);
    }
    std::stable_sort(all.pairs.begin(), all.pairs.end(),
                     [&](const InductionRankingPair& a, const InductionRankingPair& b) {
                         return all.combined.at(a.first, a.second) > all.combined.at(b.first, b.second);
                     });
    return all;
}

} // namespace headwise
