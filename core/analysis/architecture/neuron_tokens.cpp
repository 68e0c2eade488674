#include "core/analysis/architecture/neuron_tokens.h"

#include "core/analysis/per_head.h"
#include "core/analysis/singular_directions.h"
#include "core/analysis/top_lists.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <utility>

namespace headwise {

namespace {

constexpr std::size_t neuronsPerBlock = 64; // [V, 64] of scores in double is all that is kept of them

/// The largest entries of one direction each. \param directions [d, n]
Result<std::vector<std::vector<TokenEntry>>> largestOf(const AnalysisContext& context,
                                                       const DirectionSide& side,
                                                       const Matrix<double>& directions, const Task& task)
{
    const auto scores = directionScores(*context.tokens, side, 1, directions, task);
    if (!scores)
        return scores.error();
    std::vector<std::vector<TokenEntry>> lists;
    lists.reserve(static_cast<std::size_t>(scores->cols()));
    for (Eigen::Index i = 0; i < scores->cols(); ++i)
        lists.push_back(ends(RowVector<double>(scores->col(i).transpose()), context.options.tableSize,
                             context.options.unusedTokens)
                            .top);
    return lists;
}

/// One block of neurons of one MLP.
Result<std::vector<NeuronTokens>> tokensOfBlock(const AnalysisContext& context, const MlpWeights<double>& mlp,
                                                const std::vector<int>& indices, const Task& task)
{
    const Matrix<double> written = mlp.W_out(indices, Eigen::all).transpose();
    const Matrix<double> read = mlp.W_in(Eigen::all, indices);
    auto writes = largestOf(context, directionSides[1], written, task); // W_U
    if (!writes)
        return writes.error();
    auto reads = largestOf(context, directionSides[0], read, task); // E
    if (!reads)
        return reads.error();
    std::vector<NeuronTokens> found;
    found.reserve(indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i)
        found.push_back({std::move((*writes)[i]), std::move((*reads)[i]), {}});
    if (mlp.W_gate.size() == 0)
        return found;
    const Matrix<double> opened = mlp.W_gate(Eigen::all, indices);
    auto gates = largestOf(context, directionSides[0], opened, task);
    if (!gates)
        return gates.error();
    for (std::size_t i = 0; i < indices.size(); ++i)
        found[i].gates = std::move((*gates)[i]);
    return found;
}

} // namespace

Result<std::map<NeuronId, NeuronTokens>>
neuronTokens(const AnalysisContext& context, const std::vector<NeuronLists>& neurons, const Task& task)
{
    std::map<int, std::vector<int>> byLayer;
    std::map<NeuronId, NeuronTokens> found;
    for (const NeuronLists& lists : neurons) {
        for (const std::vector<NeuronId>& ofHead : lists) {
            for (const NeuronId neuron : ofHead)
                found.try_emplace(neuron);
        }
    }
    for (const auto& entry : found)
        byLayer[entry.first.layer].push_back(entry.first.index);
    int read = 0;
    for (const auto& [layer, indices] : byLayer) {
        const MlpWeights<double> mlp = context.circuits.weights().mlp<double>(layer);
        const auto blocks = static_cast<int>((indices.size() + neuronsPerBlock - 1) / neuronsPerBlock);
        std::vector<std::vector<NeuronTokens>> lists(static_cast<std::size_t>(blocks));
        const auto done = parallelFor(blocks, withoutProgress(task), "", [&](int i) -> Result<Done> {
            const auto block = static_cast<std::size_t>(i);
            const auto first = indices.begin() + static_cast<std::ptrdiff_t>(block * neuronsPerBlock);
            const auto count = std::min(neuronsPerBlock, indices.size() - block * neuronsPerBlock);
            auto tokens = tokensOfBlock(
                context, mlp, std::vector<int>(first, first + static_cast<std::ptrdiff_t>(count)), task);
            if (!tokens)
                return tokens.error();
            lists[block] = std::move(tokens).value();
            return Done{};
        });
        if (!done)
            return done.error();
        for (std::size_t i = 0; i < indices.size(); ++i)
            found[{layer, indices[i]}] = std::move(lists[i / neuronsPerBlock][i % neuronsPerBlock]);
        task.report(++read, static_cast<int>(byLayer.size()), "tokens of neurons");
    }
    return found;
}

void addNeuronTokens(ResultSet& results, const AnalysisContext& context, const std::string& path,
                     const NeuronLists& lists, const std::map<NeuronId, NeuronTokens>& tokens)
{
    const ModelConfig& config = context.circuits.config();
    const auto length = static_cast<std::size_t>(
        std::min(context.options.tableSize, std::max(config.dVocab, config.dVocabOut)));
    const std::vector<std::size_t> shape{static_cast<std::size_t>(config.nLayers),
                                         static_cast<std::size_t>(config.nHeads), listedNeurons, length};
    TopLists writes({"layer", "head", "neuron", "rank"}, shape);
    TopLists reads = writes, gates = writes;
    for (std::size_t head = 0; head < lists.size(); ++head) {
        std::size_t at = head * listedNeurons;
        for (const NeuronId neuron : lists[head]) {
            const NeuronTokens& of = tokens.at(neuron);
            writes.set(at, of.writes);
            reads.set(at, of.reads);
            gates.set(at++, of.gates);
        }
    }
    const auto add = [&](const TopLists& of, const std::string& name, const std::string& title,
                         const std::string& formula) {
        const std::string definition = formula + " of the neurons beside this head, the best of them first";
        results.arrays.push_back(of.ids(path + name + "_ids", title, definition));
        results.arrays.push_back(
            of.values(context.options.precision, path + name + "_values", title + ", score", definition));
    };
    add(writes, "_writes", "Token it writes", "the largest entries of w_out W_U");
    add(reads, "_reads", config.gatedMlp ? "Token it multiplies by its gate" : "Token that excites it",
        "the largest entries of E w_in");
    if (config.gatedMlp)
        add(gates, "_gates", "Token that opens its gate", "the largest entries of E w_gate");
}

AnalysisCost neuronTokensCost(const ModelConfig& config, const AnalysisOptions& options, double neurons)
{
    const double d = config.dModel;
    const double sides = config.gatedMlp ? 2 : 1; // what it reads
    const double tokens = sides * config.dVocab + config.dVocabOut;
    const double length = std::min<double>(options.tableSize, std::max(config.dVocab, config.dVocabOut));
    return {neurons * d * tokens * (2 + flopsPerTokenNumber / neuronsPerBlock),
            neurons * (1 + sides) * length * static_cast<double>(sizeof(TokenEntry))
                + 16.0 * static_cast<double>(neuronsPerBlock) * tokens};
}

} // namespace headwise
