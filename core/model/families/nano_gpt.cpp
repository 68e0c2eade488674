#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

/// Keys of nanoGPT's model_args. What the state dict cannot say, the number of heads, has no default.
Result<ModelDescription> readNanoGpt(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = config.value("model_type", "");
    c.nLayers = reader.size({"n_layer"});
    c.nHeads = c.nKvHeads = reader.size({"n_head"});
    c.dModel = reader.size({"n_embd"});
    splitHeads(c, reader);
    c.dMlp = readMlpWidth(c, reader, {"n_inner"});
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"});
    c.nCtx = reader.size({"block_size", "n_positions"});
    c.normEps = reader.number({"layer_norm_epsilon"}, 1e-5);
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.activation = reader.activation({"activation_function"}, "gelu");
    if (reader.isAbsent("activation_function"))
        reader.note(
            "The activation is taken as gelu, which the file does not say; minGPT's later versions need --set activation_function=gelu_new.");
    c.attentionBiases = c.mlpBiases = reader.optionalFlag("bias");
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, c.architecture == "nanogpt");
    finishHuggingFaceKeys(c, reader);
    return describe(std::move(c), reader, {.attention = true, .mlp = true});
}

bool isNanoGptBuffer(std::string_view name, std::size_t rank)
{
    return (name.ends_with(".attn.bias") && rank > 1) || name.ends_with(".attn.mask");
}

/// Without biases its norms have weights alone.
void addNanoGptLayerNorm(RecipeBook& book, const std::string& name, int layer, TensorKind weight,
                         TensorKind bias)
{
    book.requireVector(weight, layer, name + ".weight", book.config().dModel);
    book.acceptVector(bias, layer, name + ".bias", book.config().dModel);
}

/// GPT-2's names, but torch.nn.Linear's layout.
Result<ModelWeights> loadNanoGpt(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    using enum TensorKind;
    RecipeBook book(config, std::move(file));
    const std::string prefix = book.isStored("wte.weight") ? "" : "transformer.";
    const Eigen::Index m = config.dModel, f = config.dMlp;
    const StoredBias bias = storedBias(config.attentionBiases);
    book.addTiedEmbeddings(prefix + "wte.weight", "lm_head.weight");
    book.addPositions(prefix + "wpe.weight", 0);
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const std::string block = prefix + "h." + std::to_string(layer) + ".";
        addNanoGptLayerNorm(book, block + "ln_1", layer, ln1_w, ln1_b);
        addNanoGptLayerNorm(book, block + "ln_2", layer, ln2_w, ln2_b);
        const StoredLinear fused = requireLinear(book, block + "attn.c_attn", 3 * m, m, bias);
        addHeads(book, fused, {W_Q, b_Q, layer}, config.nHeads);
        addHeads(book, fused, {W_K, b_K, layer}, config.nHeads, m);
        addHeads(book, fused, {W_V, b_V, layer}, config.nHeads, 2 * m);
        addOutputHeads(book, block + "attn.c_proj", layer, bias);
        addLinear(book, block + "mlp.c_fc", {f, m, bias}, {W_in, b_in, layer});
        addLinear(book, block + "mlp.c_proj", {m, f, bias}, {W_out, b_out, layer});
    }
    addNanoGptLayerNorm(book, prefix + "ln_f", 0, ln_final_w, ln_final_b);
    book.ignore(isNanoGptBuffer);
    return book.finish();
}

/// The first minGPT, before it took GPT-2's names.
Result<ModelWeights> loadMinGpt(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    using enum TensorKind;
    RecipeBook book(config, std::move(file));
    const Eigen::Index m = config.dModel, f = config.dMlp;
    const StoredBias bias = storedBias(config.attentionBiases);
    book.addTiedEmbeddings("tok_emb.weight", "head.weight");
    if (book.require("pos_emb", {1, config.nCtx, m}))
        book.add(W_pos, 0, 0, "pos_emb", layout::plain(config.nCtx, m));
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const std::string block = "blocks." + std::to_string(layer) + ".";
        const auto heads = [&](const char* name, TensorKind weight, TensorKind biasKind) {
            addHeads(book, requireLinear(book, block + name, m, m, bias), {weight, biasKind, layer},
                     config.nHeads);
        };
        addNanoGptLayerNorm(book, block + "ln1", layer, ln1_w, ln1_b);
        addNanoGptLayerNorm(book, block + "ln2", layer, ln2_w, ln2_b);
        heads("attn.query", W_Q, b_Q);
        heads("attn.key", W_K, b_K);
        heads("attn.value", W_V, b_V);
        addOutputHeads(book, block + "attn.proj", layer, bias);
        addLinear(book, block + "mlp.0", {f, m, bias}, {W_in, b_in, layer});
        addLinear(book, block + "mlp.2", {m, f, bias}, {W_out, b_out, layer});
    }
    addNanoGptLayerNorm(book, "ln_f", 0, ln_final_w, ln_final_b);
    book.ignore(isNanoGptBuffer);
    return book.finish();
}

} // namespace

const Architecture& nanoGpt()
{
    static constexpr Architecture row{"nanogpt", nullptr, readNanoGpt, loadNanoGpt};
    return row;
}

const Architecture& minGpt()
{
    static constexpr Architecture row{"mingpt", nullptr, readNanoGpt, loadMinGpt};
    return row;
}

} // namespace headwise
