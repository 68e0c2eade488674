#pragma once

#include "core/analysis/prompt/repeated_tokens.h"
#include "tests/core/analysis/definitions/defined.h"

namespace headwise::test::definitions {

inline RowVector<double> rowOf(const std::vector<double>& values)
{
    return Eigen::Map<const RowVector<double>>(values.data(), static_cast<Eigen::Index>(values.size()));
}

/// Σ_j α_nj v_j at the last position n of the prompt.
/// \param run the reference's; its stream differs from that of centred weights by its mean, which norms remove
inline RowVector<double> mixedValues(const Defined& m, const ReferenceRun& run, HeadId h)
{
    const auto w = m.w(h);
    const std::vector<double>& alpha =
        run.patterns[static_cast<std::size_t>(h.layer)][static_cast<std::size_t>(h.head)].back();
    RowVector<double> sum = RowVector<double>::Zero(m.config.dHead);
    for (std::size_t j = 0; j < alpha.size(); ++j) {
        const RowVector<double> x = h.layer == 0
            ? m.promptInput(static_cast<Eigen::Index>(j))
            : rowOf(run.steps.at(std::to_string(h.layer - 1) + ".resid_post")[j]);
        sum += alpha[j] * (m.normed(x) * w.W_V + w.b_V);
    }
    return sum;
}

/// Mean of α[q, q−N+1] over the last N queries q, of every head.
inline Eigen::VectorXd inductionOf(const Defined& m, const std::vector<int>& tokens, std::size_t N)
{
    const ReferenceRun run = referenceForward(m.path, tokens);
    const Numbers means = m.perHead([&](HeadId h) {
        const auto& pattern =
            run.patterns[static_cast<std::size_t>(h.layer)][static_cast<std::size_t>(h.head)];
        double sum = 0;
        for (std::size_t q = tokens.size() - N; q < tokens.size(); ++q)
            sum += pattern[q][q - N + 1];
        return sum / static_cast<double>(N);
    });
    return Eigen::Map<const Eigen::VectorXd>(means.data(), std::ssize(means));
}

/// Definitions that end in the model's forward pass, which the independent reference makes.
inline const std::vector<Definition> promptDefinitions{
    {"analyses/logit_attribution/head",
     "(Σ_j α_nj v_j) W_O · (W_U[:,t] through the final norm), σ frozen, at the last position n",
     [](const Defined& m) {
         const ReferenceRun run = referenceForward(m.path, m.options.inputs.prompt);
         const double sigma = m.sigma(rowOf(run.steps.at("1.resid_post").back()));
         return m.perHead([&](HeadId h) {
             const RowVector<double> written = mixedValues(m, run, h) * m.w(h).W_O;
             return (written.array() - written.mean()).matrix().dot(m.U.col(m.token()).transpose()) / sigma;
         });
     }},
    {"analyses/pattern_scores/induction",
     "mean of α[q, q−N+1] over the last N queries q in t₁…t_N t₁…t_N, less the same in u₁…u_N t₁…t_N, random tokens, several N",
     [](const Defined& m) {
         const RepetitionPlan plan(m.config);
         RepeatedTokens tokens(m.config, m.options, plan);
         const std::size_t count = static_cast<std::size_t>(plan.sequences) * plan.periods.size();
         Eigen::VectorXd sum = Eigen::VectorXd::Zero(m.config.nLayers * m.config.nHeads);
         for (std::size_t i = 0; i < count; ++i) {
             const int N = plan.periods[i % plan.periods.size()];
             const RepeatedSequences drawn = tokens.next(N);
             sum += inductionOf(m, drawn.repeated, static_cast<std::size_t>(N))
                 - inductionOf(m, drawn.control, static_cast<std::size_t>(N));
         }
         return listOf(sum / static_cast<double>(count));
     }},
};

} // namespace headwise::test::definitions
