#include "core/model/config_reader.h"
#include "core/model/families.h"
#include "core/model/recipes.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

/// The base of the rotary angles, at the top level or in one of two objects that may also ask for a scaling.
double readRotaryBase(const json& config, ConfigReader& reader)
{
    double base = reader.number({"rope_theta"}, 10000);
    static constexpr std::string_view objects[] = {"rope_scaling", "rope_parameters"};
    reader.ignore(objects);
    for (const std::string_view name : objects) {
        if (!reader.isGiven(name))
            continue;
        const json& object = *config.find(name);
        const auto type =
            object.is_object() ? object.value("rope_type", object.value("type", json("default"))) : json();
        if (type != "default" && !type.is_null())
            reader.refuse(name, "unscaled rotary positions only");
        else if (!object.is_object())
            reader.contradiction("'" + std::string(name) + "' is not an object");
        for (const auto& [key, value] : object.items()) {
            if (key == "rope_theta" && value.is_number())
                base = value.get<double>();
            else if (value.is_object() || (key == "partial_rotary_factor" && value != 1))
                reader.refuse(name, "one unscaled rotary embedding for all layers only");
        }
    }
    return base;
}

Result<ModelDescription> readConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "llama";
    c.nLayers = reader.size({"num_hidden_layers"}, 32);
    c.nHeads = reader.size({"num_attention_heads"}, 32);
    c.nKvHeads = reader.optionalSize({"num_key_value_heads"}).value_or(c.nHeads);
    c.dModel = reader.size({"hidden_size"}, 4096);
    const std::optional<int> headSize = reader.optionalSize({"head_dim"});
    if (!headSize && c.dModel % c.nHeads != 0)
        reader.contradiction(std::to_string(c.dModel) + " residual dimensions do not split into "
                             + std::to_string(c.nHeads) + " heads, and there is no 'head_dim'");
    c.dHead = headSize.value_or(std::max(1, c.dModel / c.nHeads));
    c.dMlp = reader.size({"intermediate_size"}, 11008);
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 32000);
    c.nCtx = reader.size({"max_position_embeddings"}, 2048);
    c.norm = c.finalNorm = NormKind::Rms;
    c.normEps = reader.number({"rms_norm_eps"}, 1e-6);
    c.positional = Positional::Rotary;
    c.rotary = {c.dHead, readRotaryBase(config, reader), false};
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.gatedMlp = true;
    c.activation = reader.activation({"hidden_act"}, "silu");
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, false);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    if (c.activation == Activation::SoluLn)
        reader.refuse("hidden_act", "a Llama has no norm inside its MLP");
    const auto biasFlag = [&](const char* key) -> std::optional<bool> {
        const bool value = reader.flag({key}, false);
        return reader.isGiven(key) ? std::optional<bool>(value) : std::nullopt;
    };
    c.attentionBiases = biasFlag("attention_bias");
    c.mlpBiases = biasFlag("mlp_bias");
    const BiasPresence biases{c.attentionBiases.value_or(false), c.mlpBiases.value_or(false), false};

    reader.onlySupports("partial_rotary_factor", {"1"});
    reader.onlySupports("rope_interleaved", {"false"});
    reader.onlySupports("is_encoder_decoder", {"false"});
    reader.onlySupports("add_cross_attention", {"false"});
    reader.onlySupports("sliding_window", {});
    reader.onlySupports("use_sliding_window", {"false"});
    reader.onlySupports("quantization_config", {});
    reader.ignore(huggingFaceKeys());
    static constexpr std::string_view harmless[] = {"pretraining_tp", "attention_dropout", "is_llama_config",
                                                    "mlp_dropout",    "unsloth_version",   "unsloth_fixed"};
    reader.ignore(harmless);

    Result<std::vector<std::string>> warnings = reader.finish();
    if (!warnings)
        return warnings.error();
    return ModelDescription{std::move(c), *std::move(warnings), biases};
}

bool isBuffer(std::string_view name, std::size_t /*rank*/)
{
    return name.ends_with("rotary_emb.inv_freq") || name.ends_with(".cos_cached")
        || name.ends_with(".sin_cached") || name == "score.weight";
}

