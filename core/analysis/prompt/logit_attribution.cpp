#include "core/analysis/analyses.h"
#include "core/analysis/prompt/logit_lens.h"
#include "core/analysis/prompt/prompt_arrays.h"
#include "core/analysis/prompt/residual_parts.h"
#include "core/analysis/selected_heads.h"
#include "core/circuits/token_table.h"
#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"
#include "core/model/merges.h"
#include "core/tokenizer/tokenizer.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace headwise {

namespace {

const std::string logitAttributionFolder = "analyses/logit_attribution/";
constexpr Eigen::Index logitAttributionUnembedBlock = 4096; // columns of W_U at a time

/// The logit, or the difference of two logits, that the parts of the stream are attributed to.
struct Target {
    std::vector<int> tokens; // the first alone, or the first minus the second
    std::string name, suffix;
};

/// Stands in titles for the name of a target that is not known yet.
const std::string anyTarget = "the token";

std::vector<ArraySpec> logitAttributionArrays()
{
    const std::string& folder = logitAttributionFolder;
    std::vector<ArraySpec> all;
    for (const bool isDifference : {false, true}) {
        const std::string condition = isDifference ? "with --token, unless it is the most likely token" : "";
        const auto add = [&](const std::string& name, std::vector<ArrayAxis> axes, std::string title,
                             std::string definition) {
            all.push_back({.path = folder + name + (isDifference ? "_difference" : ""),
                           .axes = std::move(axes),
                           .title = std::move(title),
                           .definition = std::move(definition),
                           .unit = "logits",
                           .condition = condition});
        };
        add("component", {Axis::Component}, "Parts of " + anyTarget,
            "(part of the last stream, norms frozen) · W_U[:,t]; their sum is the logit");
        add("logit", {Axis::Target}, "Sum of the parts of " + anyTarget, "Σ parts = logit");
        add("head", headAxes(), "Direct effect on " + anyTarget,
            "(Σ_j α_nj v_j) W_O · (W_U[:,t] through the final norm), σ frozen, at the last position n");
        add("head_z", headAxes(), "Direct effect on " + anyTarget + ", z among all tokens",
            isDifference ? "difference / (√2 deviation of the head's effect over all tokens)"
                         : "(effect − mean) / deviation, of the head's effect over all tokens");
        all.back().unit = {};
        add("layer", {Axis::Layer, Axis::Part}, "Layers on " + anyTarget,
            "sum over the layer's heads, and its MLP, of component");
        add("head_by_key", headAxes({Axis::Key}), "From each key to " + anyTarget,
            "α_nj (v_j W_O) · (W_U[:,t] through the final norm), summing over j to the head's part");
        all.back().condition +=
            (isDifference ? "; " : "") + std::string("unless later norms change what a head adds");
    }
    for (const std::string what : {"mean", "deviation"}) {
        const std::string definition =
            what + " over all tokens of what the part adds to their logits, b_U not counted";
        all.push_back({.path = folder + "null_head_" + what,
                       .axes = headAxes(),
                       .title = "A head's effect on any token, " + what,
                       .definition = definition,
                       .unit = "logits"});
        all.push_back({.path = folder + "null_component_" + what,
                       .axes = {Axis::Component},
                       .title = "Effect on any token, " + what,
                       .definition = definition,
                       .unit = "logits"});
    }
    for (ArraySpec& spec : lensArrays())
        all.push_back(std::move(spec));
    all.push_back({.path = folder + "target",
                   .axes = {Axis::Target},
                   .title = "Explained token and most likely token",
                   .definition = "t, and the token with the largest logit at the last position",
                   .unit = "token",
                   .type = NumberType::Whole});
    return all;
}

/// Mean and deviation over the vocabulary of each part's contribution to a token's logit: its effect on any token.
struct PartNulls {
    Eigen::VectorXd mean, deviation; // [parts]
};

/// \param parts [parts, d], through the final norm
template <typename Scalar>
Result<PartNulls> partNulls(const ProcessedWeights& weights, const Matrix<double>& parts, const Task& task)
{
    const Eigen::Index V = weights.config().dVocabOut;
    const Matrix<Scalar>& rows = parts.cast<Scalar>();
    Eigen::VectorXd sums = Eigen::VectorXd::Zero(parts.rows());
    Eigen::VectorXd squares = sums;
    for (Eigen::Index first = 0; first < V; first += logitAttributionUnembedBlock) {
        if (task.cancelled())
            return stopped();
        const Matrix<Scalar> product =
            rows * weights.W_U<Scalar>(first, std::min(logitAttributionUnembedBlock, V - first));
        sums += product.template cast<double>().rowwise().sum();
        squares += product.template cast<double>().rowwise().squaredNorm();
    }
    PartNulls nulls;
    nulls.mean = sums / static_cast<double>(V);
    nulls.deviation = (squares / static_cast<double>(V) - nulls.mean.cwiseAbs2()).cwiseMax(0).cwiseSqrt();
    return nulls;
}

/// Splits the logits of the last position into the contributions of the parts.
template <typename Scalar>
class Attribution {
public:
    Attribution(const AnalysisContext& context, const ForwardResult<Scalar>& run)
        : m_context(context)
        , m_weights(context.circuits.weights())
        , m_config(m_weights.config())
        , m_run(run)
        , m_parts(m_weights, run, context.options.inputs.prompt, {lastPosition()})
    {
    }

