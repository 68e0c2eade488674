#include "core/analysis/prompt/repeated_tokens.h"

#include "core/model/merges.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace headwise {

namespace {

constexpr int longestRepetition = 50;
constexpr double mostRepetitions = 50; // of all periods together, rounded up
constexpr double repetitionFlops = 1e12;

bool isCoprime(int period, const std::vector<int>& others)
{
    return std::all_of(others.begin(), others.end(),
                       [period](int other) { return std::gcd(period, other) == 1; });
}

} // namespace

RepetitionPlan::RepetitionPlan(const ModelConfig& config)
    : hasBos(config.bosTokenId && *config.bosTokenId >= 0 && *config.bosTokenId < config.dVocab)
{
    const int longest = std::min(longestRepetition, (config.nCtx - hasBos) / 2);
    for (int period : {longest, longest * 3 / 4, longest / 2}) {
        while (period >= shortestRepetition && !isCoprime(period, periods))
            --period;
        if (period >= shortestRepetition)
            periods.push_back(period);
    }
    if (!periods.empty())
        sequences =
            static_cast<int>(std::clamp(repetitionFlops / flops(config), 1.0,
                                        std::ceil(mostRepetitions / static_cast<double>(periods.size()))));
}

double RepetitionPlan::flops(ModelConfig config) const
{
    double all = 0;
    for (const int period : periods) {
        config.nCtx = length(period);
        all += 2 * countFlops(config).perSequence;
    }
    return all;
}

RepeatedTokens::RepeatedTokens(const ModelConfig& config, const AnalysisOptions& options,
                               const RepetitionPlan& plan)
    : m_random(options.inputs.seed)
{
    if (plan.hasBos)
        m_bos = *config.bosTokenId;
    for (int id = 0; id < config.dVocab; ++id) {
        const bool isUnused = static_cast<std::size_t>(id) < options.unusedTokens.size()
            && options.unusedTokens[static_cast<std::size_t>(id)];
        if (id != m_bos && !isUnused)
            m_ids.push_back(id);
    }
}

RepeatedSequences RepeatedTokens::next(int period)
{
    const auto copy = static_cast<std::size_t>(period);
    std::vector<int> drawn;
    for (std::size_t i = 0; i < 2 * copy; ++i) {
        const std::size_t first = i % m_ids.size();
        // Avoids std::uniform_int_distribution, whose results depend on the library.
        const std::size_t at = first + m_random() % (m_ids.size() - first);
        std::swap(m_ids[first], m_ids[at]);
        const bool isSame = i >= copy && m_ids[first] == drawn[i - copy];
        drawn.push_back(isSame ? m_ids[(first + 1) % m_ids.size()] : m_ids[first]);
    }
    const auto second = drawn.begin() + period;
    const std::vector<int> t(drawn.begin(), second), u(second, drawn.end());
    return {joined(t, t), joined(u, t)};
}

std::vector<int> RepeatedTokens::joined(const std::vector<int>& first, const std::vector<int>& second) const
{
    std::vector<int> tokens;
    if (m_bos >= 0)
        tokens.push_back(m_bos);
    tokens.insert(tokens.end(), first.begin(), first.end());
    tokens.insert(tokens.end(), second.begin(), second.end());
    return tokens;
}

} // namespace headwise
