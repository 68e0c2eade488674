#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/position/rotary_energies.h"
#include "core/analysis/position/rotary_kernel.h"
#include "core/analysis/position/rotary_tables.h"
#include "core/analysis/position/token_rows.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace headwise {

namespace {

/// The kernels of one pair of vectors, over all heads.
struct RotaryKernelArrays {
    PerHead score, cosine, sine, amplitude, constant, deviation;

    RotaryKernelArrays(const ModelConfig& config, Eigen::Index n)
        : score(config, static_cast<int>(n))
        , cosine(config, mostFrequencies(config))
        , sine(cosine)
        , amplitude(cosine)
        , constant(config)
        , deviation(config)
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

    /// \param who "mean_token", \param vectors "x̄ with x̄"
    void addTo(ResultSet& results, Precision precision, const std::string& who,
               const std::string& vectors) const
    {
        const std::string path = "analyses/rotary/" + who + "_";
        const auto add = [&](const PerHead& values, const char* name, const char* title,
                             const std::string& formula, std::optional<Axis> axis = {}) {
            results.arrays.push_back(
                values.array(precision, path + name, title + (", " + vectors), formula, axis));
        };
        add(score, "score", "Score by offset", "q R_Δ kᵀ · scale for " + vectors + ", soft cap applied",
            Axis::Offset);
        add(cosine, "cosine", "Cosine coefficients", "a_m = q_m · k_m · scale, before a soft cap",
            Axis::Frequency);
        add(sine, "sine", "Sine coefficients", "b_m = q_m × k_m · scale, before a soft cap", Axis::Frequency);
        add(amplitude, "amplitude", "Amplitudes",
            "√(a_m² + b_m²) = |q_m| |k_m| · scale; divided by √2 the deviation of a_m and b_m for random phases",
            Axis::Frequency);
        add(constant, "constant", "What does not turn",
            "q · k · scale over the components without a frequency");
        add(deviation, "score_null_deviation", "Deviation of the score, random phases",
            "√(Σ_m amplitude_m² / 2): the score around its constant where the angles of q_m to k_m are random");
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

ResultArray frequencyArray(const ModelConfig& config, Precision precision)
{
    const auto width = static_cast<std::size_t>(mostFrequencies(config));
    std::vector<double> values(static_cast<std::size_t>(config.nLayers) * width,
                               std::numeric_limits<double>::quiet_NaN());
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const std::vector<double> frequencies = rotaryFrequencies(config.rotaryOf(layer));
        std::copy(frequencies.begin(), frequencies.end(),
                  values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(layer) * width));
    }
    ResultArray array =
        realArray(precision, "analyses/rotary/frequencies", {static_cast<std::size_t>(config.nLayers), width},
                  std::move(values), {Axis::Layer, Axis::Frequency});
    array.title = "Frequencies";
    array.definition = "θ_m, base^(−2m/dim) unless it is scaled; NaN beyond a layer's last";
    array.unit = "radians per position";
    return array;
}

/// All numbers that the analysis computes for one model.
class RotaryRun {
public:
    RotaryRun(const AnalysisContext& context, const TokenRows& tokens, const MeanTokens& means)
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
            rows.row(0) = tokens.rows(layer, *inputs.token, 1);
            if (inputs.keyToken)
                rows.row(1) = tokens.rows(layer, *inputs.keyToken, 1);
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

    void addTo(ResultSet& results) const
    {
        const Precision precision = m_context.options.precision;
        results.arrays.push_back(frequencyArray(m_config, precision));
        m_energies.addTo(results, m_config, precision);
        m_mean.addTo(results, precision, "mean_token", "the mean row of E with itself");
        const std::size_t ofToken = results.arrays.size();
        if (m_self) {
            m_self->addTo(results, precision, "token", "the token with itself");
            m_toMean->addTo(results, precision, "token_to_mean", "the token's query with the mean row's key");
        }
        const std::size_t ofKey = results.arrays.size();
        if (m_toKey)
            m_toKey->addTo(results, precision, "token_to_key", "the token's query with the key token's key");
        for (std::size_t i = ofToken; i < results.arrays.size(); ++i) {
            auto& attributes = results.arrays[i].attributes;
            attributes["embedding"] = std::string(embeddingName(m_context.options.embedding));
            attributes["token"] = static_cast<double>(*m_context.options.inputs.token);
            if (i >= ofKey)
                attributes["key_token"] = static_cast<double>(*m_context.options.inputs.keyToken);
        }
        if (hasBiasKernel())
            m_bias.addTo(results, precision, "bias", "b_Q with b_K");
    }

private:
    void setKernel(RotaryKernelArrays& out, HeadId head, const RowVector<double>& q,
                   const RowVector<double>& k)
    {
        const Rotary& rotary = m_config.rotaryOf(head.layer);
        out.set(head, rotaryKernel(rotary, q, k, m_config.attentionScaleOf(head.layer)), m_waves.of(rotary),
                m_config.attentionSoftCap);
    }

