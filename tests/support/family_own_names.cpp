// Makers of checkpoints with names of their own.

#include "tests/support/family_maker.h"

namespace headwise::test {

namespace {

void optLayers(Maker& make, bool bias, bool norms)
{
    const std::string decoder = "model.decoder.";
    make.write.embedding(decoder + "embed_positions.weight", {C + 2, m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block(decoder + "layers.", layer);
        for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"})
            make.linear(b + "self_attn." + name, m, m, bias);
        make.linear(b + "fc1", f, m, bias);
        make.linear(b + "fc2", m, f, bias);
        if (norms) {
            make.layerNorm(b + "self_attn_layer_norm");
            make.layerNorm(b + "final_layer_norm");
        }
    }
}

void optConfig(Maker& make)
{
    make.config = {{"architectures", QJsonArray{"OPTForCausalLM"}},
                   {"model_type", "opt"},
                   {"hidden_size", int(m)},
                   {"num_attention_heads", int(n)},
                   {"num_hidden_layers", int(layers)},
                   {"ffn_dim", int(f)},
                   {"vocab_size", int(V)},
                   {"max_position_embeddings", int(C)},
                   {"activation_function", "relu"}};
}

} // namespace

void opt(Maker& make)
{
    optConfig(make);
    make.config["do_layer_norm_before"] = true;
    make.config["word_embed_proj_dim"] = int(m);
    make.write.embedding("model.decoder.embed_tokens.weight", {V, m});
    optLayers(make, true, true);
    make.layerNorm("model.decoder.final_layer_norm");
}

void opt350m(Maker& make)
{
    constexpr std::size_t narrow = 10;
    optConfig(make);
    make.config["do_layer_norm_before"] = false;
    make.config["word_embed_proj_dim"] = int(narrow);
    make.write.embedding("model.decoder.embed_tokens.weight", {V, narrow});
    make.linear("model.decoder.project_in", m, narrow, false);
    make.linear("model.decoder.project_out", narrow, m, false);
    optLayers(make, true, true);
}

void galactica(Maker& make)
{
    optConfig(make);
    make.config["enable_bias"] = false;
    make.config["layer_norm_elementwise_affine"] = false;
    make.config["activation_function"] = "gelu";
    make.write.embedding("model.decoder.embed_tokens.weight", {V, m});
    optLayers(make, false, false);
}

void bloom(Maker& make)
{
    make.config = {{"architectures", QJsonArray{"BloomForCausalLM"}},
                   {"model_type", "bloom"},
                   {"hidden_size", int(m)},
                   {"n_head", int(n)},
                   {"n_layer", int(layers)},
                   {"vocab_size", int(V)},
                   {"seq_length", int(C)},
                   {"apply_residual_connection_post_layernorm", false}};
    const std::string root = "transformer.";
    make.write.embedding(root + "word_embeddings.weight", {V, m});
    make.layerNorm(root + "word_embeddings_layernorm");
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block(root + "h.", layer);
        make.layerNorm(b + "input_layernorm");
        make.layerNorm(b + "post_attention_layernorm");
        make.linear(b + "self_attention.query_key_value", 3 * m, m, true);
        make.linear(b + "self_attention.dense", m, m, true);
        make.linear(b + "mlp.dense_h_to_4h", 4 * m, m, true);
        make.linear(b + "mlp.dense_4h_to_h", m, 4 * m, true);
    }
    make.layerNorm(root + "ln_f");
}

namespace {

struct FalconForm {
    std::size_t heads, kvHeads;
    std::vector<std::string> norms;
    bool bias;
};

void falcon(Maker& make, const FalconForm& form)
{
    constexpr std::size_t width = 4;
    const std::size_t d = form.heads * width;
    make.config = {{"architectures", QJsonArray{"FalconForCausalLM"}},
                   {"model_type", "falcon"},
                   {"hidden_size", int(d)},
                   {"num_attention_heads", int(form.heads)},
                   {"num_hidden_layers", int(layers)},
                   {"ffn_hidden_size", int(f)},
                   {"vocab_size", int(V)},
                   {"max_position_embeddings", int(C)},
                   {"bias", form.bias},
                   {"rope_theta", 523}};
    make.write.embedding("transformer.word_embeddings.weight", {V, d});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("transformer.h.", layer);
        for (const std::string& norm : form.norms)
            make.layerNorm(b + norm, d);
        make.linear(b + "self_attention.query_key_value", (form.heads + 2 * form.kvHeads) * width, d,
                    form.bias);
        make.linear(b + "self_attention.dense", d, d, form.bias);
        make.linear(b + "mlp.dense_h_to_4h", f, d, form.bias);
        make.linear(b + "mlp.dense_4h_to_h", d, f, form.bias);
    }
    make.layerNorm("transformer.ln_f", d);
}

} // namespace

