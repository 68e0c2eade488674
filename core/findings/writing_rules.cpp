#include "core/findings/rule_numbers.h"
#include "core/findings/rules.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace headwise {
namespace {

/// Least distance of a copying score from its null.
constexpr double leastCopying = 0.3;
constexpr double leastNameShare = 0.5;
constexpr std::size_t fewestNames = 10;
/// Least share of a relation's pairs, as in Elhelo & Geva 2024.
constexpr double leastRelationShare = 0.3;

/// \param sign 1: copying, −1: suppression
std::vector<Finding> findCopying(const FindingEvidence& evidence, double sign)
{
    const std::vector<JudgedHead> heads = judgedHeads(evidence, "scores/copying");
    const double z = thresholdZ(heads.size());
    std::vector<Finding> found;
    for (const JudgedHead& judged : heads) {
        if (!(sign * judged.z >= z && sign * (judged.value - judged.nullMean) >= leastCopying))
            continue;
        found.push_back(
            {.kind = sign > 0 ? "copying" : "suppression",
             .heads = {judged.head},
             .value = judged.value,
             .nullMean = judged.nullMean,
             .z = judged.z,
             .text = fmt::format("{} {} the token it attends to {}.", headLabel(judged.head),
                                 sign > 0 ? "raises" : "lowers", scoreAndZ(judged, "copying score")),
             .view = "copying",
             .strength = shareOfRange(judged.value, judged.nullMean, sign)});
    }
    return strongestFindings(std::move(found));
}

/// \param words over the names that are among the five largest outputs
std::vector<Finding> findNames(const FindingEvidence& evidence, const char* kind, const std::string& path,
                               const char* words)
{
    const ResultArray* names = checkedArray(evidence, "analyses/name_copying/names", {anySize});
    if (!names || names->shape[0] < fewestNames)
        return {};
    const std::vector<JudgedHead> heads = judgedHeads(evidence, path);
    const double z = thresholdZ(heads.size());
    std::vector<Finding> found;
    for (const JudgedHead& judged : heads) {
        if (!(judged.z >= z && judged.value >= leastNameShare))
            continue;
        found.push_back(
            {.kind = kind,
             .heads = {judged.head},
             .value = judged.value,
             .nullMean = judged.nullMean,
             .z = judged.z,
             .text = fmt::format("{} {} ({} of {} names, z {}): candidate.", headLabel(judged.head), words,
                                 shortNumber(judged.value), names->shape[0], shortNumber(judged.z)),
             .view = path,
             .strength = shareOfRange(judged.value, judged.nullMean)});
    }
    return strongestFindings(std::move(found));
}

/// The arrays of the analysis relations, or nothing where one is absent or odd.
struct RelationArrays {
    const ResultArray* shares = nullptr; // [L, H, relation]
    const ResultArray *valid = nullptr, *used = nullptr, *mean = nullptr, *deviation = nullptr; // [relation]
    std::size_t count = 0;

    explicit RelationArrays(const FindingEvidence& evidence)
    {
        const ModelCard& model = evidence.model;
        shares = checkedArray(evidence, "analyses/relations/by_head", {model.nLayers, model.nHeads, anySize});
        if (!shares)
            return;
        const auto ofRelations = [&](const char* name) {
            const ResultArray* array =
                checkedArray(evidence, std::string("analyses/relations/") + name, {anySize});
            return array && array->shape[0] == shares->shape[2] ? array : nullptr;
        };
        valid = ofRelations("valid");
        used = ofRelations("pairs_used");
        mean = ofRelations("null");
        deviation = ofRelations("null_deviation");
        count = valid && used && mean && deviation ? shares->shape[2] : 0;
    }

