// Makers of checkpoints whose tokens see each other in both directions, and of those that read images.

#include "tests/support/family_maker.h"

namespace headwise::test {

namespace {

QJsonObject bertLikeConfig(const char* type, const char* architecture)
{
    return {{"architectures", QJsonArray{QLatin1String(architecture)}},
            {"model_type", QLatin1String(type)},
            {"hidden_size", int(m)},
            {"num_attention_heads", int(n)},
            {"num_hidden_layers", int(layers)},
            {"intermediate_size", int(f)},
            {"vocab_size", int(V)},
            {"max_position_embeddings", int(C)},
            {"hidden_act", "gelu"}};
}

/// The layers of BERT, under the names that its descendants kept.
void bertLikeLayers(Maker& make, const std::string& stem)
{
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block(stem, layer);
        for (const char* name : {"query", "key", "value"})
            make.linear(b + "attention.self." + name, m, m, true);
        make.linear(b + "attention.output.dense", m, m, true);
        make.layerNorm(b + "attention.output.LayerNorm");
        make.linear(b + "intermediate.dense", f, m, true);
        make.linear(b + "output.dense", m, f, true);
        make.layerNorm(b + "output.LayerNorm");
    }
}

} // namespace

void roberta(Maker& make)
{
    make.config = bertLikeConfig("roberta", "RobertaForMaskedLM");
    make.config["max_position_embeddings"] = int(C + 2);
    make.config["type_vocab_size"] = 1;
    make.config["pad_token_id"] = 1;
    make.config["layer_norm_eps"] = 1e-5;
    make.write.embedding("roberta.embeddings.word_embeddings.weight", {V, m});
    make.write.embedding("roberta.embeddings.position_embeddings.weight", {C + 2, m});
    make.write.embedding("roberta.embeddings.token_type_embeddings.weight", {1, m});
    make.layerNorm("roberta.embeddings.LayerNorm");
    bertLikeLayers(make, "roberta.encoder.layer.");
    make.linear("lm_head.dense", m, m, true);
    make.layerNorm("lm_head.layer_norm");
    make.write.bias("lm_head.bias", {V});
}

void distilBert(Maker& make)
{
    make.config = {{"architectures", QJsonArray{"DistilBertForMaskedLM"}},
                   {"model_type", "distilbert"},
                   {"dim", int(m)},
                   {"n_heads", int(n)},
                   {"n_layers", int(layers)},
                   {"hidden_dim", int(f)},
                   {"vocab_size", int(V)},
                   {"max_position_embeddings", int(C)},
                   {"activation", "relu"},
                   {"sinusoidal_pos_embds", false},
                   {"tie_weights_", true}};
    make.write.embedding("distilbert.embeddings.word_embeddings.weight", {V, m});
    make.write.embedding("distilbert.embeddings.position_embeddings.weight", {C, m});
    make.layerNorm("distilbert.embeddings.LayerNorm");
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("distilbert.transformer.layer.", layer);
        for (const char* name : {"q_lin", "k_lin", "v_lin", "out_lin"})
            make.linear(b + "attention." + name, m, m, true);
        make.layerNorm(b + "sa_layer_norm");
        make.linear(b + "ffn.lin1", f, m, true);
        make.linear(b + "ffn.lin2", m, f, true);
        make.layerNorm(b + "output_layer_norm");
    }
    make.linear("vocab_transform", m, m, true);
    make.layerNorm("vocab_layer_norm");
    make.write.bias("vocab_projector.bias", {V});
}

namespace {

/// \param e width of the embeddings
void electraLayers(Maker& make, const char* architecture, std::size_t e)
{
    make.config = bertLikeConfig("electra", architecture);
    make.config["embedding_size"] = int(e);
    make.config["type_vocab_size"] = 2;
    for (const auto& [name, rows] :
         {std::pair("word", V), std::pair("position", C), std::pair("token_type", std::size_t(2))})
        make.write.embedding(std::string("electra.embeddings.") + name + "_embeddings.weight", {rows, e});
    make.layerNorm("electra.embeddings.LayerNorm", e);
    if (e != m)
        make.linear("electra.embeddings_project", m, e, true);
    bertLikeLayers(make, "electra.encoder.layer.");
}

} // namespace

void electra(Maker& make)
{
    electraLayers(make, "ElectraForPreTraining", m);
    make.linear("discriminator_predictions.dense", m, m, true);
    make.linear("discriminator_predictions.dense_prediction", 1, m, true);
}

void electraSmall(Maker& make)
{
    electraLayers(make, "ElectraForPreTraining", 10);
}

void electraGenerator(Maker& make)
{
    electraLayers(make, "ElectraForMaskedLM", 10);
    make.linear("generator_predictions.dense", 10, m, true);
    make.layerNorm("generator_predictions.LayerNorm", 10);
    make.write.bias("generator_lm_head.bias", {V});
}

