#include "core/model/processing_state.h"

namespace headwise {

namespace {

using enum TensorKind;

bool isNonZero(const ModelWeights& weights, TensorKind kind, int layer, int head)
{
    return weights.has(kind, layer, head) && (weights.read<double>(kind, layer, head).array() != 0).any();
}

bool hasForAll(const ModelWeights& weights, TensorKind kind, int layer, int heads)
{
    for (int head = 0; head < heads; ++head)
        if (!weights.has(kind, layer, head))
            return false;
    return true;
}

/// Whether Q, K and V of a layer could take up a bias of the norm before them.
bool attentionTakes(const ModelWeights& weights, int layer, bool valuesMove)
{
    const ModelConfig& c = weights.config();
    return hasForAll(weights, b_Q, layer, c.nHeads) && hasForAll(weights, b_K, layer, c.nKvHeads)
        && (valuesMove ? weights.has(b_O, layer) : hasForAll(weights, b_V, layer, c.nKvHeads));
}

bool mlpTakes(const ModelWeights& weights, int layer)
{
    if (weights.config().attentionOnly)
        return true;
    return weights.config().gatedMlp ? weights.has(b_gate, layer) && weights.has(b_up, layer)
                                     : weights.has(b_in, layer);
}

std::optional<std::string> valueObstacle(const ModelWeights& weights)
{
    const ModelConfig& c = weights.config();
    for (int layer = 0; layer < c.nLayers; ++layer)
        for (int head = 0; head < c.nKvHeads && !weights.has(b_O, layer); ++head)
            if (isNonZero(weights, b_V, layer, head))
                return "the family's layout has no b_O to take b_V";
    return std::nullopt;
}

std::optional<std::string> homesRefactorObstacle(const ModelWeights& weights)
{
    const ModelConfig& c = weights.config();
    if (c.nKvHeads != c.nHeads)
        return "it gives each query head its own K and V, which the family's layout shares among heads";
    for (int layer = 0; layer < c.nLayers; ++layer)
        if (hasForAll(weights, b_Q, layer, c.nHeads) != hasForAll(weights, b_K, layer, c.nHeads))
            return "it changes b_Q and b_K, and the family's layout has only one of them";
    return std::nullopt;
}

} // namespace

StoredHomes storedHomes(const ModelWeights& weights, bool foldValueBiases)
{
    const ModelConfig& c = weights.config();
    const OriginalNorms norms = readNorms(weights);
    const auto shifts = [](const Norm<double>& norm) { return (norm.b.array() != 0).any(); };
    StoredHomes homes{valueObstacle(weights), homesRefactorObstacle(weights), {}};
    const bool valuesMove = foldValueBiases && !homes.noValueBiases;
    for (int layer = 0; layer < c.nLayers; ++layer) {
        const auto l = static_cast<std::size_t>(layer);
        const bool shared = sharesNorm(weights, layer);
        const bool mlp = mlpTakes(weights, layer);
        if (shifts(norms.ln1[l]) && !(attentionTakes(weights, layer, valuesMove) && (mlp || !shared)))
            homes.homeless.push_back({ln1_w, layer});
        if (!shared && shifts(norms.ln2[l]) && !mlp)
            homes.homeless.push_back({ln2_w, layer});
        if (shifts(norms.mlpLn[l]) && !weights.has(b_out, layer))
            homes.homeless.push_back({mlp_ln_w, layer});
    }
    // No matrix on d_model could take the norm with a projection before W_U, or if the model divides W_U by lengths.
    const bool takesNone = weights.has(W_Uproj) || weights.form(W_U).hasUnitColumns;
    if ((shifts(norms.lnFinal) && !weights.has(b_U)) || (takesNone && c.finalNorm != NormKind::None))
        homes.homeless.push_back({ln_final_w, 0});
    return homes;
}

} // namespace headwise