    std::string name(std::size_t relation) const
    {
        const auto labels = shares->attributes.find("labels");
        const auto* names = labels == shares->attributes.end()
            ? nullptr
            : std::get_if<std::vector<std::string>>(&labels->second);
        return names && relation < names->size() ? (*names)[relation]
                                                 : "relation " + std::to_string(relation);
    }
};

/// Returns the heads that hit one relation, the best first.
std::vector<JudgedHead> hittingHeads(const std::vector<HeadId>& heads, const RelationArrays& arrays,
                                     std::size_t relation, double z)
{
    std::vector<JudgedHead> hitting;
    const double mean = numberIn(*arrays.mean, relation), deviation = numberIn(*arrays.deviation, relation);
    for (const HeadId head : heads) {
        const double share = numberOf(*arrays.shares, head, relation);
        const JudgedHead judged{head, share, mean, (share - mean) / deviation};
        if (deviation > 0 && judged.z >= z && share - mean >= leastRelationShare)
            hitting.push_back(judged);
    }
    std::stable_sort(hitting.begin(), hitting.end(),
                     [](const JudgedHead& a, const JudgedHead& b) { return a.value > b.value; });
    return hitting;
}

std::vector<Finding> findRelations(const FindingEvidence& evidence)
{
    const RelationArrays arrays(evidence);
    const std::vector<HeadId> heads = headsOf(evidence.model);
    const double z = thresholdZ(arrays.count * heads.size());
    std::vector<Finding> found;
    for (std::size_t relation = 0; relation < arrays.count; ++relation) {
        if (numberIn(*arrays.valid, relation) != 1)
            continue;
        const std::vector<JudgedHead> hitting = hittingHeads(heads, arrays, relation, z);
        if (hitting.empty())
            continue;
        const JudgedHead& best = hitting.front();
        Finding finding{.kind = "relation",
                        .heads = {},
                        .value = best.value,
                        .nullMean = best.nullMean,
                        .z = best.z,
                        .text = fmt::format(
                            "{} raises the targets of “{}” ({} of {:.0f} pairs, z {}){}.",
                            headLabel(best.head), arrays.name(relation), shortNumber(best.value),
                            numberIn(*arrays.used, relation), shortNumber(best.z),
                            hitting.size() == 1 ? "" : fmt::format("; {} more heads do", hitting.size() - 1)),
                        .view = "analyses/relations/by_head",
                        .strength = shareOfRange(best.value, best.nullMean)};
        for (const JudgedHead& judged : hitting)
            finding.heads.push_back(judged.head);
        found.push_back(std::move(finding));
    }
    return strongestFindings(std::move(found));
}

} // namespace

FindingRule copyingRule()
{
    return {"copying",
            "Copying heads",
            "The copying score is 0.3 or more above that of random heads between the model's own tokens, 5 "
            "deviations or more, with a 1 % false-alarm rate over all heads.",
            {"copying"},
            [](const FindingEvidence& evidence) { return findCopying(evidence, 1); }};
}

FindingRule suppressionRule()
{
    return {"suppression",
            "Heads that lower what they attend to",
            "The copying score is 0.3 or more below that of random heads between the model's own tokens, 5 "
            "deviations or more, with a 1 % false-alarm rate over all heads.",
            {"copying"},
            [](const FindingEvidence& evidence) { return findCopying(evidence, -1); }};
}

FindingRule nameMoverRule()
{
    return {"name_mover",
            "Name-moving candidates",
            "At least half of 10 or more first names are among the 5 outputs that the head raises most after "
            "them, 5 deviations of chance or more, with a 1 % false-alarm rate over all heads.",
            {"name_copying"},
            [](const FindingEvidence& evidence) {
                return findNames(evidence, "name_mover", "analyses/name_copying/score",
                                 "raises the name it attends to");
            }};
}

FindingRule negativeNameMoverRule()
{
    return {"negative_name_mover",
            "Heads that lower names",
            "At least half of 10 or more first names are among the 5 outputs that the head lowers most after "
            "them, 5 deviations of chance or more, with a 1 % false-alarm rate over all heads.",
            {"name_copying"},
            [](const FindingEvidence& evidence) {
                return findNames(evidence, "negative_name_mover", "analyses/name_copying/negative_score",
                                 "lowers the name it attends to");
            }};
}

FindingRule relationRule()
{
    return {
        "relation",
        "Relations hit",
        "For at least 0.3 more of a relation's pairs (30 or more) than by chance, the target is among the outputs the head promotes most after the source, 5 deviations or more, with a 1 % false-alarm rate over all heads and "
        "relations.",
        {"relations"},
        findRelations};
}

} // namespace headwise
