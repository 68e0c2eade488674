#include "core/analysis/analyses.h"
#include "core/analysis/architecture/best_neurons.h"
#include "core/analysis/architecture/neuron_tokens.h"
#include "core/analysis/selected_heads.h"
#include "core/circuits/subspace.h"
#include "core/results/picture_of.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise {

namespace {

constexpr double mostMapped = 1e7; // numbers of one map of heads and neurons
constexpr const char* neuronsFolder = "analyses/neurons/";

std::string whyNotNeurons(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.attentionOnly)
        return "This model has no MLPs.";
    if (config.nExperts > 0)
        return "This model's MLPs are mixtures of experts, whose neurons are active only for some tokens.";
    if (config.merged)
        return "The output projections of this model are merged into its MLPs, which no longer read the residual stream.";
    if (config.nLayers == 1 && config.parallelBlocks)
        return "The MLP and the heads of this model's only layer run in parallel, so neither reads the other.";
    return {};
}

enum Way { Q, K, V, O, Gate };
struct WayName {
    const char* name;
    const char* title;
    const char* formula;
};
constexpr std::array<WayName, 5> ways{{
    {"q", "Neurons that queries read", "‖w_out^n U‖² / ‖w_out^n‖², U = orthonormal basis of W_Q's columns"},
    {"k", "Neurons that keys read", "‖w_out^n U‖² / ‖w_out^n‖², U = orthonormal basis of W_K's columns"},
    {"v", "Neurons that values read", "‖w_out^n U‖² / ‖w_out^n‖², U = orthonormal basis of W_V's columns"},
    {"o", "Neurons that read the output", "‖U w_in^n‖² / ‖w_in^n‖², U = orthonormal basis of W_O's rows"},
    {"o_gate", "Neurons whose gate reads the output",
     "‖U w_gate^n‖² / ‖w_gate^n‖², U = orthonormal basis of W_O's rows"},
}};
constexpr const char* ofTheBasis = " (singular vectors with σ > d_model ε σ₁, ε = 2^-23; NaN without any)";

/// Only gated MLPs have the last way: their neurons read two directions.
std::size_t wayCount(const ModelConfig& config)
{
    return config.gatedMlp ? ways.size() : ways.size() - 1;
}

bool isOfReaders(std::size_t way)
{
    return way == Way::O || way == Way::Gate;
}

std::string neuronsPath(std::size_t way)
{
    return neuronsFolder + std::string(ways[way].name);
}

std::vector<ArraySpec> neuronsArrays()
{
    std::vector<ArraySpec> lists, tokens, maps;
    for (std::size_t way = 0; way < ways.size(); ++way) {
        const std::string path = neuronsPath(way), title = ways[way].title;
        const std::string formula = std::string(ways[way].formula) + ofTheBasis;
        const std::string gated = way == Way::Gate ? "gated MLPs" : "";
        const auto add = [&](const char* name, const char* suffix, NumberType type) {
            lists.push_back({.path = path + name,
                             .axes = headAxes({Axis::Rank}),
                             .title = title + suffix,
                             .definition = "the largest " + formula
                                 + (isOfReaders(way) ? ", over the MLPs after the head"
                                                     : ", over the MLPs before the head"),
                             .type = type,
                             .condition = gated});
        };
        add("_layer", ", layer", NumberType::Whole);
        add("_neuron", ", neuron", NumberType::Whole);
        add("_values", "", NumberType::Real);
        lists.back().range = {0.0, 1.0};
        addNeuronTokenSpecs(tokens, path, gated);
        maps.push_back({.path = path + "_map",
                        .axes = headAxes({Axis::Neuron}),
                        .title = title + ", one MLP",
                        .definition = formula
                            + (isOfReaders(way) ? ", of the first MLP after the head"
                                                : ", of the last MLP before the head"),
                        .range = {{0.0, 1.0}},
                        .condition = gated + (gated.empty() ? "" : ", ") + "up to ten million numbers"});
    }
    lists.insert(lists.end(), tokens.begin(), tokens.end());
    lists.insert(lists.end(), maps.begin(), maps.end());
    return lists;
}

/// Returns whether the map shows every head with every neuron of the adjacent MLP.
bool isMapped(const ModelConfig& c)
{
    return static_cast<double>(c.nLayers) * c.nHeads * c.dMlp <= mostMapped;
}

