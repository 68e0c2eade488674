#pragma once

#include "core/analysis/catalogue.h"
#include "core/circuits/token_table.h"

#include <compare>
#include <map>
#include <string>
#include <vector>

namespace headwise {

/// A neuron of the MLP of a layer.
struct NeuronId {
    int layer = 0, index = 0;

    auto operator<=>(const NeuronId&) const = default;
};

/// The tokens at the upper end of the directions of a neuron, falling; its lower ends are what it never says.
struct NeuronTokens {
    std::vector<TokenEntry>
        writes; ///< Largest entries of w_out W_U: what it adds to the logits when it is active.
    std::vector<TokenEntry> reads; ///< Largest entries of E w_in: what excites it. E as `tokensOfMlp`.
    std::vector<TokenEntry> gates; ///< Largest entries of E w_gate: what opens its gate. Empty unless gated.
};

using NeuronLists = std::vector<std::vector<NeuronId>>; ///< Of each head, [L H].
inline constexpr std::size_t listedNeurons = 20;        ///< Of one head, at most.

/// \param context with its token side; MLPs that are no mixtures
/// \param neurons what stands in several lists is looked up once
/// Errors: Cancelled. Cost: neuronTokensCost.
Result<std::map<NeuronId, NeuronTokens>>
neuronTokens(const AnalysisContext& context, const std::vector<NeuronLists>& neurons, const Task& task);

/// Adds PATH_writes_ids, PATH_writes_values, PATH_reads_ids and PATH_reads_values, [layer, head, neuron, rank]; of gated MLPs
/// PATH_gates_ids and PATH_gates_values too.
/// \param lists as PATH_layer and PATH_neuron
void addNeuronTokens(ResultSet& results, const AnalysisContext& context, const std::string& path,
                     const NeuronLists& lists, const std::map<NeuronId, NeuronTokens>& tokens);

/// \param neurons how many different ones
AnalysisCost neuronTokensCost(const ModelConfig& config, const AnalysisOptions& options, double neurons);

} // namespace headwise