    Result<Done> split(const Task& task)
    {
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            if (const auto done = m_parts.addLayer(task); !done)
                return done.error();
            m_behindAttention.push_back(m_parts.attentionNorm(0));
            task.report(layer + 1, m_config.nLayers, "layers taken apart");
        }
        m_final.emplace(m_weights.lnFinal<Scalar>(), m_parts.total(0));
        m_last = m_final->linear(m_parts.at(0));
        auto nulls = partNulls<Scalar>(m_weights, m_last, task);
        if (!nulls)
            return nulls.error();
        m_nulls = *std::move(nulls);
        return Done{};
    }

    const PartList& list() const { return m_parts.list(); }

    void add(const Target& target, Results& results) const
    {
        const RowVector<double> u = direction(target);
        Eigen::VectorXd values = m_last * u.transpose(); // [parts]
        values(list().biases()) += m_final->bias().dot(u) + unembeddingBias(target);
        addParts(target, values, results);
        addHeads(target, values, results);
        addLayers(target, values, results);
    }

    void addNulls(Results& results) const
    {
        for (const std::string what : {"mean", "deviation"}) {
            const Eigen::VectorXd& values = what == "mean" ? m_nulls.mean : m_nulls.deviation;
            RealNumbers heads = RealNumbers::perHead(m_config);
            for (const HeadId head : selectedHeads(m_config, m_context.options))
                heads.set(head, values(list().head(head)));
            results.put(logitAttributionFolder + "null_head_" + what, std::move(heads));
            results
                .put(logitAttributionFolder + "null_component_" + what,
                     std::vector<double>(values.begin(), values.end()))
                .attributes["labels"] = list().names();
        }
    }

    /// Adds the contribution of each key through each head to the logit: α_ij v_j W_O, carried to the unembedding.
    Result<Done> addKeys(const Target& target, Results& results, const Task& task) const
    {
        if (m_config.hasSumNorms || m_config.residualFromNorm)
            return Done{}; // what a head adds passes through the norms of all later layers
        const std::size_t n = m_context.options.inputs.prompt.size();
        const RowVector<double> u = m_final->pulledBack(direction(target));
        RealNumbers keys = RealNumbers::perHead(m_config, n);
        const auto done =
            forEachHead(m_context, withoutProgress(task), "keys", [&](HeadId id) -> Result<Done> {
                const auto layer = static_cast<std::size_t>(id.layer);
                const auto head = m_weights.head<Scalar>(id);
                const Matrix<Scalar> x = normalized(m_weights.ln1<Scalar>(id.layer), m_run.residuals[layer]);
                const Matrix<Scalar> v =
                    headwise::values(head, valueScale(m_weights, id.layer, x), m_config.qkvLimit, x);
                const RowVector<Scalar> reading = m_behindAttention[layer].pulledBack(u).cast<Scalar>();
                const Matrix<Scalar> brought = v * (head.W_O * reading.transpose()); // [n, 1]
                const Matrix<Scalar>& alpha = m_run.patterns[layer][static_cast<std::size_t>(id.head)];
                for (std::size_t j = 0; j < n; ++j) {
                    const auto key = static_cast<Eigen::Index>(j);
                    keys.of(id)[j] = static_cast<double>(alpha(alpha.rows() - 1, key) * brought(key, 0));
                }
                return Done{};
            });
        if (!done)
            return done.error();
        put("head_by_key", target, std::move(keys), results).attributes["labels"] =
            promptLabels(m_context.options.inputs);
        return Done{};
    }

private:
    int lastPosition() const { return static_cast<int>(m_context.options.inputs.prompt.size()) - 1; }

