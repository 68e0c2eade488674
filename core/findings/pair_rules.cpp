#include "core/findings/rule_numbers.h"
#include "core/findings/rules.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace headwise {
namespace {

/// Least composition, in units of that of random heads, 1/√d_model.
constexpr double leastTimesRandom = 1.5;
constexpr double leastEarlier = 0.4, leastLaterCopying = 0.3, leastPercentile = 0.99;
constexpr double leastCosine = 0.9;

double randomComposition(const ModelCard& model)
{
    return 1 / std::sqrt(static_cast<double>(std::max(model.dModel, 1)));
}

struct CandidatePair {
    HeadId earlier, later;
    double value = 0, nullMean = 0, z = 0;
};

/// The arrays of the analysis induction; empty pointers where one is absent or odd.
struct InductionArrays {
    const ResultArray *combined, *percentile, *composition, *previousToken, *copying;

    explicit InductionArrays(const FindingEvidence& evidence)
        : combined(pairsArray(evidence, "analyses/induction/combined"))
        , percentile(pairsArray(evidence, "analyses/induction/role_percentile"))
        , composition(pairsArray(evidence, "analyses/induction/k_composition"))
        , previousToken(perHeadArray(evidence, "analyses/induction/previous_token"))
        , copying(perHeadArray(evidence, "analyses/induction/copying"))
    {
    }

    bool areThere() const { return combined && percentile && composition && previousToken && copying; }
};

/// Returns the later heads of each earlier one.
std::map<HeadId, std::vector<CandidatePair>> inductionPairs(const FindingEvidence& evidence)
{
    const InductionArrays arrays(evidence);
    if (!arrays.areThere())
        return {};
    const double composition = leastTimesRandom * randomComposition(evidence.model);
    const std::vector<HeadId> heads = headsOf(evidence.model);
    std::map<HeadId, std::vector<CandidatePair>> pairs;
    for (const HeadId earlier : heads) {
        if (!(numberOf(*arrays.previousToken, earlier) >= leastEarlier))
            continue;
        for (const HeadId later : heads) {
            if (later.layer > earlier.layer
                && numberOfPair(*arrays.percentile, earlier, later) > leastPercentile
                && numberOfPair(*arrays.composition, earlier, later) >= composition
                && numberOf(*arrays.copying, later) >= leastLaterCopying)
                pairs[earlier].push_back({.earlier = earlier,
                                          .later = later,
                                          .value = numberOfPair(*arrays.combined, earlier, later)});
        }
    }
    return pairs;
}

std::vector<Finding> findInduction(const FindingEvidence& evidence)
{
    const InductionArrays arrays(evidence);
    std::vector<Finding> found;
    for (auto& entry : inductionPairs(evidence)) {
        std::vector<CandidatePair>& pairs = entry.second;
        std::stable_sort(pairs.begin(), pairs.end(),
                         [](const CandidatePair& a, const CandidatePair& b) { return a.value > b.value; });
        std::vector<HeadId> later;
        later.reserve(pairs.size() + 1);
        for (const CandidatePair& pair : pairs)
            later.push_back(pair.later);
        const bool isOne = later.size() == 1;
        const CandidatePair& best = pairs.front();
        Finding finding{.kind = "induction",
                        .heads = {},
                        .value = best.value,
                        .text = fmt::format(
                            "{} {} what {} writes through {} keys and {} what {} to: induction candidate{}.",
                            listedHeads(later), isOne ? "reads" : "read", headLabel(entry.first),
                            isOne ? "its" : "their", isOne ? "copies" : "copy",
                            isOne ? "it attends" : "they attend", isOne ? "" : "s"),
                        .view = "analyses/induction/combined",
                        .strength = std::sqrt(shareOfRange(numberOf(*arrays.previousToken, best.earlier), 0)
                                              * shareOfRange(numberOf(*arrays.copying, best.later), 0))};
        later.push_back(entry.first);
        finding.heads = std::move(later);
        found.push_back(std::move(finding));
    }
    return strongestFindings(std::move(found));
}

/// One way to compose, with its words.
struct CompositionMode {
    const char* scores;
    const char* zs;
    const char* reads;
    const char* name;
};
constexpr std::array compositionModes{
    CompositionMode{"composition/q", "analyses/composition_nulls/q_z", "queries", "Q"},
    CompositionMode{"composition/k", "analyses/composition_nulls/k_z", "keys", "K"},
    CompositionMode{"composition/v", "analyses/composition_nulls/v_z", "values", "V"}};

/// Returns the pairs of one mode that have numbers.
std::vector<CandidatePair> composedPairs(const FindingEvidence& evidence, const CompositionMode& mode)
{
    const ResultArray *scores = pairsArray(evidence, mode.scores), *zs = pairsArray(evidence, mode.zs);
    if (!scores || !zs)
        return {};
    const std::vector<HeadId> heads = headsOf(evidence.model);
    const double null = randomComposition(evidence.model);
    std::vector<CandidatePair> pairs;
    for (const HeadId earlier : heads) {
        for (const HeadId later : heads) {
            const double z = numberOfPair(*zs, earlier, later);
            if (later.layer > earlier.layer && std::isfinite(z))
                pairs.push_back({earlier, later, numberOfPair(*scores, earlier, later), null, z});
        }
    }
    return pairs;
}

std::vector<Finding> findComposition(const FindingEvidence& evidence)
{
    std::array<std::vector<CandidatePair>, compositionModes.size()> pairs;
    std::size_t tests = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] = composedPairs(evidence, compositionModes[i]);
        tests += pairs[i].size();
    }
    const double z = thresholdZ(tests);
    std::vector<Finding> found;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const CompositionMode& mode = compositionModes[i];
        for (const CandidatePair& pair : pairs[i]) {
            if (!(pair.z >= z && pair.value >= leastTimesRandom * pair.nullMean))
                continue;
            found.push_back({.kind = "composition",
                             .heads = {pair.later, pair.earlier},
                             .value = pair.value,
                             .nullMean = pair.nullMean,
                             .z = pair.z,
                             .text = fmt::format(
                                 "{} reads what {} writes through its {} ({}-composition {}, {} by "
                                 "chance, z {}).",
                                 headLabel(pair.later), headLabel(pair.earlier), mode.reads, mode.name,
                                 shortNumber(pair.value), shortNumber(pair.nullMean), shortNumber(pair.z)),
                             .view = mode.scores,
                             .strength = 1 - pair.nullMean / pair.value});
        }
    }
    return strongestFindings(std::move(found));
}