/// A bias is there if the config says so, and if it says nothing, if the file has it: some families' configs have no
/// key for it. A bias that the config denies is left over, which the book refuses.
bool hasBias(RecipeBook& book, const std::string& name, Eigen::Index size, std::optional<bool> announced)
{
    return announced ? *announced && book.require(name, {size}) : book.accept(name, {size});
}

void addBias(RecipeBook& book, const std::string& name, int layer, TensorKind kind, Eigen::Index size,
             std::optional<bool> announced)
{
    if (hasBias(book, name, size, announced))
        book.add(kind, layer, 0, name, layout::part(0, size));
}

/// One of q_proj, k_proj and v_proj: nn.Linear [heads·h, d].
void addProjection(RecipeBook& book, const std::string& name, int layer, int heads, TensorKind weight,
                   TensorKind bias)
{
    const Eigen::Index m = book.config().dModel, h = book.config().dHead;
    if (book.require(name + ".weight", {heads * h, m}))
        for (int head = 0; head < heads; ++head)
            book.add(weight, layer, head, name + ".weight", {head * h * m, m, h, 1, m});
    if (hasBias(book, name + ".bias", heads * h, book.config().attentionBiases))
        for (int head = 0; head < heads; ++head)
            book.add(bias, layer, head, name + ".bias", layout::part(head * h, h));
}

/// One matrix of the gated MLP, stored [outputs, inputs].
void addLinear(RecipeBook& book, const std::string& name, int layer, Eigen::Index inputs,
               Eigen::Index outputs, TensorKind weight)
{
    if (book.require(name + ".weight", {outputs, inputs}))
        book.add(weight, layer, 0, name + ".weight", layout::transposed(inputs, outputs));
}

void addLayer(RecipeBook& book, const std::string& block, int layer)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, h = c.dHead, f = c.dMlp, width = c.nHeads * h;
    book.requireVector(TensorKind::ln1_w, layer, block + "input_layernorm.weight", m);
    book.requireVector(TensorKind::ln2_w, layer, block + "post_attention_layernorm.weight", m);
    addProjection(book, block + "self_attn.q_proj", layer, c.nHeads, TensorKind::W_Q, TensorKind::b_Q);
    addProjection(book, block + "self_attn.k_proj", layer, c.nKvHeads, TensorKind::W_K, TensorKind::b_K);
    addProjection(book, block + "self_attn.v_proj", layer, c.nKvHeads, TensorKind::W_V, TensorKind::b_V);
    const std::string output = block + "self_attn.o_proj";
    if (book.require(output + ".weight", {m, width}))
        for (int head = 0; head < c.nHeads; ++head)
            book.add(TensorKind::W_O, layer, head, output + ".weight", {head * h, h, m, 1, width});
    addBias(book, output + ".bias", layer, TensorKind::b_O, m, c.attentionBiases);
    addLinear(book, block + "mlp.gate_proj", layer, m, f, TensorKind::W_gate);
    addLinear(book, block + "mlp.up_proj", layer, m, f, TensorKind::W_in);
    addLinear(book, block + "mlp.down_proj", layer, f, m, TensorKind::W_out);
    addBias(book, block + "mlp.gate_proj.bias", layer, TensorKind::b_gate, f, c.mlpBiases);
    // Inside the product: another place than the b_in of TransformerLens.
    addBias(book, block + "mlp.up_proj.bias", layer, TensorKind::b_up, f, c.mlpBiases);
    addBias(book, block + "mlp.down_proj.bias", layer, TensorKind::b_out, m, c.mlpBiases);
}

Result<ModelWeights> load(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    RecipeBook book(config, std::move(file));
    const bool isBare =
        book.isStored("embed_tokens.weight") || book.isStored("layers.0.input_layernorm.weight");
    const std::string prefix = isBare ? "" : "model.";
    book.addTiedEmbeddings(prefix + "embed_tokens.weight", "lm_head.weight");
    for (int layer = 0; layer < config.nLayers; ++layer)
        addLayer(book, prefix + "layers." + std::to_string(layer) + ".", layer);
    book.requireVector(TensorKind::ln_final_w, 0, prefix + "norm.weight", config.dModel);
    book.ignore(isBuffer);
    return book.finish();
}

} // namespace

const Architecture& llama()
{
    static constexpr Architecture row{
        "llama", [](const json& config) { return familyName(config) == "llama"; }, readConfig, load};
    return row;
}

} // namespace headwise
