#pragma once

#include "core/analysis/catalogue.h"
#include "core/circuits/token_table.h"
#include "core/results/results.h"

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

/// The highest-scoring tokens along each direction of a neuron, in falling order. The lowest-scoring ones are not listed.
struct NeuronTokens {
    std::vector<TokenEntry>
        writes; ///< Largest entries of w_out W_U: the tokens it promotes when it is active.
    std::vector<TokenEntry> reads; ///< Largest entries of E w_in: they excite it. E as in `tokensOfMlp`.
    std::vector<TokenEntry> gates; ///< Largest entries of E w_gate: they open the gate. Empty unless gated.
};

using NeuronLists = std::vector<std::vector<NeuronId>>; ///< Neurons listed for each head, [L H].
inline constexpr std::size_t listedNeurons = 20;        ///< Maximum number of neurons per head.

/// Finds the tokens of every listed neuron. Looks up a neuron once even if several lists contain it.
/// \param context must have a token side, and no mixture-of-experts MLPs
/// Errors: Cancelled. Cost: neuronTokensCost.
Result<std::map<NeuronId, NeuronTokens>>
neuronTokens(const AnalysisContext& context, const std::vector<NeuronLists>& neurons, const Task& task);

/// Adds the specs of PATH_writes_ids, PATH_writes_values, PATH_reads_ids, PATH_reads_values and, of gated MLPs,
/// PATH_gates_ids and PATH_gates_values, [layer, head, neuron, rank].
/// \param condition of the arrays that every MLP has
void addNeuronTokenSpecs(std::vector<ArraySpec>& specs, const std::string& path,
                         const std::string& condition);
/// \param lists as PATH_layer and PATH_neuron
void putNeuronTokens(Results& results, const AnalysisContext& context, const std::string& path,
                     const NeuronLists& lists, const std::map<NeuronId, NeuronTokens>& tokens);

/// \param neurons number of distinct neurons
AnalysisCost neuronTokensCost(const ModelConfig& config, const AnalysisOptions& options, double neurons);

} // namespace headwise