    /// Returns whether biases have a separate score. They have none if queries or keys are normalised or clipped.
    bool hasBiasKernel() const
    {
        if (m_config.qkNorm != NormKind::None || m_config.qkvLimit > 0)
            return false;
        PerHead amplitude = m_bias.amplitude;
        for (const HeadId head : selectedHeads(m_config, m_context.options))
            for (const double value : amplitude.row(head))
                if (value > 0)
                    return true;
        return false;
    }

    const AnalysisContext& m_context;
    const ProcessedWeights& m_weights;
    const ModelConfig& m_config;
    const MeanTokens& m_means;
    LayerWaves m_waves;
    RotaryEnergyArrays m_energies;
    RotaryKernelArrays m_mean, m_bias;
    std::optional<RotaryKernelArrays> m_self, m_toMean, m_toKey;
    std::vector<Matrix<double>>
        m_tokens; // of layer 0, of later layers: the token, the key token if there is one
};

Result<ResultSet> runRotary(const AnalysisContext& context, const Task& task)
{
    const auto tokens = TokenRows::create(context, task);
    if (!tokens)
        return tokens.error();
    const std::optional<int> token = context.options.inputs.token;
    const std::optional<int> keyToken = context.options.inputs.keyToken;
    if (keyToken && !token)
        return Error{ErrorCode::InvalidArgument,
                     "There is a key token but no token whose query it is for; give both."};
    for (const auto& asked : {token, keyToken})
        if (const auto checked = checkToken(*tokens, asked); !checked)
            return checked.error();
    const auto means = meanTokens(*tokens, task);
    if (!means)
        return means.error();
    RotaryRun run(context, *tokens, *means);
    const auto done =
        forEachHead(context, task, "rotary kernels", [&](HeadId head) { return run.run(head); });
    if (!done)
        return done.error();
    ResultSet results;
    results.warnings = *done;
    run.addTo(results);
    if (token)
        if (const auto added = addRotaryTables(context, *tokens, task, results); !added)
            return added.error();
    return results;
}

std::string whyNotRotary(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.positional != Positional::Rotary)
        return "It needs rotary positions.";
    return mostFrequencies(config) > 0 ? "" : "No component of this model's queries and keys rotates.";
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
        {Lines, "Score by offset",
         in({"mean_token_score", "token_score", "token_to_mean_score", "token_to_key_score", "bias_score"}),
         false, false, true, "Offset 0 is the query's own position, larger ones lie before it."},
        {Bars, "Energy by frequency, fast ones first", in({"energy", "energy_null"}), false, false, true,
         "Fast frequencies tell near positions apart, slow ones carry what tokens mean."},
        {Matrix, "Energy, heads by frequency", in({"energy_of_heads"}), false, false, false,
         "A row per head, layer after layer; columns from the fastest frequency to the slowest."},
        {Bars, "Cosine and sine coefficients of the mean token", in({"mean_token_cosine", "mean_token_sine"}),
         false, false, true, waves},
        {Bars, "Cosine and sine coefficients of the token", in({"token_cosine", "token_sine"}), false, false,
         true, waves},
        {Bars, "Cosine and sine coefficients of the token with the key token",
         in({"token_to_key_cosine", "token_to_key_sine"}), false, false, true, waves},
        {Lines,
         "Angle within a pair of weight columns",
         in({"query_pair_cosine", "key_pair_cosine"}),
         false,
         false,
         true,
         {}},
        {HeadGrid,
         "Spread of the score over random phases",
         in({"mean_token_score_null_deviation", "bias_score_null_deviation"}),
         false,
         false,
         false,
         {}},
        {Table, "Keys the token looks for, by offset", in({"key_ids", "key_values"}), false, false, true,
         "Rows are offsets; see key_offsets."},
        {Table,
         "Keys it avoids, by offset",
         in({"lowest_key_ids", "lowest_key_values"}),
         false,
         false,
         true,
         {}},
        {Lines, "Frequencies", in({"frequencies"}), false, true, false, {}},
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
            .pictures = rotaryPictures(),
            .followsFilter = true};
}

} // namespace headwise