/// Returns the share of each unit row in the span of `basis`, [n]. \param rows [n, d] \param basis [d, r]
template <typename Scalar>
Eigen::VectorXd shares(const Matrix<Scalar>& rows, const Matrix<Scalar>& basis)
{
    const Matrix<Scalar> inside = rows * basis;
    return inside.template cast<double>().rowwise().squaredNorm();
}

template <typename Scalar>
class Neurons {
public:
    Neurons(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_heads(static_cast<std::size_t>(m_config.nLayers) * m_config.nHeads)
    {
        for (const HeadId head : selectedHeads(m_config, context.options))
            m_heads[index(head)].isAsked = true;
        if (isMapped(m_config))
            m_maps.assign(wayCount(m_config), RealNumbers::perHead(m_config, m_config.dMlp));
    }

    Result<ResultSet> run()
    {
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            if (const auto done = readLayer(layer); !done)
                return done.error();
            m_task.report(layer + 1, m_config.nLayers, "layers of heads beside neurons");
        }
        Results results = resultsOf(m_context, neuronsArrays());
        std::vector<NeuronLists> lists;
        for (std::size_t way = 0; way < wayCount(m_config); ++way) {
            putLists(results, way);
            lists.push_back(listsOf(way));
        }
        const auto tokens = neuronTokens(m_context, lists, m_task);
        if (!tokens)
            return tokens.error();
        for (std::size_t way = 0; way < lists.size(); ++way)
            putNeuronTokens(results, m_context, neuronsPath(way), lists[way], *tokens);
        for (std::size_t way = 0; way < m_maps.size(); ++way)
            setNull(results.put(neuronsPath(way) + "_map", std::move(m_maps[way])), way);
        return std::move(results).finish();
    }

private:
    struct Head {
        bool isAsked = false;
        std::array<Matrix<Scalar>, 4> bases; // of W_Q, W_K, W_V, W_O, while its layer is read; empty: none
        std::array<Eigen::Index, 4> ranks{}; // of the same
        std::array<BestNeurons, ways.size()> best;
    };

    std::size_t index(HeadId head) const
    {
        return static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head;
    }

    /// All neurons before and after the heads of one layer: each MLP is read once per layer of heads and shared by them.
    Result<Done> readLayer(int layer)
    {
        const auto bases = forHeads(layer, [&](HeadId id, Head& head) -> Result<Done> {
            const HeadWeights<double> w = m_context.circuits.weights().head<double>(id);
            const std::array<Matrix<double>, 4> sides{w.W_Q, w.W_K, w.W_V, w.W_O.transpose()};
            for (std::size_t way = 0; way < sides.size(); ++way) {
                const auto space = columnSpace(sides[way]);
                if (!space && space.error().code != ErrorCode::Corrupt)
                    return space.error();
                head.ranks[way] = space ? space->rank : 0;
                head.bases[way] = head.ranks[way] > 0
                    ? Matrix<Scalar>(space->basis.leftCols(space->rank).template cast<Scalar>())
                    : Matrix<Scalar>();
            }
            return Done{};
        });
        if (!bases)
            return bases;
        for (int mlp = 0; mlp < m_config.nLayers; ++mlp) {
            if (m_task.cancelled())
                return stopped();
            const bool isAfter = mlp > layer || (mlp == layer && !m_config.parallelBlocks);
            if (!isAfter && mlp == layer)
                continue;
            if (const auto done = isAfter ? meetReaders(layer, mlp) : meetWriters(layer, mlp); !done)
                return done;
        }
        return forHeads(layer, [](HeadId, Head& head) -> Result<Done> {
            head.bases = {};
            return Done{};
        });
    }

    template <typename Body>
    Result<Done> forHeads(int layer, Body body)
    {
        return parallelFor(m_config.nHeads, withoutProgress(m_task), "heads", [&](int head) -> Result<Done> {
            Head& state = m_heads[index({layer, head})];
            return state.isAsked ? body({layer, head}, state) : Result<Done>(Done{});
        });
    }

    /// \param rows [f, d]: of W_out, or of W_inᵀ
    static Matrix<Scalar> unitRows(Matrix<double> rows)
    {
        rows.rowwise().normalize(); // a row of zeros becomes NaN, which no list takes
        return rows.template cast<Scalar>();
    }