    /// Puts an array of the target and names the target in its title.
    ResultArray& put(const char* name, const Target& target, auto numbers, Results& results) const
    {
        ResultArray& array = results.put(logitAttributionFolder + name + target.suffix, std::move(numbers));
        array.title.replace(array.title.find(anyTarget), anyTarget.size(), target.name);
        return array;
    }

    /// Returns W_U[:,t], or the difference of two such columns, [d].
    RowVector<double> direction(const Target& target) const
    {
        RowVector<double> u =
            m_weights.W_U<Scalar>(target.tokens[0], 1).col(0).transpose().template cast<double>();
        if (target.tokens.size() > 1)
            u -= m_weights.W_U<Scalar>(target.tokens[1], 1).col(0).transpose().template cast<double>();
        return u;
    }

    double unembeddingBias(const Target& target) const
    {
        const auto b = [&](int token) { return static_cast<double>(m_weights.b_U<Scalar>(token, 1)(0)); };
        return b(target.tokens[0]) - (target.tokens.size() > 1 ? b(target.tokens[1]) : 0);
    }

    void addParts(const Target& target, const Eigen::VectorXd& values, Results& results) const
    {
        const std::string cap = m_config.outputSoftCap > 0 ? " before the soft cap" : "";
        ResultArray& parts =
            put("component", target, std::vector<double>(values.begin(), values.end()), results);
        parts.definition += cap;
        parts.attributes["labels"] = list().names();
        put("logit", target, std::vector<double>{values.sum()}, results).definition += cap;
    }

    void addHeads(const Target& target, const Eigen::VectorXd& values, Results& results) const
    {
        const bool isDifference = target.tokens.size() > 1;
        RealNumbers heads = RealNumbers::perHead(m_config), zScores = heads;
        for (const HeadId head : selectedHeads(m_config, m_context.options)) {
            const int part = list().head(head);
            heads.set(head, values(part));
            const double mean = isDifference ? 0 : m_nulls.mean(part);
            const double deviation = m_nulls.deviation(part) * (isDifference ? std::sqrt(2.0) : 1);
            zScores.set(head, deviation > 0 ? (values(part) - mean) / deviation : std::nan(""));
        }
        put("head", target, std::move(heads), results);
        put("head_z", target, std::move(zScores), results);
    }

    void addLayers(const Target& target, const Eigen::VectorXd& values, Results& results) const
    {
        std::vector<std::string> labels{"heads", "MLP"};
        labels.resize(m_config.attentionOnly ? 1 : 2);
        RealNumbers sums({static_cast<std::size_t>(m_config.nLayers), labels.size()});
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            const std::span<double> parts = sums.list(static_cast<std::size_t>(layer));
            parts[0] = values.segment(list().head({layer, 0}), m_config.nHeads).sum();
            if (const auto mlp = list().mlp(layer))
                parts[1] = values(*mlp);
        }
        put("layer", target, std::move(sums), results).attributes["labels"] = std::move(labels);
    }

    const AnalysisContext& m_context;
    const ProcessedWeights& m_weights;
    const ModelConfig& m_config;
    const ForwardResult<Scalar>& m_run;
    ResidualParts<Scalar> m_parts;
    std::vector<FrozenNorm> m_behindAttention; // [layers]
    std::optional<FrozenNorm> m_final;
    Matrix<double> m_last; // [parts, d], through the final norm
    PartNulls m_nulls;
};

template <typename Scalar>
Result<ResultSet> runLogitAttributionAs(const AnalysisContext& context, const Task& task)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const AnalysisInputs& inputs = context.options.inputs;
    const auto run = forward<Scalar>(weights, inputs.prompt, withoutProgress(task));
    if (!run)
        return run.error();
    const auto lens = lensLogits<Scalar>(weights, *run, task);
    if (!lens)
        return lens.error();
    const TokenEnds likely = ends(lens->bottomRows(1), 1, context.options.unusedTokens);
    const int top = likely.top.empty() ? 0 : likely.top.front().id;
    const int token = inputs.token.value_or(top);

    Attribution<Scalar> attribution(context, *run);
    if (const auto done = attribution.split(task); !done)
        return done.error();
    std::vector<Target> targets{{{token}, shownToken(inputs.tokenizer.get(), token), ""}};
    if (token != top)
        targets.push_back(
            {{token, top},
             shownToken(inputs.tokenizer.get(), token) + " − " + shownToken(inputs.tokenizer.get(), top),
             "_difference"});
    Results results = resultsOf(context, logitAttributionArrays());
    for (const Target& target : targets) {
        attribution.add(target, results);
        if (const auto done = attribution.addKeys(target, results, task); !done)
            return done.error();
    }
    attribution.addNulls(results);
    addLens(context, *lens, token, results);
    results.put(logitAttributionFolder + "target", std::vector<std::int32_t>{token, top});
    for (ResultArray& array : results.arrays())
        array.attributes["token"] = shownToken(inputs.tokenizer.get(), token);
    return std::move(results).finish();
}

