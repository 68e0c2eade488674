#include "core/model/model_facts.h"

#include "core/model/adapters/adapter.h"

#include <algorithm>
#include <utility>

namespace headwise {
namespace {

/// Whether a path is a file or a folder with weights in it.
bool hasWeights(const std::filesystem::path& path)
{
    std::error_code code;
    if (!std::filesystem::is_directory(path, code))
        return true;
    static constexpr std::array<std::string_view, 7> endings{".safetensors", ".index.json", ".pt",  ".pth",
                                                             ".bin",         ".npz",        ".gguf"};
    for (const auto& entry : std::filesystem::directory_iterator(path, code)) {
        const std::string name = entry.path().filename().string();
        if (std::any_of(endings.begin(), endings.end(),
                        [&](std::string_view end) { return name.ends_with(end); }))
            return true;
    }
    return false;
}

/// Norms and biases of one layer.
std::int64_t smallPartsPerLayer(const ModelConfig& c, const BiasPresence& biases, std::int64_t norm)
{
    const std::int64_t width = c.dModel;
    const int placements = (c.hasPreNorms ? 1 : 0) + (c.hasPostNorms || c.hasSumNorms ? 1 : 0);
    const std::int64_t headWidths = static_cast<std::int64_t>(c.nHeads + c.nKvHeads) * c.dHead;
    std::int64_t count = std::int64_t(c.attentionOnly || biases.oneNorm ? 1 : 2) * placements * norm;
    if (biases.attention)
        count += headWidths + static_cast<std::int64_t>(c.nKvHeads) * c.dHead;
    if (biases.attentionOutput.value_or(biases.attention))
        count += width;
    if (c.qkNorm != NormKind::None)
        count +=
            c.qkNormOverAllHeads || c.qkNorm == NormKind::LayerNorm ? headWidths : std::int64_t(2) * c.dHead;
    if (c.latentAttention)
        count += std::int64_t(c.latents.queries) + c.latents.keys;
    if (biases.mlp && !c.attentionOnly)
        count += width + std::int64_t(c.dMlp) * (c.gatedMlp && biases.gate ? 2 : 1);
    if (c.activation == Activation::SoluLn && !c.attentionOnly && norm > 0)
        count += std::int64_t(2) * c.dMlp;
    return count;
}

} // namespace

std::int64_t parameterCount(const ModelDescription& description)
{
    const ModelConfig& c = description.config;
    const BiasPresence& biases = description.biases;
    const std::int64_t width = c.dModel;
    const bool isNarrow = c.normsNarrowEmbeddings();
    const std::int64_t entry = isNarrow ? c.dEmbed : width; // of the embeddings and of what the head gives
    const auto norm = [&](NormKind kind, std::int64_t size) -> std::int64_t {
        if (kind == NormKind::None || !c.normHasParameters)
            return 0;
        return kind == NormKind::LayerNorm && biases.norm ? 2 * size : size;
    };
    const std::int64_t corrections =
        c.mixture.hasSigmoids ? std::int64_t(c.nLayers - c.mixture.denseLayers) * c.nExperts : 0;
    const std::int64_t headMatrix = isNarrow ? 0 : width * width; // counted as the projection before W_U
    return countWeights(c).total + biases.further + biases.wideVectors * entry + (isNarrow ? width : 0)
        + c.nLayers * smallPartsPerLayer(c, biases, norm(c.norm, width)) + norm(c.finalNorm, entry)
        + norm(c.embeddingNorm, entry) + (c.positional == Positional::Learned ? entry * c.nCtx : 0)
        + std::int64_t(c.relativeBias.buckets) * c.nHeads + (biases.unembed ? c.dVocabOut : 0)
        + (c.hasHeadTransform ? headMatrix + entry : 0) + corrections;
}

Result<ModelFacts> modelFacts(const ModelSource& source, const Task& task)
{
    ModelFacts facts;
    if (isAdapter(source.path) || hasWeights(source.path)) {
        auto weights = loadModel(source, task);
        if (!weights)
            return weights.error();
        Result<std::array<Merge, 3>> merges = mergesOf(**weights, task);
        if (!merges)
            return merges.error();
        facts.weights = *std::move(weights);
        facts.config = facts.weights->config();
        facts.parameters = facts.weights->parameterCount();
        facts.merges = *std::move(merges);
        facts.warnings = facts.weights->warnings();
        facts.assumed = facts.weights->assumed();
    } else {
        Result<ModelDescription> read = readModelConfig(source);
        if (!read)
            return read.error();
        ModelDescription description = *std::move(read);
        facts.parameters = parameterCount(description);
        facts.config = std::move(description.config);
        facts.merges = mergesOf(facts.config);
        facts.warnings = std::move(description.warnings);
        facts.assumed = std::move(description.assumed);
    }
    facts.count = countWeights(facts.config);
    facts.flops = countFlops(facts.config);
    facts.notes = circuitNotes(facts.config);
    return facts;
}

} // namespace headwise