namespace {

void esmLayers(Maker& make)
{
    make.config = bertLikeConfig("esm", "EsmForMaskedLM");
    make.config["pad_token_id"] = 1;
    make.write.embedding("esm.embeddings.word_embeddings.weight", {V, m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("esm.encoder.layer.", layer);
        make.layerNorm(b + "attention.LayerNorm");
        for (const char* name : {"query", "key", "value"})
            make.linear(b + "attention.self." + name, m, m, true);
        make.linear(b + "attention.output.dense", m, m, true);
        make.layerNorm(b + "LayerNorm");
        make.linear(b + "intermediate.dense", f, m, true);
        make.linear(b + "output.dense", m, f, true);
    }
    make.layerNorm("esm.encoder.emb_layer_norm_after");
    make.linear("lm_head.dense", m, m, true);
    make.layerNorm("lm_head.layer_norm");
    make.write.bias("lm_head.bias", {V});
}

} // namespace

void esm1b(Maker& make)
{
    esmLayers(make);
    make.config["max_position_embeddings"] = int(C + 2);
    make.config["position_embedding_type"] = "absolute";
    make.config["emb_layer_norm_before"] = true;
    make.write.embedding("esm.embeddings.position_embeddings.weight", {C + 2, m});
    make.layerNorm("esm.embeddings.layer_norm");
}

void esm2(Maker& make)
{
    esmLayers(make);
    make.config["position_embedding_type"] = "rotary";
    make.config["token_dropout"] = true;
}

namespace {

constexpr std::size_t vitPatch = 3, vitColours = 3, vitLabels = 5; // of 4 · 4 patches and a class token: C

} // namespace

void vit(Maker& make)
{
    make.config = {{"architectures", QJsonArray{"ViTForImageClassification"}},
                   {"model_type", "vit"},
                   {"hidden_size", int(m)},
                   {"num_attention_heads", int(n)},
                   {"num_hidden_layers", int(layers)},
                   {"intermediate_size", int(f)},
                   {"image_size", 12},
                   {"patch_size", int(vitPatch)},
                   {"num_channels", int(vitColours)},
                   {"hidden_act", "gelu"}};
    const std::string root = "vit.";
    make.write.embedding(root + "embeddings.cls_token", {1, 1, m});
    make.write.embedding(root + "embeddings.position_embeddings", {1, C, m});
    make.write.matrix(root + "embeddings.patch_embeddings.projection.weight",
                      {m, vitColours, vitPatch, vitPatch}, m);
    make.write.bias(root + "embeddings.patch_embeddings.projection.bias", {m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block(root + "encoder.layer.", layer);
        make.layerNorm(b + "layernorm_before");
        make.layerNorm(b + "layernorm_after");
        for (const char* name : {"query", "key", "value"})
            make.linear(b + "attention.attention." + name, m, m, true);
        make.linear(b + "attention.output.dense", m, m, true);
        make.linear(b + "intermediate.dense", f, m, true);
        make.linear(b + "output.dense", m, f, true);
    }
    make.layerNorm(root + "layernorm");
    make.linear("classifier", vitLabels, m, true);
}

namespace {

void clipLayers(Maker& make, const std::string& stem)
{
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block(stem, layer);
        make.layerNorm(b + "layer_norm1");
        make.layerNorm(b + "layer_norm2");
        for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"})
            make.linear(b + "self_attn." + name, m, m, true);
        make.linear(b + "mlp.fc1", f, m, true);
        make.linear(b + "mlp.fc2", m, f, true);
    }
}

} // namespace

void clip(Maker& make)
{
    const QJsonObject sizes{{"hidden_size", int(m)},
                            {"num_attention_heads", int(n)},
                            {"num_hidden_layers", int(layers)},
                            {"intermediate_size", int(f)},
                            {"hidden_act", "quick_gelu"}};
    QJsonObject text = sizes, vision = sizes;
    text["vocab_size"] = int(V);
    text["max_position_embeddings"] = int(C);
    vision["image_size"] = 12;
    vision["patch_size"] = int(vitPatch);
    make.config = {{"architectures", QJsonArray{"CLIPModel"}},
                   {"model_type", "clip"},
                   {"projection_dim", int(vitLabels)},
                   {"text_config", text},
                   {"vision_config", vision}};
    make.write.embedding("text_model.embeddings.token_embedding.weight", {V, m});
    make.write.embedding("text_model.embeddings.position_embedding.weight", {C, m});
    clipLayers(make, "text_model.encoder.layers.");
    make.layerNorm("text_model.final_layer_norm");
    make.linear("text_projection", vitLabels, m, false);
    make.write.embedding("vision_model.embeddings.class_embedding", {m});
    make.write.embedding("vision_model.embeddings.position_embedding.weight", {C, m});
    make.write.matrix("vision_model.embeddings.patch_embedding.weight", {m, vitColours, vitPatch, vitPatch},
                      m);
    make.layerNorm("vision_model.pre_layrnorm");
    clipLayers(make, "vision_model.encoder.layers.");
    make.layerNorm("vision_model.post_layernorm");
    make.linear("visual_projection", vitLabels, m, false);
}

namespace {

constexpr std::size_t narrowHead = 5; // n · narrowHead is not d_model

void t5Attention(Maker& make, const std::string& name)
{
    for (const char* part : {"q", "k", "v"})
        make.linear(name + "." + part, n * narrowHead, m, false);
    make.linear(name + ".o", m, n * narrowHead, false);
}

void t5Stacks(Maker& make, const std::vector<std::string>& inputs)
{
    make.config = {{"architectures", QJsonArray{"T5ForConditionalGeneration"}},
                   {"model_type", "t5"},
                   {"d_model", int(m)},
                   {"d_kv", int(narrowHead)},
                   {"d_ff", int(f)},
                   {"num_heads", int(n)},
                   {"num_layers", int(layers)},
                   {"num_decoder_layers", int(layers) - 1},
                   {"vocab_size", int(V)},
                   {"is_encoder_decoder", true},
                   {"relative_attention_num_buckets", 6},
                   {"relative_attention_max_distance", 8}};
    make.write.embedding("shared.weight", {V, m});
    for (const std::string side : {"encoder", "decoder"}) {
        const bool isDecoder = side == "decoder";
        for (std::size_t layer = 0; layer < layers - (isDecoder ? 1 : 0); ++layer) {
            const std::string b = block(side + ".block.", layer);
            t5Attention(make, b + "layer.0.SelfAttention");
            if (layer == 0)
                make.write.matrix(b + "layer.0.SelfAttention.relative_attention_bias.weight", {6, n}, n);
            if (isDecoder)
                t5Attention(make, b + "layer.1.EncDecAttention");
            const std::string mlp = b + (isDecoder ? "layer.2." : "layer.1.") + "DenseReluDense.";
            for (const std::string& input : inputs)
                make.linear(mlp + input, f, m, false);
            make.linear(mlp + "wo", m, f, false);
            for (std::size_t i = 0; i < (isDecoder ? 3u : 2u); ++i)
                make.write.normWeight(b + "layer." + std::to_string(i) + ".layer_norm.weight", m);
        }
        make.write.normWeight(side + ".final_layer_norm.weight", m);
    }
}

} // namespace

void t5(Maker& make)
{
    t5Stacks(make, {"wi"});
}

void t5Gated(Maker& make)
{
    t5Stacks(make, {"wi_0", "wi_1"});
    make.config["feed_forward_proj"] = "gated-gelu";
    make.config["tie_word_embeddings"] = false;
    make.write.matrix("lm_head.weight", {V, m}, m);
}

void bart(Maker& make)
{
    make.config = {{"architectures", QJsonArray{"BartForConditionalGeneration"}},
                   {"model_type", "bart"},
                   {"d_model", int(m)},
                   {"vocab_size", int(V)},
                   {"max_position_embeddings", int(C)},
                   {"activation_function", "gelu"},
                   {"is_encoder_decoder", true}};
    make.write.embedding("model.shared.weight", {V, m});
    make.write.bias("final_logits_bias", {1, V});
    for (const std::string side : {"encoder", "decoder"}) {
        const bool isDecoder = side == "decoder";
        const std::string root = "model." + side + ".";
        const std::size_t count = layers - (isDecoder ? 1 : 0);
        make.config[QString::fromStdString(side + "_layers")] = int(count);
        make.config[QString::fromStdString(side + "_attention_heads")] = int(n);
        make.config[QString::fromStdString(side + "_ffn_dim")] = int(f);
        make.write.embedding(root + "embed_positions.weight", {C + 2, m});
        make.layerNorm(root + "layernorm_embedding");
        for (std::size_t layer = 0; layer < count; ++layer) {
            const std::string b = block(root + "layers.", layer);
            for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
                make.linear(b + "self_attn." + name, m, m, true);
                if (isDecoder)
                    make.linear(b + "encoder_attn." + name, m, m, true);
            }
            make.layerNorm(b + "self_attn_layer_norm");
            if (isDecoder)
                make.layerNorm(b + "encoder_attn_layer_norm");
            make.linear(b + "fc1", f, m, true);
            make.linear(b + "fc2", m, f, true);
            make.layerNorm(b + "final_layer_norm");
        }
    }
}

} // namespace headwise::test