    Result<Done> meetWriters(int layer, int mlp)
    {
        const Matrix<Scalar> rows = unitRows(m_context.circuits.weights().mlp<double>(mlp).W_out);
        return forHeads(layer, [&](HeadId id, Head& head) -> Result<Done> {
            for (const Way way : {Way::Q, Way::K, Way::V}) {
                if (head.bases[way].size() > 0)
                    take(way, id, shares<Scalar>(rows, head.bases[way]), mlp);
            }
            return Done{};
        });
    }

    Result<Done> meetReaders(int layer, int mlp)
    {
        const MlpWeights<double> read = m_context.circuits.weights().mlp<double>(mlp);
        const Matrix<Scalar> rows = unitRows(read.W_in.transpose());
        const Matrix<Scalar> gates = unitRows(read.W_gate.transpose()); // none: no gates
        return forHeads(layer, [&](HeadId id, Head& head) -> Result<Done> {
            const Matrix<Scalar>& basis = head.bases[Way::O];
            if (basis.size() == 0)
                return Done{};
            take(Way::O, id, shares<Scalar>(rows, basis), mlp);
            if (gates.rows() > 0)
                take(Way::Gate, id, shares<Scalar>(gates, basis), mlp);
            return Done{};
        });
    }

    /// Returns the MLP that the map pairs with heads of `layer`: the last one before them. For O: the first one after them.
    int mappedMlp(Way way, int layer) const
    {
        return !isOfReaders(way) ? layer - 1 : m_config.parallelBlocks ? layer + 1 : layer;
    }

    void take(Way way, HeadId head, const Eigen::VectorXd& values, int mlp)
    {
        m_heads[index(head)].best[way].offer(values, mlp);
        if (!m_maps.empty() && mlp == mappedMlp(way, head.layer))
            m_maps[way].set(head,
                            std::span<const double>(values.data(), static_cast<std::size_t>(values.size())));
    }

    /// Sets the null: the share of a random direction in subspaces that have the ranks of the heads' subspaces.
    void setNull(ResultArray& array, std::size_t way) const
    {
        const double d = m_config.dModel;
        const std::size_t side = isOfReaders(way) ? std::size_t{Way::O} : way;
        std::vector<Moments> each;
        each.reserve(m_heads.size());
        for (const Head& head : m_heads) {
            const double r = static_cast<double>(head.ranks[side]);
            if (r > 0) // Beta(r/2, (d − r)/2)
                each.push_back({r / d, std::sqrt(2 * r * (d - r) / (d * d * (d + 2)))});
        }
        if (each.empty())
            return;
        const Moments null = mixtureOf(each);
        array.nullMean = null.mean;
        array.nullDeviation = null.deviation;
    }

    void putLists(Results& results, std::size_t way)
    {
        RealNumbers values = RealNumbers::perHead(m_config, listedNeurons);
        WholeNumbers layers(values.shape()), indices(values.shape());
        for (std::size_t head = 0; head < m_heads.size(); ++head) {
            std::size_t at = 0;
            for (const RankedNeuron& neuron : m_heads[head].best[way].sorted()) {
                layers.list(head)[at] = neuron.layer;
                indices.list(head)[at] = neuron.index;
                values.list(head)[at++] = neuron.value;
            }
        }
        results.put(neuronsPath(way) + "_layer", std::move(layers));
        results.put(neuronsPath(way) + "_neuron", std::move(indices));
        setNull(results.put(neuronsPath(way) + "_values", std::move(values)), way);
    }

