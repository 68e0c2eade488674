#include "core/analysis/architecture/neuron_tokens.h"

#include "core/analysis/entry_lists.h"
#include "core/analysis/selected_heads.h"
#include "core/circuits/mlp_tokens.h"
#include "core/circuits/scan/token_scan.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace headwise {

namespace {

using Entries = std::vector<std::vector<TokenEntry>>; // of each direction

/// The vectors of tokens on one side, one token per column. Products use float; double decides the ranks.
struct TokenColumns {
    std::shared_ptr<const Matrix<float>> rounded; // [d, V]
    std::shared_ptr<const Matrix<double>> exact;  // [d, V]; empty: as rounded
    std::vector<bool> unused;                     // [V] or empty

    TokenColumns(const TokenMatrix& tokens, const std::vector<bool>& unusedTokens)
        : rounded(tokens.columns<float>())
        , exact(tokens.exactColumns())
        , unused(marks(unusedTokens, tokens.count()))
    {
    }
};

/// Returns the largest entries of every direction, falling. \param directions [d, n]
Result<Entries> largestOf(const TokenColumns& tokens, const Matrix<double>& directions, int length,
                          const Task& task)
{
    const Matrix<float> rounded = directions.cast<float>();
    const std::vector<bool> noRows;
    const int k = static_cast<int>(std::min<Eigen::Index>(length, tokens.rounded->cols()));
    const auto found = scanRows({{rounded, directions, noRows},
                                 {*tokens.rounded, *tokens.exact, tokens.unused},
                                 k,
                                 ScanEnds::Largest},
                                task);
    if (!found)
        return found.error();
    Entries lists(static_cast<std::size_t>(directions.cols()));
    for (std::size_t i = 0; i < lists.size() * static_cast<std::size_t>(k); ++i) {
        if (found->ids[i] >= 0)
            lists[i / static_cast<std::size_t>(k)].push_back({found->ids[i], found->values[i]});
    }
    return lists;
}

/// Looks up the neurons of MLPs that read the same vectors, one after the other.
class Lookup {
public:
    Lookup(const AnalysisContext& context, std::shared_ptr<const TokenSide> read, const Task& task)
        : m_context(context)
        , m_task(withoutProgress(task))
        , m_reads(std::move(read))
        , m_read(m_reads->E, context.options.unusedTokens)
        , m_written(context.tokens->W_U, context.options.unusedTokens)
    {
    }

    bool reads(const std::shared_ptr<const TokenSide>& tokens) const { return tokens == m_reads; }

    Result<std::vector<NeuronTokens>> tokensOf(int layer, const std::vector<int>& indices) const
    {
        const MlpWeights<double> mlp = m_context.circuits.weights().mlp<double>(layer);
        std::vector<NeuronTokens> found(indices.size());
        const auto add = [&](const TokenColumns& tokens, const Matrix<double>& directions,
                             std::vector<TokenEntry> NeuronTokens::*list) -> Result<Done> {
            auto lists = largestOf(tokens, directions, m_context.options.tableSize, m_task);
            if (!lists)
                return lists.error();
            auto all = std::move(lists).value();
            for (std::size_t i = 0; i < found.size(); ++i)
                found[i].*list = std::move(all[i]);
            return Done{};
        };
        if (const auto done =
                add(m_written, mlp.W_out(indices, Eigen::all).transpose(), &NeuronTokens::writes);
            !done)
            return done.error();
        if (const auto done = add(m_read, mlp.W_in(Eigen::all, indices), &NeuronTokens::reads); !done)
            return done.error();
        if (mlp.W_gate.size() == 0)
            return found;
        if (const auto done = add(m_read, mlp.W_gate(Eigen::all, indices), &NeuronTokens::gates); !done)
            return done.error();
        return found;
    }

private:
    const AnalysisContext& m_context;
    Task m_task;
    std::shared_ptr<const TokenSide> m_reads;
    TokenColumns m_read, m_written;
};

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
    std::optional<Lookup> lookup;
    int read = 0;
    for (const auto& [layer, indices] : byLayer) {
        const auto vectors = tokensOfMlp(context.circuits, context.tokens, layer, withoutProgress(task));
        if (!vectors)
            return vectors.error();
        if (!lookup || !lookup->reads(*vectors))
            lookup.emplace(context, *vectors, task);
        auto tokens = lookup->tokensOf(layer, indices);
        if (!tokens)
            return tokens.error();
        auto ofLayer = std::move(tokens).value();
        for (std::size_t i = 0; i < indices.size(); ++i)
            found[{layer, indices[i]}] = std::move(ofLayer[i]);
        task.report(++read, static_cast<int>(byLayer.size()), "tokens of neurons");
    }
    return found;
}

