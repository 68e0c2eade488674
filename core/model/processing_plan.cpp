#include "core/model/processing_state.h"

#include <spdlog/fmt/fmt.h>

#include <optional>

namespace headwise {

namespace {

/// Reason why a step would change this model's function; nothing if it keeps it.
using Obstacle = std::optional<std::string>;

/// Whether w is zero somewhere where the bias is not: β/w does not exist there.
bool losesItsBias(const Norm<double>& norm)
{
    if (norm.w.size() == 0 || norm.b.size() == 0)
        return false;
    return (norm.w.array() == 0 && norm.b.array() != 0).any();
}

bool anyLosesItsBias(const OriginalNorms& norms)
{
    for (const auto* layers : {&norms.ln1, &norms.ln2, &norms.mlpLn})
        for (const FoldableNorm& norm : *layers)
            if (losesItsBias(norm))
                return true;
    return losesItsBias(norms.lnFinal);
}

/// Returns why the placement of the norms prevents folding; nothing if it does not.
Obstacle placementObstacle(const ModelConfig& config)
{
    if (config.hasSumNorms)
        return "its norms follow the additions, so the residual stream itself is normalised and no matrix that reads it can absorb their weights";
    if (config.residualFromNorm)
        return "its norms' outputs are the residual stream too, not only the inputs of attention and MLP";
    if (config.positionsInQueriesAndKeys)
        return "positions are added between the norm and the query and key inputs";
    return std::nullopt;
}

/// Folds would put a norm of the decoder into keys and values that read the encoder.
Obstacle crossObstacle(const ModelConfig& config)
{
    if (config.crossAttention)
        return "keys and values read the encoder's residual stream, not the one that the layer's norm normalises";
    return std::nullopt;
}

Obstacle foldObstacle(const ModelWeights& weights, bool foldBiases)
{
    const ModelConfig& config = weights.config();
    if (Obstacle obstacle = crossObstacle(config))
        return obstacle;
    if (Obstacle obstacle = placementObstacle(config))
        return obstacle;
    if (config.norm == NormKind::None && config.finalNorm == NormKind::None
        && config.activation != Activation::SoluLn)
        return "the model has no norms";
    if (!foldBiases && anyLosesItsBias(readNorms(weights)))
        return "a norm has a bias where its weight is 0, and without folding biases it would be lost";
    return std::nullopt;
}

Obstacle centerWritingObstacle(const ModelConfig& config)
{
    const auto seesMean = [](std::string_view which, NormKind kind) -> Obstacle {
        if (kind == NormKind::Rms)
            return fmt::format("{} an RMSNorm, which sees the mean of the residual stream", which);
        if (kind == NormKind::None)
            return fmt::format("{} missing, so the mean of the residual stream matters to its readers",
                               which);
        return std::nullopt;
    };
    if (Obstacle obstacle = placementObstacle(config))
        return obstacle;
    const NormKind pre = config.hasPreNorms ? config.norm : NormKind::None;
    if (const Obstacle obstacle = seesMean("the norm of the layers is", pre))
        return obstacle;
    if (config.hasPostNorms)
        return "the norms after attention and MLP give their outputs a mean";
    return seesMean("the final norm is", config.finalNorm);
}

Obstacle centerUnembedObstacle(const ModelConfig& config)
{
    if (config.readsImages)
        return "the model predicts no tokens";
    if (config.outputSoftCap > 0)
        return fmt::format(
            "the logits go through a soft cap of {}, so shifting all of them changes the output",
            config.outputSoftCap);
    return std::nullopt;
}

Obstacle foldValueBiasesObstacle(const ModelConfig& config)
{
    if (config.merged)
        return "P is merged into its neighbours, and b_O with it";
    if (config.qkvLimit > 0)
        return fmt::format("values are clipped at ±{} after their biases are added", config.qkvLimit);
    if (config.attentionSinks)
        return "sinks take a part of each row of attention, so what b_V adds depends on the prompt";
    return std::nullopt;
}

Obstacle planRefactorObstacle(const ModelConfig& config)
{
    if (config.merged)
        return "a pair of its attention matrices is merged into their neighbours";
    if (config.positionsInQueriesAndKeys)
        return "queries and keys read positions that values do not";
    if (config.qkvLimit > 0)
        return fmt::format("queries, keys and values are clipped at ±{} one by one", config.qkvLimit);
    if (config.positional == Positional::Rotary)
        return "rotary positions stand between W_Q and W_K, so their product alone does not give the scores";
    if (!config.isKnown(ConfigField::Positions))
        return "no file states the kind of positions, and rotary ones would stand between W_Q and W_K";
    if (config.qkNorm != NormKind::None)
        return "queries and keys are normalised, so the product of W_Q and W_K alone does not give the scores";
    return std::nullopt;
}

/// Collects the outcomes; the first refusal of a required step stays.
class Planner {
public:
    bool decide(std::string_view name, StepWish wish, const Obstacle& obstacle)
    {
        if (wish == StepWish::Off)
            return false;
        if (obstacle && wish == StepWish::Required && !m_refusal)
            m_refusal = Error{ErrorCode::InvalidArgument,
                              fmt::format("--{} cannot be done on this model: {}.", name, *obstacle)};
        if (obstacle)
            plan.warnings.push_back(fmt::format("{} was skipped: {}.", name, *obstacle));
        plan.steps.push_back({std::string(name), !obstacle, obstacle.value_or("")});
        return !obstacle;
    }