Result<ResultSet> runLogitAttribution(const AnalysisContext& context, const Task& task)
{
    const AnalysisOptions& options = context.options;
    const int V = context.circuits.config().dVocabOut;
    if (options.inputs.token && (*options.inputs.token < 0 || *options.inputs.token >= V))
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("There is no logit of token {}: the ids that this model predicts are 0 to {}.",
                        *options.inputs.token, V - 1)};
    return options.precision == Precision::F64 ? runLogitAttributionAs<double>(context, task)
                                               : runLogitAttributionAs<float>(context, task);
}

std::string noDirectWay(const ModelConfig& config, const AnalysisOptions&)
{
    return config.hasHeadTransform
        ? "A layer with an activation follows this model's last residual stream, so its logits are not a sum of parts."
        : "";
}

AnalysisCost logitAttributionCost(const ModelConfig& config, const AnalysisOptions& options)
{
    ModelConfig sized = config;
    sized.nCtx = promptLength(config, options);
    const double n = sized.nCtx;
    const double parts = PartList(config).count();
    const double heads = static_cast<double>(config.nLayers) * config.nHeads;
    const double scalar = options.precision == Precision::F64 ? 8 : 4;
    return {countFlops(sized).perSequence + heads * 4 * n * config.dModel * config.dHead
                + 2.0 * (parts + config.nLayers) * config.dModel * config.dVocabOut,
            scalar * (heads * n * n + n * config.dVocabOut + n * config.dModel * config.nLayers)
                + 8 * (heads * n + 2 * parts * config.dModel + config.nLayers * 1.0 * config.dVocabOut)};
}

std::vector<Picture> logitAttributionPictures()
{
    return {
        {.kind = Picture::Kind::HeadGrid,
         .title = "Direct effect of every head on the logit",
         .arrays = {logitAttributionFolder + "head", logitAttributionFolder + "head_z",
                    logitAttributionFolder + "head_difference", logitAttributionFolder + "head_z_difference"},
         .note =
             "At the last position, with the final norm's σ frozen. z compares with the head's effect on all tokens."},
        {.kind = Picture::Kind::Bars,
         .title = "Parts of the logit",
         .arrays = {logitAttributionFolder + "component", logitAttributionFolder + "component_difference"},
         .note = "The parts add up to the logit."},
        {Picture::Kind::Bars,
         "Heads and MLPs, layer by layer",
         {logitAttributionFolder + "layer", logitAttributionFolder + "layer_difference"}},
        {Picture::Kind::Bars,
         "Head effect by key",
         {logitAttributionFolder + "head_by_key", logitAttributionFolder + "head_by_key_difference"}},
        {.kind = Picture::Kind::Table,
         .title = "Logit lens",
         .arrays = {logitAttributionFolder + "lens_tokens", logitAttributionFolder + "lens_logits"},
         .note = "The final norm and unembedding applied to the stream before each layer."},
        {.kind = Picture::Kind::Lines,
         .title = "Rank of the token, layer by layer",
         .arrays = {logitAttributionFolder + "lens_rank"},
         .logY = true},
        {Picture::Kind::Lines,
         "Probability of the token, layer by layer",
         {logitAttributionFolder + "lens_probability"}}};
}

} // namespace

Analysis logitAttributionAnalysis()
{
    return {
        .id = "logit_attribution",
        .number = "G3",
        .title = "Direct logit attribution and logit lens",
        .formula = "(Σ_j α_nj v_j) W_O · W_U[:,t] / σ; LN_final(residual stream) W_U",
        .citation =
            "nostalgebraist 2020, \"interpreting GPT: the logit lens\"; Elhage et al. 2021; TransformerLens direct_logit_attribution.py",
        .whyNot = noDirectWay,
        .cost = logitAttributionCost,
        .run = runLogitAttribution,
        .arrays = logitAttributionArrays(),
        .needs = {.prompt = true, .config = forwardFields()},
        .pictures = logitAttributionPictures(),
        .followsFilter = true};
}

} // namespace headwise
