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

} // namespace headwise::test