/// Heads that are joined by pairs of high cosine.
class AlikeHeads {
public:
    explicit AlikeHeads(std::size_t count)
        : m_parents(count)
    {
        std::iota(m_parents.begin(), m_parents.end(), std::size_t(0));
    }

    void join(std::size_t a, std::size_t b) { m_parents[rootOf(b)] = rootOf(a); }

    std::size_t rootOf(std::size_t i)
    {
        while (m_parents[i] != i)
            i = m_parents[i] = m_parents[m_parents[i]];
        return i;
    }

private:
    std::vector<std::size_t> m_parents;
};

std::vector<Finding> findNearDuplicates(const FindingEvidence& evidence)
{
    const ResultArray *qk = pairsArray(evidence, "analyses/similarity/cosine_qk"),
                      *ov = pairsArray(evidence, "analyses/similarity/cosine_ov");
    if (!qk || !ov)
        return {};
    const std::vector<HeadId> heads = headsOf(evidence.model);
    const double scale = evidence.model.dModel; // the deviation of a cosine is 1/d_model
    const double z = thresholdZ(heads.size() * (heads.size() - 1) / 2);
    AlikeHeads alike(heads.size());
    std::vector<double> lowest(heads.size(), 1); // cosine of a joined pair, by its first head
    for (std::size_t i = 0; i < heads.size(); ++i) {
        for (std::size_t j = i + 1; j < heads.size(); ++j) {
            const double cosine =
                std::min(numberOfPair(*qk, heads[i], heads[j]), numberOfPair(*ov, heads[i], heads[j]));
            if (cosine >= leastCosine && cosine * scale >= z) {
                alike.join(i, j);
                lowest[i] = std::min(lowest[i], cosine);
            }
        }
    }
    std::map<std::size_t, Finding> groups;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        Finding& group = groups[alike.rootOf(i)];
        group.value = group.heads.empty() ? lowest[i] : std::min(group.value, lowest[i]);
        group.heads.push_back(heads[i]);
    }
    std::vector<Finding> found;
    for (auto& entry : groups) {
        Finding& group = entry.second;
        if (group.heads.size() < 2)
            continue;
        group.kind = "near_duplicate";
        group.nullMean = 0;
        group.z = group.value * scale;
        group.text =
            fmt::format("{} do nearly the same ({} {}).", listedHeads(group.heads),
                        group.heads.size() == 2 ? "cosine" : "cosine at least", shortNumber(group.value));
        group.view = "analyses/similarity/cosine_ov";
        group.strength = shareOfRange(group.value, 0);
        found.push_back(std::move(group));
    }
    return strongestFindings(std::move(found));
}

} // namespace

FindingRule inductionRule()
{
    return {
        "induction",
        "Induction candidates",
        "The earlier head gives at least 0.4 of its attention to the previous token, the later one copies "
        "with a score of 0.3 or more and composes with it through its keys 1.5 times as much as random "
        "heads, and the pair scores above 99 % of the best pairs with shuffled roles.",
        {"induction"},
        findInduction};
}

FindingRule compositionRule()
{
    return {
        "composition",
        "Composition far above chance",
        "A composition score is at least 1.5 times 1/√d_model and 5 deviations of random singular vectors "
        "above its mean, with a 1 % false-alarm rate over all pairs of heads.",
        {"composition", "composition_nulls"},
        findComposition};
}

FindingRule nearDuplicateRule()
{
    return {"near_duplicate",
            "Heads that do nearly the same",
            "W_Q W_Kᵀ and W_V W_O of two heads both have a cosine of 0.9 or more, 5 deviations of random "
            "matrices or more, with a 1 % false-alarm rate over all pairs of heads.",
            {"similarity"},
            findNearDuplicates};
}

} // namespace headwise