void falcon7b(Maker& make)
{
    falcon(make, {7, 1, {"input_layernorm"}, false});
    make.config["multi_query"] = true;
    make.config["parallel_attn"] = true;
}

void falcon40b(Maker& make)
{
    falcon(make, {6, 2, {"ln_attn", "ln_mlp"}, false});
    make.config["new_decoder_architecture"] = true;
    make.config["num_kv_heads"] = 2;
}

void falconRw(Maker& make)
{
    falcon(make, {6, 6, {"input_layernorm", "post_attention_layernorm"}, true});
    make.config["multi_query"] = false;
    make.config["parallel_attn"] = false;
    make.config["alibi"] = true;
}

namespace {

void conv1d(Maker& make, const std::string& name, std::size_t in, std::size_t out)
{
    make.write.matrix(name + ".weight", {in, out}, in);
    make.write.bias(name + ".bias", {out});
}

} // namespace

void gpt1(Maker& make)
{
    make.config = {{"architectures", QJsonArray{"OpenAIGPTLMHeadModel"}},
                   {"model_type", "openai-gpt"},
                   {"n_embd", int(m)},
                   {"n_head", int(n)},
                   {"n_layer", int(layers)},
                   {"vocab_size", int(V)},
                   {"n_positions", int(C)},
                   {"afn", "gelu"}};
    make.write.embedding("tokens_embed.weight", {V, m});
    make.write.embedding("positions_embed.weight", {C, m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("h.", layer);
        conv1d(make, b + "attn.c_attn", m, 3 * m);
        conv1d(make, b + "attn.c_proj", m, m);
        make.write.causalMask(b + "attn.bias", C);
        make.layerNorm(b + "ln_1");
        conv1d(make, b + "mlp.c_fc", m, 4 * m);
        conv1d(make, b + "mlp.c_proj", 4 * m, m);
        make.layerNorm(b + "ln_2");
    }
}

namespace {

void bertLayers(Maker& make, const std::string& root, const std::string& weight, const std::string& bias)
{
    make.config = {{"model_type", "bert"},
                   {"hidden_size", int(m)},
                   {"num_attention_heads", int(n)},
                   {"num_hidden_layers", int(layers)},
                   {"intermediate_size", int(f)},
                   {"vocab_size", int(V)},
                   {"max_position_embeddings", int(C)},
                   {"hidden_act", "gelu"},
                   {"type_vocab_size", 2}};
    const auto norm = [&](const std::string& name) {
        make.write.normWeight(name + weight, m);
        make.write.bias(name + bias, {m});
    };
    make.write.embedding(root + "embeddings.word_embeddings.weight", {V, m});
    make.write.embedding(root + "embeddings.position_embeddings.weight", {C, m});
    make.write.embedding(root + "embeddings.token_type_embeddings.weight", {2, m});
    norm(root + "embeddings.LayerNorm");
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block(root + "encoder.layer.", layer);
        for (const char* name : {"query", "key", "value"})
            make.linear(b + "attention.self." + name, m, m, true);
        make.linear(b + "attention.output.dense", m, m, true);
        norm(b + "attention.output.LayerNorm");
        make.linear(b + "intermediate.dense", f, m, true);
        make.linear(b + "output.dense", m, f, true);
        norm(b + "output.LayerNorm");
    }
    make.linear(root + "pooler.dense", m, m, true);
}

} // namespace

void bert(Maker& make)
{
    bertLayers(make, "bert.", ".weight", ".bias");
    make.config["architectures"] = QJsonArray{"BertForMaskedLM"};
    make.linear("cls.predictions.transform.dense", m, m, true);
    make.layerNorm("cls.predictions.transform.LayerNorm");
    make.write.bias("cls.predictions.bias", {V});
    make.linear("cls.seq_relationship", 2, m, true);
}

void bertBase(Maker& make)
{
    bertLayers(make, "", ".gamma", ".beta");
    make.config["architectures"] = QJsonArray{"BertModel"};
}