    void passOver(std::vector<NormId> norms)
    {
        std::string names;
        for (const NormId& norm : norms)
            if (const auto name = tensorKindName(norm.w); names.find(name) == std::string::npos)
                names += (names.empty() ? "" : ", ") + std::string(name.substr(0, name.rfind('.')));
        plan.warnings.push_back(
            fmt::format("fold-layer-norm skips {} {} ({}), which the family's layout cannot hold folded.",
                        norms.size(), norms.size() == 1 ? "norm" : "norms", names));
        plan.unfolded = std::move(norms);
    }

    Result<ProcessingPlan> finish() const
    {
        if (m_refusal)
            return *m_refusal;
        return plan;
    }

    ProcessingPlan plan;

private:
    std::optional<Error> m_refusal;
};

} // namespace

Norm<double> readNorm(const ModelWeights& weights, NormKind kind, const NormPlace& place)
{
    Norm<double> norm{kind, weights.config().normEps, {}, {}};
    if (kind == NormKind::None)
        return norm;
    if (weights.has(place.w, place.layer, place.head))
        norm.w = weights.read<double>(place.w, place.layer, place.head);
    if (kind == NormKind::Rms && weights.config().rmsUsesOffset && norm.w.size() > 0)
        norm.w.array() += 1;
    if (place.b && weights.has(*place.b, place.layer, place.head))
        norm.b = weights.read<double>(*place.b, place.layer, place.head);
    return norm;
}

bool sharesNorm(const ModelWeights& weights, int layer)
{
    using enum TensorKind;
    return weights.config().parallelBlocks && !weights.has(ln2_w, layer) && !weights.has(ln2_b, layer);
}

OriginalNorms readNorms(const ModelWeights& weights)
{
    using enum TensorKind;
    const ModelConfig& config = weights.config();
    OriginalNorms norms;
    const NormKind pre = config.hasPreNorms ? config.norm : NormKind::None;
    const NormKind post = config.hasPostNorms || config.hasSumNorms ? config.norm : NormKind::None;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        norms.ln1Post.push_back(readNorm(weights, post, {ln1_post_w, ln1_post_b, layer}));
        norms.ln2Post.push_back(readNorm(weights, post, {ln2_post_w, ln2_post_b, layer}));
        norms.ln1.push_back({readNorm(weights, pre, {ln1_w, ln1_b, layer})});
        norms.ln2.push_back(sharesNorm(weights, layer)
                                ? norms.ln1.back()
                                : FoldableNorm{readNorm(weights, pre, {ln2_w, ln2_b, layer})});
        const bool solu = config.activation == Activation::SoluLn && !config.attentionOnly;
        norms.mlpLn.push_back(
            {readNorm(weights, solu ? NormKind::LayerNorm : NormKind::None, {mlp_ln_w, mlp_ln_b, layer})});
    }
    norms.lnFinal = {readNorm(weights, config.finalNorm, {ln_final_w, ln_final_b, 0})};
    norms.embedding = readNorm(weights, config.embeddingNorm, {ln_embed_w, ln_embed_b, 0});
    return norms;
}

Result<ProcessingPlan> planProcessing(const ModelWeights& weights, const ProcessingWish& wish)
{
    const ModelConfig& config = weights.config();
    if (config.merged && config.attentionWidth() != config.dModel)
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "The heads of this model write {} numbers and its residual stream has {}, because P is merged into the MLPs; `run` and `verify` support it, but there are no circuits to analyse or process.",
                config.attentionWidth(), config.dModel)};
    if (const auto possible = checkHeadChanges(config, wish.headChanges); !possible)
        return possible.error();
    Planner planner;
    Processing& applied = planner.plan.applied;
    applied.headChanges = wish.headChanges;
    applied.foldBiases = wish.foldBiases;
    applied.centerWeights = wish.centerWeights;
    applied.foldLayerNorm =
        planner.decide("fold-layer-norm", wish.foldLayerNorm, foldObstacle(weights, wish.foldBiases));
    applied.centerWritingWeights =
        planner.decide("center-writing-weights", wish.centerWritingWeights, centerWritingObstacle(config));
    applied.centerUnembed =
        planner.decide("center-unembed", wish.centerUnembed, centerUnembedObstacle(config));

    StoredHomes homes;
    if (wish.biasHomes == BiasHomes::AsStored)
        homes = storedHomes(weights, wish.foldValueBiases != StepWish::Off);
    const Obstacle obstacle = homes.noRefactoring ? homes.noRefactoring : planRefactorObstacle(config);
    const bool refactors = wish.refactorAttention != StepWish::Off && !obstacle;
    const StepWish foldValues = refactors ? StepWish::Required : wish.foldValueBiases;
    Obstacle values = foldValueBiasesObstacle(config);
    if (!values)
        values = homes.noValueBiases;
    applied.foldValueBiases = planner.decide("fold-value-biases", foldValues, values);
    applied.refactorAttention =
        planner.decide("refactor-factored-attention", wish.refactorAttention, obstacle);
    if (applied.foldLayerNorm && !homes.homeless.empty())
        planner.passOver(std::move(homes.homeless));

    if (applied.refactorAttention && config.nKvHeads != config.nHeads)
        planner.plan.warnings.push_back(fmt::format(
            "refactor-factored-attention gives each of the {} query heads its own K and V in place of {} shared ones.",
            config.nHeads, config.nKvHeads));
    for (const HeadChange& change : applied.headChanges)
        planner.plan.steps.push_back({headChangeName(change), true, ""});
    return planner.finish();
}

} // namespace headwise
