#include "core/model/config_reader.h"
#include "core/model/families/conv1d_recipes.h"
#include "core/model/families/families.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readGpt2Config(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "gpt2";
    c.nLayers = reader.size({"n_layer", "num_hidden_layers"}, 12);
    c.nHeads = reader.size({"n_head", "num_attention_heads"}, 12);
    c.nKvHeads = c.nHeads;
    c.dModel = reader.size({"n_embd", "hidden_size"}, 768);
    if (c.dModel % c.nHeads != 0)
        reader.contradiction(std::to_string(c.dModel) + " residual dimensions do not split into "
                             + std::to_string(c.nHeads) + " heads");
    c.dHead = c.dModel / c.nHeads;
    c.dMlp = reader.optionalSize({"n_inner", "intermediate_size"}).value_or(0);
    if (c.dMlp == 0)
        c.dMlp = standardMlpWidth(c.dModel);
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 50257);
    c.nCtx = reader.size({"n_positions", "n_ctx", "max_position_embeddings"}, 1024);
    c.normEps = reader.number({"layer_norm_epsilon", "layer_norm_eps"}, 1e-5);
    c.activation = reader.activation({"activation_function", "hidden_act"}, "gelu_new");
    c.attentionScale = reader.flag({"scale_attn_weights"}, true) ? 1 / std::sqrt(c.dHead) : 1;
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, true);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    if (c.activation == Activation::SoluLn)
        reader.refuse("activation_function", "a GPT-2 has no norm inside its MLP");

    c.scaleByInverseLayer = reader.flag({"scale_attn_by_inverse_layer_idx"}, false);
    reader.onlySupports("add_cross_attention", {"false"});
    reader.onlySupports("is_encoder_decoder", {"false"});
    reader.onlySupports("pruned_heads", {"{}"});
    reader.onlySupports("quantization_config", {});
    reader.ignore(huggingFaceKeys());
    static constexpr std::string_view harmless[] = {"reorder_and_upcast_attn", // changes the rounding alone
                                                    "resid_pdrop",
                                                    "embd_pdrop",
                                                    "attn_pdrop",
                                                    "summary_type",
                                                    "summary_use_proj",
                                                    "summary_activation",
                                                    "summary_proj_to_labels",
                                                    "summary_first_dropout",
                                                    "predict_special_tokens",
                                                    "n_special"};
    reader.ignore(harmless);

    Result<std::vector<std::string>> warnings = reader.finish();
    if (!warnings)
        return warnings.error();
    return ModelDescription{std::move(c), *std::move(warnings), {.attention = true, .mlp = true}};
}

bool isGpt2Buffer(std::string_view name, std::size_t rank)
{
    // A causal mask [1, 1, n, n] has the name of a bias; only its rank tells.
    return (name.ends_with(".attn.bias") && rank > 1) || name.ends_with(".attn.masked_bias")
        || name == "score.weight";
}

void addGpt2Layer(RecipeBook& book, const std::string& block, int layer)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    book.requireVector(TensorKind::ln1_w, layer, block + "ln_1.weight", m);
    book.acceptVector(TensorKind::ln1_b, layer, block + "ln_1.bias", m);
    addConv1dAttention(book, block + "attn.", layer);
    book.requireVector(TensorKind::ln2_w, layer, block + "ln_2.weight", m);
    book.acceptVector(TensorKind::ln2_b, layer, block + "ln_2.bias", m);
    addConv1d(book, block + "mlp.c_fc", {f, m}, {TensorKind::W_in, TensorKind::b_in, layer});
    addConv1d(book, block + "mlp.c_proj", {m, f}, {TensorKind::W_out, TensorKind::b_out, layer});
}

Result<ModelWeights> loadGpt2(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    RecipeBook book(config, std::move(file));
    const std::string prefix =
        book.isStored("wte.weight") || book.isStored("h.0.ln_1.weight") ? "" : "transformer.";
    const Eigen::Index m = config.dModel;
    // nanoGPT uses the same names for nn.Linear weights, which are the transposes: only c_attn is not square.
    const auto fused = book.shapeOf(prefix + "h.0.attn.c_attn.weight");
    if (fused == std::vector<Eigen::Index>{3 * m, m})
        return Error{
            ErrorCode::Unsupported,
            "Tensor '" + prefix
                + "h.0.attn.c_attn.weight' is stored as [3·d_model, d_model], as nanoGPT does, and not as Hugging Face's GPT-2, [d_model, 3·d_model]; if this is a nanoGPT, say so with --set model_type=nanogpt."};
    book.addTiedEmbeddings(prefix + "wte.weight", "lm_head.weight");
    book.addPositions(prefix + "wpe.weight", 0);
    for (int layer = 0; layer < config.nLayers; ++layer)
        addGpt2Layer(book, prefix + "h." + std::to_string(layer) + ".", layer);
    book.requireVector(TensorKind::ln_final_w, 0, prefix + "ln_f.weight", m);
    book.acceptVector(TensorKind::ln_final_b, 0, prefix + "ln_f.bias", m);
    book.ignore(isGpt2Buffer);
    return book.finish();
}

} // namespace

const Architecture& gpt2()
{
    static constexpr Architecture row{"gpt2", nullptr, readGpt2Config, loadGpt2};
    return row;
}

} // namespace headwise