    /// Returns the best neurons of each head, [L H], best first.
    NeuronLists listsOf(std::size_t way)
    {
        NeuronLists lists(m_heads.size());
        for (std::size_t head = 0; head < m_heads.size(); ++head) {
            for (const RankedNeuron& neuron : m_heads[head].best[way].sorted())
                lists[head].push_back({neuron.layer, neuron.index});
        }
        return lists;
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    std::vector<Head> m_heads;
    std::vector<RealNumbers> m_maps; // as ways; empty: too large
};

Result<ResultSet> runNeurons(const AnalysisContext& context, const Task& task)
{
    return context.options.precision == Precision::F64 ? Neurons<double>(context, task).run()
                                                       : Neurons<float>(context, task).run();
}

AnalysisCost neuronsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double layers = config.nLayers;
    // A head meets half of the MLPs before it, three times, and half after it, once or with their gates.
    const double each = static_cast<double>(wayCount(config));
    const double perHead = 2 * d * r * config.dMlp * (3 * (layers - 1) / 2 + (each - 3) * (layers + 1) / 2);
    // Each head lists other neurons than the next: what there can be at most.
    const double lists = each * static_cast<double>(listedNeurons);
    const AnalysisCost tokens =
        neuronTokensCost(config, options, std::min(heads * lists, layers * config.dMlp));
    const double length = std::min(options.tableSize, std::max(config.dVocab, config.dVocabOut));
    return {heads * (perHead + 24 * d * r * r + 80 * r * r * r) + tokens.flops,
            tokens.bytes + layers * config.nHeads * lists * (16 + (each - 2) * length * (12 + 8))
                + (isMapped(config) ? layers * config.nHeads * config.dMlp * each * 12 : 0)
                + (each - 1) * 8 * d * config.dMlp + 4.0 * 4 * config.nHeads * d * r};
}

std::vector<Picture> neuronsPictures()
{
    using Kind = Picture::Kind;
    const char* note =
        "The null is the share of a random direction in a subspace of the same size. The largest of many thousands exceeds it by chance.";
    const auto map = [](const char* title, const char* array) {
        Picture made = pictureOf(
            neuronsFolder, Kind::HeadPairs, title, {array},
            "For the MLP next to the head; left out of models with more than ten million such pairs.");
        made.signedColors = false;
        return made;
    };
    const auto table = [&](const char* title, const std::string& way, const std::string& tokens) {
        return Picture{.kind = Kind::Table,
                       .title = title,
                       .arrays = {neuronsFolder + way + "_layer", neuronsFolder + way + "_neuron",
                                  neuronsFolder + way + "_values", neuronsFolder + way + tokens + "_ids",
                                  neuronsFolder + way + tokens + "_values"},
                       .note = note};
    };
    std::vector<Picture> pictures{
        table("Neurons that queries read, and what they write", "q", "_writes"),
        table("Neurons that queries read, and what excites them", "q", "_reads"),
        table("Neurons that queries read, and what opens their gates", "q", "_gates"),
        table("Neurons that keys read, and what they write", "k", "_writes"),
        table("Neurons that keys read, and what excites them", "k", "_reads"),
        table("Neurons that keys read, and what opens their gates", "k", "_gates"),
        table("Neurons that values read, and what they write", "v", "_writes"),
        table("Neurons that values read, and what excites them", "v", "_reads"),
        table("Neurons that values read, and what opens their gates", "v", "_gates"),
        table("Neurons that read the output, and what excites them", "o", "_reads"),
        table("Neurons that read the output, and what they write", "o", "_writes"),
        table("Neurons whose gate reads the output, and what opens it", "o_gate", "_gates"),
        table("Neurons whose gate reads the output, and what they write", "o_gate", "_writes"),
        map("Queries of all heads and the neurons before them", "q_map"),
        map("Keys of all heads and the neurons before them", "k_map"),
        map("Values of all heads and the neurons before them", "v_map"),
        map("Outputs of all heads and the neurons after them", "o_map"),
        map("Outputs of all heads and the gates of the neurons after them", "o_gate_map"),
        pictureOf(neuronsFolder, Kind::Lines, "Shares by rank",
                  {"q_values", "k_values", "v_values", "o_values", "o_gate_values"}),
    };
    return pictures;
}

} // namespace

Analysis neuronsAnalysis()
{
    return {
        .id = "neurons",
        .number = "I1",
        .title = "Neurons beside heads",
        .formula =
            "‖w_out^n U‖² of W_Q, W_K, W_V of later heads; ‖U_Oᵀ w_in^n‖² (and w_gate^n) of neurons after a head; w_out W_U and E w_in (E w_gate) of the best",
        .citation = "Elhage et al. 2021; Gurnee et al. 2024, arXiv 2401.12181",
        .needsTokens = true,
        .whyNot = whyNotNeurons,
        .cost = neuronsCost,
        .run = runNeurons,
        .arrays = neuronsArrays(),
        .pictures = neuronsPictures(),
        .followsFilter = true};
}

} // namespace headwise