void addNeuronTokenSpecs(std::vector<ArraySpec>& specs, const std::string& path, const std::string& condition)
{
    const auto add = [&](const char* name, const std::string& title, const std::string& formula,
                         const std::string& when) {
        ArraySpec values{.path = path + name + "_values",
                         .axes = headAxes({Axis::Neuron, Axis::Rank}),
                         .title = title + ", score",
                         .definition = formula + " of the neurons beside this head, the best of them first",
                         .condition = when};
        ArraySpec ids = values;
        ids.path = path + name + "_ids";
        ids.title = title;
        ids.unit = "token";
        ids.type = NumberType::Whole;
        specs.insert(specs.end(), {std::move(ids), std::move(values)});
    };
    add("_writes", "Token it writes", "the largest entries of w_out W_U", condition);
    add("_reads", "Token that excites it", "the largest entries of E w_in", condition);
    add("_gates", "Token that opens its gate", "the largest entries of E w_gate", "gated MLPs");
}

void putNeuronTokens(Results& results, const AnalysisContext& context, const std::string& path,
                     const NeuronLists& lists, const std::map<NeuronId, NeuronTokens>& tokens)
{
    const ModelConfig& config = context.circuits.config();
    EntryLists writes =
        EntryLists::perHead(config, listedNeurons,
                            std::min(context.options.tableSize, std::max(config.dVocab, config.dVocabOut)));
    EntryLists reads = writes, gates = writes;
    for (std::size_t head = 0; head < lists.size(); ++head) {
        std::size_t at = head * listedNeurons;
        for (const NeuronId neuron : lists[head]) {
            const NeuronTokens& of = tokens.at(neuron);
            writes.set(at, of.writes);
            reads.set(at, of.reads);
            gates.set(at++, of.gates);
        }
    }
    const std::string_view mlp0 = mlp0Reads(context.tokens->embedding, config);
    const auto put = [&](const std::string& name, const EntryLists& of, std::string_view more,
                         const char* title) {
        ResultArray& ids = results.put(path + name + "_ids", of.ids);
        ids.title = title;
        ids.definition += more;
        ResultArray& values = results.put(path + name + "_values", of.values);
        values.title = std::string(title) + ", score";
        values.definition += more;
    };
    put("_writes", writes, {}, "Token it writes");
    put("_reads", reads, mlp0, config.gatedMlp ? "Token it multiplies by its gate" : "Token that excites it");
    if (config.gatedMlp)
        put("_gates", gates, mlp0, "Token that opens its gate");
}

AnalysisCost neuronTokensCost(const ModelConfig& config, const AnalysisOptions& options, double neurons)
{
    const double d = config.dModel;
    const double sides = config.gatedMlp ? 2 : 1; // what it reads
    const double tokens = sides * config.dVocab + config.dVocabOut;
    const double length = std::min<double>(options.tableSize, std::max(config.dVocab, config.dVocabOut));
    // Products in float, a copy of E for them, one of W_U where it is not held, and the lists.
    const double unheldOutputs =
        holdsTokens(config, options.embedding, options.precision) ? 0 : config.dVocabOut;
    const double copy = options.precision == Precision::F64 ? 4 + 8 : 4;
    return {neurons * d * tokens * 2,
            neurons * (1 + sides) * length * static_cast<double>(sizeof(TokenEntry))
                + copy * d * (config.dVocab + unheldOutputs)
                + mlp0TokensBytes(config, options.embedding, options.precision)};
}

} // namespace headwise
