#include "core/analysis/analyses.h"
#include "core/analysis/position/rotary_energies.h"
#include "core/analysis/position/rotary_kernel.h"
#include "core/analysis/position/rotary_tables.h"
#include "core/analysis/position/token_rows.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace headwise {

namespace {

const std::string rotaryFolder = "analyses/rotary/";

/// Specs of the kernel of a pair of vectors. \param who "mean_token", \param vectors "x̄ with x̄"
std::vector<ArraySpec> rotaryKernelArrays(const std::string& who, const std::string& vectors,
                                          const std::string& condition)
{
    const std::string at = rotaryFolder + who + "_";
    const std::string with = ", " + vectors;
    const std::vector<ArrayAxis> axes = headAxes({Axis::Frequency});
    std::vector<ArraySpec> all{
        {at + "score", headAxes({Axis::Offset}), "Score by offset" + with,
         "q R_Δ kᵀ · scale for " + vectors + ", soft cap applied"},
        {at + "cosine", axes, "Cosine coefficients" + with, "a_m = q_m · k_m · scale, before a soft cap"},
        {at + "sine", axes, "Sine coefficients" + with, "b_m = q_m × k_m · scale, before a soft cap"},
        {at + "amplitude", axes, "Amplitudes" + with,
         "√(a_m² + b_m²) = |q_m| |k_m| · scale; divided by √2 the deviation of a_m and b_m for random phases"},
        {at + "constant", headAxes(), "Part that does not rotate" + with,
         "q · k · scale over the components without a frequency"},
        {at + "score_null_deviation", headAxes(), "Deviation of the score, random phases" + with,
         "√(Σ_m amplitude_m² / 2): the score around its constant where the angles of q_m to k_m are random"}};
    for (ArraySpec& spec : all)
        spec.condition = condition;
    return all;
}

std::vector<ArraySpec> rotaryArrays()
{
    std::vector<ArraySpec> all{
        {.path = rotaryFolder + "frequencies",
         .axes = {Axis::Layer, Axis::Frequency},
         .title = "Frequencies",
         .definition = "θ_m, base^(−2m/dim) unless it is scaled; NaN beyond a layer's last",
         .unit = "radians per position"}};
    for (const std::vector<ArraySpec>& some :
         {rotaryEnergyArrays(), rotaryKernelArrays("mean_token", "the mean row of E with itself", ""),
          rotaryKernelArrays("token", "the token with itself", "with --token"),
          rotaryKernelArrays("token_to_mean", "the token's query with the mean row's key", "with --token"),
          rotaryKernelArrays("token_to_key", "the token's query with the key token's key",
                             "with --token and --key-token"),
          rotaryKernelArrays("bias", "b_Q with b_K",
                             "biases of queries and keys, which no norm or limit changes"),
          rotaryTableArrays()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

/// The kernels of one pair of vectors, over all heads.
struct RotaryKernelNumbers {
    RealNumbers score, cosine, sine, amplitude, constant, deviation;

    RotaryKernelNumbers(const ModelConfig& config, Eigen::Index n)
        : score(RealNumbers::perHead(config, n))
        , cosine(RealNumbers::perHead(config, mostFrequencies(config)))
        , sine(cosine)
        , amplitude(cosine)
        , constant(RealNumbers::perHead(config))
        , deviation(constant)
    {
    }

    void set(HeadId head, const RotaryKernel& kernel, const RotaryWaves& waves, double cap)
    {
        Eigen::VectorXd scores = waves.scores(kernel);
        if (cap > 0)
            scores = cap * (scores.array() / cap).tanh();
        setRows(score, head, scores);
        setRows(cosine, head, kernel.a);
        setRows(sine, head, kernel.b);
        setRows(amplitude, head, kernel.amplitude);
        constant.set(head, kernel.constant);
        deviation.set(head, std::sqrt(kernel.amplitude.squaredNorm() / 2));
    }

    void put(Results& results, const std::string& who) const
    {
        const std::string at = rotaryFolder + who + "_";
        results.put(at + "score", score);
        results.put(at + "cosine", cosine);
        results.put(at + "sine", sine);
        results.put(at + "amplitude", amplitude);
        results.put(at + "constant", constant);
        results.put(at + "score_null_deviation", deviation);
    }
};

/// The rotary waves that all heads of a layer share; one entry per distinct rotary embedding.
struct LayerWaves {
    std::vector<Rotary> rotaries;
    std::vector<RotaryWaves> waves;

    LayerWaves(const ModelConfig& config, Eigen::Index n)
    {
        for (int layer = 0; layer < config.nLayers; ++layer) {
            if (std::find(rotaries.begin(), rotaries.end(), config.rotaryOf(layer)) != rotaries.end())
                continue;
            rotaries.push_back(config.rotaryOf(layer));
            waves.emplace_back(config.rotaryOf(layer), n);
        }
    }

    const RotaryWaves& of(const Rotary& rotary) const
    {
        const auto found = std::find(rotaries.begin(), rotaries.end(), rotary);
        return waves[static_cast<std::size_t>(found - rotaries.begin())];
    }
};

RealNumbers frequenciesOf(const ModelConfig& config)
{
    RealNumbers numbers(
        {static_cast<std::size_t>(config.nLayers), static_cast<std::size_t>(mostFrequencies(config))});
    for (int layer = 0; layer < config.nLayers; ++layer)
        std::ranges::copy(rotaryFrequencies(config.rotaryOf(layer)),
                          numbers.list(static_cast<std::size_t>(layer)).begin());
    return numbers;
}

/// All numbers that the analysis computes for one model.
class RotaryRun {
public:
    RotaryRun(const AnalysisContext& context, const TokenSide& tokens, const MeanTokens& means)
        : m_context(context)
        , m_weights(context.circuits.weights())
        , m_config(m_weights.config())
        , m_means(means)
        , m_waves(m_config, shownPositions(m_config))
        , m_energies(m_config)
        , m_mean(m_config, shownPositions(m_config))
        , m_bias(m_mean)
    {
        const AnalysisInputs& inputs = context.options.inputs;
        if (!inputs.token)
            return;
        m_self.emplace(m_config, shownPositions(m_config));
        m_toMean.emplace(*m_self);
        if (inputs.keyToken)
            m_toKey.emplace(*m_self);
        for (const int layer : {0, 1}) {
            Matrix<double> rows(inputs.keyToken ? 2 : 1, m_config.dModel);
            rows.row(0) = tokens.embeddingOf(layer).vector(*inputs.token);
            if (inputs.keyToken)
                rows.row(1) = tokens.embeddingOf(layer).vector(*inputs.keyToken);
            m_tokens.push_back(std::move(rows));
        }
    }

    Result<Done> run(HeadId head)
    {
        const FoldedHead folded = foldedHead(m_weights, head);
        const HeadWeights<double> weights = m_weights.head<double>(head);
        m_energies.set(head, rotaryEnergies(m_weights, head));
        const bool hasToken = !m_tokens.empty();
        Matrix<double> x(hasToken ? 1 + m_tokens[0].rows() : 1, m_config.dModel);
        x.row(0) = m_means.of(head.layer);
        if (hasToken)
            x.bottomRows(x.rows() - 1) = m_tokens[head.layer == 0 ? 0 : 1];
        x = normalized<double>(m_weights.ln1<double>(head.layer), x);
        const QueriesAndKeys<double> qk =
            queriesAndKeys(weights, sharedQkScale(m_weights, head.layer, x), m_config.qkvLimit, x);
        setKernel(m_mean, head, qk.q.row(0), qk.k.row(0));
        if (hasToken) {
            setKernel(*m_self, head, qk.q.row(1), qk.k.row(1));
            setKernel(*m_toMean, head, qk.q.row(1), qk.k.row(0));
        }
        if (m_toKey)
            setKernel(*m_toKey, head, qk.q.row(1), qk.k.row(2));
        setKernel(m_bias, head, folded.b_Q, folded.b_K);
        return Done{};
    }

    void put(Results& results) const
    {
        results.put(rotaryFolder + "frequencies", frequenciesOf(m_config));
        m_energies.put(results, m_config);
        m_mean.put(results, "mean_token");
        const std::size_t ofToken = results.arrays().size();
        if (m_self) {
            m_self->put(results, "token");
            m_toMean->put(results, "token_to_mean");
        }
        const std::size_t ofKey = results.arrays().size();
        if (m_toKey)
            m_toKey->put(results, "token_to_key");
        for (std::size_t i = ofToken; i < results.arrays().size(); ++i) {
            auto& attributes = results.arrays()[i].attributes;
            attributes["embedding"] = std::string(embeddingName(m_context.options.embedding));
            attributes["token"] = static_cast<double>(*m_context.options.inputs.token);
            if (i >= ofKey)
                attributes["key_token"] = static_cast<double>(*m_context.options.inputs.keyToken);
        }
        if (hasBiasKernel())
            m_bias.put(results, "bias");
        nameFrequencies(results);
    }

private:
    /// Names the frequencies by their wavelengths, where all layers have the same.
    void nameFrequencies(Results& results) const
    {
        if (m_waves.rotaries.size() != 1)
            return;
        const std::vector<std::string> names = frequencyNames(rotaryFrequencies(m_waves.rotaries.front()));
        for (ResultArray& array : results.arrays())
            if (array.axes.back() == Axis::Frequency)
                array.attributes[frequencyLabels] = names;
    }

    void setKernel(RotaryKernelNumbers& out, HeadId head, const RowVector<double>& q,
                   const RowVector<double>& k)
    {
        const Rotary& rotary = m_config.rotaryOf(head.layer);
        out.set(head, rotaryKernel(rotary, q, k, m_config.attentionScaleOf(head.layer)), m_waves.of(rotary),
                m_config.attentionSoftCap);
    }

    /// Returns whether biases have a separate score. They have none if queries or keys are normalised or clipped.
    bool hasBiasKernel() const
    {
        if (m_config.qkNorm != NormKind::None || m_config.latentAttention || m_config.qkvLimit > 0)
            return false;
        for (const HeadId head : selectedHeads(m_config, m_context.options))
            for (const double value : m_bias.amplitude.of(head))
                if (value > 0)
                    return true;
        return false;
    }

    const AnalysisContext& m_context;
    const ProcessedWeights& m_weights;
    const ModelConfig& m_config;
    const MeanTokens& m_means;
    LayerWaves m_waves;
    RotaryEnergyNumbers m_energies;
    RotaryKernelNumbers m_mean, m_bias;
    std::optional<RotaryKernelNumbers> m_self, m_toMean, m_toKey;
    std::vector<Matrix<double>>
        m_tokens; // of layer 0, of later layers: the token, the key token if there is one
};

Result<ResultSet> runRotary(const AnalysisContext& context, const Task& task)
{
    const auto tokens = embeddingsOf(context, task);
    if (!tokens)
        return tokens.error();
    const std::optional<int> token = context.options.inputs.token;
    const std::optional<int> keyToken = context.options.inputs.keyToken;
    if (keyToken && !token)
        return Error{ErrorCode::InvalidArgument, "A key token needs a query token; give both."};
    for (const auto& asked : {token, keyToken})
        if (const auto checked = checkToken(**tokens, asked); !checked)
            return checked.error();
    const auto means = meanTokens(**tokens, task);
    if (!means)
        return means.error();
    RotaryRun run(context, **tokens, *means);
    const auto done =
        forEachHead(context, task, "rotary kernels", [&](HeadId head) { return run.run(head); });
    if (!done)
        return done.error();
    Results results = resultsOf(context, rotaryArrays());
    results.warn(*done);
    run.put(results);
    for (ResultArray& array : results.arrays())
        if (context.circuits.config().attentionSinks && array.path == rotaryFolder + "mean_token_score")
            array.attributes["has_sinks"] = true;
    if (token)
        if (const auto put = putRotaryTables(context, **tokens, task, results); !put)
            return put.error();
    return std::move(results).finish();
}

std::string whyNotRotary(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.positional != Positional::Rotary)
        return "It needs rotary positions.";
    return mostFrequencies(config) > 0 ? "" : "No component of this model's queries and keys is rotated.";
}

AnalysisCost rotaryCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const double n = static_cast<double>(shownPositions(config));
    const double d = config.dModel, r = config.dHead, V = config.dVocab;
    const double kernels = (options.inputs.token ? 4 : 2) + (options.inputs.keyToken ? 1 : 0);
    const AnalysisCost tables = options.inputs.token ? rotaryTablesCost(config, options) : AnalysisCost{};
    return {V * d + heads * (8 * d * r + kernels * (4 * d * r + 2 * n * r)) + tables.flops,
            all * 12 * (kernels * (n + 2 * r) + 2 * r) + tables.bytes};
}

std::vector<Picture> rotaryPictures()
{
    using enum Picture::Kind;
    const auto in = [](std::initializer_list<const char*> names) { return pathsOf("rotary", names); };
    const std::string waves = "Score(Δ) = constant + Σ cosine · cos(θΔ) + sine · sin(θΔ).";
    return {
        {.kind = Lines,
         .title = "Score by offset",
         .arrays = in(
             {"mean_token_score", "token_score", "token_to_mean_score", "token_to_key_score", "bias_score"}),
         .note = "Offset 0 is the query's own position; larger offsets lie before it."},
        {.kind = Bars,
         .title = "Energy by frequency, fast ones first",
         .arrays = in({"energy", "energy_null"}),
         .note = "Fast frequencies separate nearby positions; slow ones carry content."},
        {.kind = Matrix,
         .title = "Energy, heads by frequency",
         .arrays = in({"energy_of_heads"}),
         .signedColors = false,
         .note = "One row per head, layer by layer. Columns go from the fastest to the slowest frequency."},
        {.kind = Bars,
         .title = "Cosine and sine coefficients of the mean token",
         .arrays = in({"mean_token_cosine", "mean_token_sine"}),
         .note = waves},
        {.kind = Bars,
         .title = "Cosine and sine coefficients of the token",
         .arrays = in({"token_cosine", "token_sine"}),
         .note = waves},
        {.kind = Bars,
         .title = "Cosine and sine coefficients of the token with the key token",
         .arrays = in({"token_to_key_cosine", "token_to_key_sine"}),
         .note = waves},
        {Lines, "Angle within a pair of weight columns", in({"query_pair_cosine", "key_pair_cosine"})},
        {.kind = HeadGrid,
         .title = "Spread of the score over random phases",
         .arrays = in({"mean_token_score_null_deviation", "bias_score_null_deviation"}),
         .signedColors = false},
        {.kind = Table,
         .title = "Keys the token looks for, by offset",
         .arrays = in({"key_ids", "key_values"}),
         .note = "Each row is an offset, listed in key_offsets."},
        {Table, "Keys it avoids, by offset", in({"lowest_key_ids", "lowest_key_values"})},
        {.kind = Lines,
         .title = "Frequencies",
         .arrays = in({"frequencies"}),
         .logY = true,
         .signedColors = false},
    };
}

} // namespace

Analysis rotaryAnalysis()
{
    return {.id = "rotary",
            .number = "C8",
            .title = "Rotary positions",
            .formula = "score(Δ) = q R_Δ kᵀ · scale = c + Σ_m a_m cos(θ_m Δ) + b_m sin(θ_m Δ)",
            .citation = "Su et al. 2021, arXiv 2104.09864; Barbero et al. 2024, arXiv 2410.06205",
            .whyNot = whyNotRotary,
            .cost = rotaryCost,
            .run = runRotary,
            .arrays = rotaryArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::RotaryBase, ConfigField::NormEps,
                                 ConfigField::Context}},
            .pictures = rotaryPictures(),
            .followsFilter = true,
            .uses = {.token = true, .keyToken = true}};
}

} // namespace headwise
