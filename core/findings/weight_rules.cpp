#include "core/findings/rule_numbers.h"
#include "core/findings/rules.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>

namespace headwise {
namespace {

/// Largest effective rank of a head of few directions, as a share of the most it can have. Gaussian factors have above half.
constexpr double mostRankShare = 0.25;
constexpr int leastWidth = 8;
/// The smallest singular value of a square random matrix may be nearly 0, the second smallest is not.
constexpr double fewestDead = 2;

/// The two circuits of a head whose weights these rules read.
struct WeightCircuit {
    const char* name; // in paths
    const char* formula;
};
constexpr std::array weightCircuits{WeightCircuit{"ov", "W_V W_O"}, WeightCircuit{"qk", "W_Q W_Kᵀ"}};

/// The most directions that a head can use; a processed weight may lack the one that its norm takes away.
int widthOf(const ModelCard& model)
{
    return std::min(model.dHead, std::max(model.dModel - 1, 1));
}

std::vector<Finding> findLowRank(const FindingEvidence& evidence)
{
    const int width = widthOf(evidence.model);
    if (width < leastWidth)
        return {};
    std::vector<Finding> found;
    for (const WeightCircuit& circuit : weightCircuits) {
        const std::string path = std::string("spectra/") + circuit.name + "/effective_rank";
        for (const JudgedHead& judged : judgedHeads(evidence, path)) {
            if (!(judged.value > 0 && judged.value <= mostRankShare * width))
                continue;
            found.push_back({.kind = "low_rank",
                             .heads = {judged.head},
                             .value = judged.value,
                             .text = fmt::format("{} of {} uses few directions (effective rank {} of {}).",
                                                 circuit.formula, headLabel(judged.head),
                                                 shortNumber(judged.value), width),
                             .view = path,
                             .strength = 1 - judged.value / width});
        }
    }
    return strongestFindings(std::move(found));
}

/// Dead directions of the heads of one layer.
struct DeadHead {
    HeadId head;
    double directions = 0;
};

Finding deadFinding(const WeightCircuit& circuit, std::vector<DeadHead> dead, const std::string& path,
                    int width)
{
    std::stable_sort(dead.begin(), dead.end(),
                     [](const DeadHead& a, const DeadHead& b) { return a.directions > b.directions; });
    Finding finding{
        .kind = "dead_directions", .heads = {}, .value = 0, .nullMean = 0, .text = {}, .view = path};
    for (const DeadHead& one : dead) {
        finding.heads.push_back(one.head);
        finding.value += one.directions;
    }
    finding.text = fmt::format("{} of layer {} has {:.0f} dead directions, {} {}.", circuit.formula,
                               dead.front().head.layer, finding.value, dead.size() == 1 ? "all in" : "in",
                               listedHeads(finding.heads));
    finding.strength =
        shareOfRange(finding.value, 0, static_cast<double>(width) * static_cast<double>(dead.size()));
    return finding;
}

std::vector<Finding> findDeadDirections(const FindingEvidence& evidence)
{
    const int width = widthOf(evidence.model);
    std::vector<Finding> found;
    for (const WeightCircuit& circuit : weightCircuits) {
        const std::string path = std::string("analyses/ranks/") + circuit.name + "_numerical_rank";
        std::vector<DeadHead> dead; // of one layer
        const auto endLayer = [&] {
            if (!dead.empty())
                found.push_back(deadFinding(circuit, std::move(dead), path, width));
            dead = {};
        };
        for (const JudgedHead& judged : judgedHeads(evidence, path)) {
            const double directions = width - judged.value;
            if (!(directions >= fewestDead && judged.value >= 0))
                continue;
            if (!dead.empty() && dead.front().head.layer != judged.head.layer)
                endLayer();
            dead.push_back({judged.head, directions});
        }
        endLayer();
    }
    return strongestFindings(std::move(found));
}

} // namespace

FindingRule lowRankRule()
{
    return {
        "low_rank",
        "Heads of few directions",
        "The effective rank of W_V W_O or W_Q W_Kᵀ is at most a quarter of what d_head allows, if that is 8 or more; Gaussian factors exceed half.",
        {"spectra"},
        findLowRank};
}

FindingRule deadDirectionsRule()
{
    return {
        "dead_directions",
        "Dead directions",
        "The numerical rank of W_V W_O or W_Q W_Kᵀ is 2 or more below what d_head allows: that many singular values are zero up to rounding.",
        {"ranks"},
        findDeadDirections};
}

} // namespace headwise
