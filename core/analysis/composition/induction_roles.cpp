#include "core/analysis/composition/induction_roles.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace headwise {

namespace {

/// Rescales so that `baseline` becomes 0 and 1 stays 1. NaN becomes 0.
void countBeyond(double baseline, RealNumbers& numbers)
{
    for (double& value : numbers.values())
        value = value > baseline ? (value - baseline) / (1 - baseline) : 0; // NaN is not larger
}

/// As countBeyond, but a number that no head has is 1 for all.
void countBeyondIfKnown(double baseline, RealNumbers& numbers)
{
    auto& values = numbers.values();
    if (std::all_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
        std::fill(values.begin(), values.end(), 1.0);
    else
        countBeyond(baseline, numbers);
}

double meanOf(const Sample& null)
{
    return null.size() > 0 ? null.mean() : 0;
}

} // namespace

InductionRoles::InductionRoles(const AnalysisContext& context, const InductionParts& parts,
                               const InductionNull& null)
    : m_config(context.circuits.config())
    , m_seed(context.options.inputs.seed)
    , m_layers(static_cast<std::size_t>(m_config.nLayers))
    , m_previousToken(parts.previousToken)
    , m_copying(parts.copying)
    , m_composition(parts.composition)
    , m_sameToken(parts.sameToken)
{
    for (const HeadId head : selectedHeads(m_config, context.options))
        m_layers[static_cast<std::size_t>(head.layer)].push_back(head);
    countBeyondIfKnown(meanOf(null.previousToken), m_previousToken);
    countBeyondIfKnown(0, m_copying);
    countBeyond(meanOf(null.composition), m_composition);
    countBeyond(0, m_sameToken);
    for (const HeadId head : context.options.inputs.previousTokenHeads)
        m_previousToken.set(head, 1);
    m_largestCopying = *std::max_element(m_copying.values().begin(), m_copying.values().end());
}

double InductionRoles::product(HeadId earlier, HeadId later) const
{
    return m_previousToken.at(earlier) * m_copying.at(later) * m_composition.at(earlier, later)
        * m_sameToken.at(earlier, later);
}

std::size_t InductionRoles::place(HeadId head) const
{
    return static_cast<std::size_t>(head.layer) * static_cast<std::size_t>(m_config.nHeads)
        + static_cast<std::size_t>(head.head);
}

double InductionRoles::drawOne(std::uint64_t seed) const
{
    std::mt19937_64 random(seed);
    const auto permuted = [&] {
        Order order(m_previousToken.values().size());
        for (const std::vector<HeadId>& heads : m_layers) {
            std::vector<HeadId> others = heads;
            for (std::size_t i = others.size(); i > 1; --i)
                std::swap(others[i - 1], others[static_cast<std::size_t>(random() % i)]);
            for (std::size_t i = 0; i < heads.size(); ++i)
                order[place(heads[i])] = others[i];
        }
        return order;
    };
    const Order previous = permuted(), copying = permuted(), writing = permuted(), reading = permuted();
    double largest = 0;
    for (std::size_t before = 0; before < m_layers.size(); ++before) {
        for (const HeadId earlier : m_layers[before]) {
            const double attends = m_previousToken.at(previous[place(earlier)]);
            if (attends * m_largestCopying <= largest) // the other two are at most 1
                continue;
            const HeadId writer = writing[place(earlier)];
            for (std::size_t after = before + 1; after < m_layers.size(); ++after) {
                for (const HeadId later : m_layers[after]) {
                    const double ofHeads = attends * m_copying.at(copying[place(later)]);
                    if (ofHeads > largest)
                        largest = std::max(largest,
                                           ofHeads * m_composition.at(earlier, later)
                                               * m_sameToken.at(writer, reading[place(later)]));
                }
            }
        }
    }
    return largest;
}

Result<Sample> InductionRoles::maximaOfRePaired(int draws, const Task& task) const
{
    std::vector<double> maxima(static_cast<std::size_t>(draws));
    const auto done = parallelFor(draws, task, "re-paired roles", [&](int i) -> Result<Done> {
        // Every draw has its own generator, so the number of threads does not change the results.
        const auto number = static_cast<std::uint64_t>(i);
        maxima[static_cast<std::size_t>(i)] = drawOne(m_seed * static_cast<std::uint64_t>(draws) + number);
        return Done{};
    });
    if (!done)
        return done.error();
    return Sample(std::move(maxima));
}

} // namespace headwise