namespace {

void nanoGptLayers(Maker& make, bool bias)
{
    make.config = {{"model_type", "nanogpt"}, {"n_layer", int(layers)}, {"n_head", int(n)},
                   {"n_embd", int(m)},        {"n_inner", int(f)},      {"vocab_size", int(V)},
                   {"block_size", int(C)}};
    const auto norm = [&](const std::string& name) {
        make.write.normWeight(name + ".weight", m);
        if (bias)
            make.write.bias(name + ".bias", {m});
    };
    make.write.embedding("transformer.wte.weight", {V, m});
    make.write.embedding("transformer.wpe.weight", {C, m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("transformer.h.", layer);
        norm(b + "ln_1");
        norm(b + "ln_2");
        make.linear(b + "attn.c_attn", 3 * m, m, bias);
        make.linear(b + "attn.c_proj", m, m, bias);
        make.linear(b + "mlp.c_fc", f, m, bias);
        make.linear(b + "mlp.c_proj", m, f, bias);
        make.write.causalMask(b + "attn.bias", C);
    }
    norm("transformer.ln_f");
}

} // namespace

void nanoGpt(Maker& make)
{
    nanoGptLayers(make, true);
}

void nanoGptWithoutBiases(Maker& make)
{
    nanoGptLayers(make, false);
}

void minGpt(Maker& make)
{
    make.config = {{"model_type", "mingpt"}, {"n_layer", int(layers)}, {"n_head", int(n)},
                   {"n_embd", int(m)},       {"n_inner", int(f)},      {"vocab_size", int(V)},
                   {"block_size", int(C)}};
    make.write.embedding("tok_emb.weight", {V, m});
    make.write.embedding("pos_emb", {1, C, m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("blocks.", layer);
        make.layerNorm(b + "ln1");
        make.layerNorm(b + "ln2");
        for (const char* name : {"query", "key", "value", "proj"})
            make.linear(b + "attn." + name, m, m, true);
        make.linear(b + "mlp.0", f, m, true);
        make.linear(b + "mlp.2", m, f, true);
        make.write.causalMask(b + "attn.mask", C);
    }
    make.layerNorm("ln_f");
    make.write.matrix("head.weight", {V, m}, m);
}

namespace {

/// \param norms of each layer
void transformerLens(Maker& make, const std::vector<std::string>& norms)
{
    make.config = {{"d_model", 7},    {"n_heads", 3},
                   {"d_head", 5},     {"n_layers", int(layers)},
                   {"d_mlp", 13},     {"d_vocab", int(V)},
                   {"n_ctx", int(C)}, {"act_fn", "gelu"},
                   {"eps", 1e-5},     {"normalization_type", "LN"}};
    const auto norm = [&](const std::string& name) {
        make.write.normWeight(name + ".w", 7);
        make.write.bias(name + ".b", {7});
    };
    make.write.embedding("embed.W_E", {V, 7});
    make.write.embedding("pos_embed.W_pos", {C, 7});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("blocks.", layer);
        for (const std::string& name : norms)
            norm(b + name);
        for (const char* letter : {"Q", "K", "V"})
            make.write.matrix(b + "attn.W_" + letter, {3, 7, 5}, 7);
        make.write.matrix(b + "attn.W_O", {3, 5, 7}, 15);
        make.write.bias(b + "attn.b_V", {3, 5});
        make.write.bias(b + "attn.b_O", {7});
        make.write.matrix(b + "mlp.W_in", {7, 13}, 7);
        make.write.matrix(b + "mlp.W_out", {13, 7}, 13);
        make.write.bias(b + "mlp.b_in", {13});
    }
    norm("ln_final");
    make.write.matrix("unembed.W_U", {7, V}, 7);
}

} // namespace

void shortformer(Maker& make)
{
    transformerLens(make, {"ln1", "ln2"});
    make.config["positional_embedding_type"] = "shortformer";
}

void normsBehindAdditions(Maker& make)
{
    transformerLens(make, {"ln1_post", "ln2_post"});
    make.config["norm_placement"] = "post";
}

void normsBeforeAndBehindAdditions(Maker& make)
{
    transformerLens(make, {"ln1", "ln2", "ln1_post", "ln2_post"});
    make.config["norm_placement"] = "both";
}

} // namespace headwise::test
