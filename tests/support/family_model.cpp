#include "tests/support/family_maker.h"
#include "tests/support/toy_model.h"

#include <QFile>
#include <QJsonDocument>

namespace headwise::test {

namespace {

void gptNeoX(Maker& make)
{
    make.config = {{"architectures", QJsonArray{"GPTNeoXForCausalLM"}},
                   {"model_type", "gpt_neox"},
                   {"hidden_size", int(m)},
                   {"num_attention_heads", int(n)},
                   {"num_hidden_layers", int(layers)},
                   {"intermediate_size", int(f)},
                   {"vocab_size", int(V)},
                   {"max_position_embeddings", int(C)},
                   {"hidden_act", "gelu"},
                   {"layer_norm_eps", 1e-5},
                   {"rotary_pct", 0.5},
                   {"rotary_emb_base", 523},
                   {"use_parallel_residual", true},
                   {"tie_word_embeddings", false}};
    make.write.embedding("gpt_neox.embed_in.weight", {V, m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("gpt_neox.layers.", layer);
        make.layerNorm(b + "input_layernorm");
        make.layerNorm(b + "post_attention_layernorm");
        make.linear(b + "attention.query_key_value", 3 * m, m, true);
        make.linear(b + "attention.dense", m, m, true);
        make.linear(b + "mlp.dense_h_to_4h", f, m, true);
        make.linear(b + "mlp.dense_4h_to_h", m, f, true);
    }
    make.layerNorm("gpt_neox.final_layer_norm");
    make.write.matrix("embed_out.weight", {V, m}, m);
}

void gptNeo(Maker& make)
{
    make.config = {
        {"architectures", QJsonArray{"GPTNeoForCausalLM"}},
        {"model_type", "gpt_neo"},
        {"hidden_size", int(m)},
        {"num_heads", int(n)},
        {"num_layers", int(layers)},
        {"intermediate_size", int(f)},
        {"vocab_size", int(V)},
        {"max_position_embeddings", int(C)},
        {"activation_function", "gelu_new"},
        {"window_size", 4},
        {"attention_types",
         QJsonArray{QJsonArray{QJsonArray{"global", "local"}, 1}, QJsonArray{QJsonArray{"local"}, 1}}}};
    make.write.embedding("transformer.wte.weight", {V, m});
    make.write.embedding("transformer.wpe.weight", {C, m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("transformer.h.", layer);
        make.layerNorm(b + "ln_1");
        make.layerNorm(b + "ln_2");
        for (const char* name : {"q_proj", "k_proj", "v_proj"})
            make.linear(b + "attn.attention." + name, m, m, false);
        make.linear(b + "attn.attention.out_proj", m, m, true);
        make.linear(b + "mlp.c_fc", f, m, true);
        make.linear(b + "mlp.c_proj", m, f, true);
        make.write.bias(b + "attn.attention.bias", {1, 1, C, C}); // the mask
        make.write.bias(b + "attn.attention.masked_bias", {1});
    }
    make.layerNorm("transformer.ln_f");
}

void gptJ(Maker& make)
{
    make.config = {{"architectures", QJsonArray{"GPTJForCausalLM"}},
                   {"model_type", "gptj"},
                   {"n_embd", int(m)},
                   {"n_head", int(n)},
                   {"n_layer", int(layers)},
                   {"n_inner", int(f)},
                   {"vocab_size", int(V)},
                   {"n_positions", int(C)},
                   {"rotary_dim", 4},
                   {"activation_function", "gelu_new"},
                   {"tie_word_embeddings", false}};
    make.write.embedding("transformer.wte.weight", {V, m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("transformer.h.", layer);
        make.layerNorm(b + "ln_1");
        for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"})
            make.linear(b + "attn." + name, m, m, false);
        make.linear(b + "mlp.fc_in", f, m, true);
        make.linear(b + "mlp.fc_out", m, f, true);
    }
    make.layerNorm("transformer.ln_f");
    make.linear("lm_head", V, m, true);
}

void phi(Maker& make)
{
    make.config = {{"architectures", QJsonArray{"PhiForCausalLM"}},
                   {"model_type", "phi"},
                   {"hidden_size", int(m)},
                   {"num_attention_heads", int(n)},
                   {"num_key_value_heads", int(n)},
                   {"num_hidden_layers", int(layers)},
                   {"intermediate_size", int(f)},
                   {"vocab_size", int(V)},
                   {"max_position_embeddings", int(C)},
                   {"partial_rotary_factor", 0.5},
                   {"hidden_act", "gelu_new"},
                   {"tie_word_embeddings", false}};
    make.write.embedding("model.embed_tokens.weight", {V, m});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        make.layerNorm(b + "input_layernorm");
        for (const char* name : {"q_proj", "k_proj", "v_proj", "dense"})
            make.linear(b + "self_attn." + name, m, m, true);
        make.linear(b + "mlp.fc1", f, m, true);
        make.linear(b + "mlp.fc2", m, f, true);
    }
    make.layerNorm("model.final_layernorm");
    make.linear("lm_head", V, m, true);
}

struct Row {
    const char* name;
    void (*make)(Maker&);
    void (*change)(QJsonObject& config) = nullptr;
};

constexpr Row rows[] = {
    {"gpt_neox", gptNeoX},
    {"gpt_neox, sequential", gptNeoX, [](QJsonObject& c) { c["use_parallel_residual"] = false; }},
    {"gpt_neo", gptNeo},
    {"gptj", gptJ},
    {"phi", phi},
    {"mistral", mistral},
    {"mistral, no window", mistral, [](QJsonObject& c) { c["sliding_window"] = QJsonValue::Null; }},
    {"qwen2", qwen2},
    {"qwen2, sliding", qwen2, [](QJsonObject& c) { c["use_sliding_window"] = true; }},
    {"qwen3", qwen3},
    {"gemma", gemma},
    {"gemma2", gemma2},
    {"llama, llama3 scaling", llama3},
    {"llama, linear scaling", llama3,
     [](QJsonObject& c) {
         c["rope_scaling"] = QJsonObject{{"type", "linear"}, {"factor", 3.0}};
     }},
    {"llama, yarn scaling", llama3,
     [](QJsonObject& c) {
         c["rope_scaling"] =
             QJsonObject{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 300}};
     }},
    {"opt", opt},
    {"opt, post-norm with projections", opt350m},
    {"opt, without biases and norm weights", galactica},
    {"phi3", phi3},
    {"phi3, longrope", phi3,
     [](QJsonObject& c) {
         c["original_max_position_embeddings"] = 12;
         c["rope_scaling"] = QJsonObject{
             {"type", "su"}, {"short_factor", QJsonArray{1.5, 2.5}}, {"long_factor", QJsonArray{4.0, 8.0}}};
     }},
    {"falcon, one key/value head", falcon7b},
    {"falcon, groups", falcon40b},
    {"falcon, per head, ALiBi", falconRw},
    {"falcon, per head, rotary", falconRw, [](QJsonObject& c) { c["alibi"] = false; }},
    {"bloom", bloom},
    {"bloom, residual from the norm", bloom,
     [](QJsonObject& c) { c["apply_residual_connection_post_layernorm"] = true; }},
    {"olmo", olmo},
    {"olmo, clipped", olmo, [](QJsonObject& c) { c["clip_qkv"] = 0.9; }},
    {"olmo2", olmo2},
    {"olmo3", olmo3},
    {"stablelm", stableLm},
    {"stablelm, parallel with head norms", stableLmParallel},
    {"gemma3", gemma3},
    {"gemma3, part of a multimodal model", gemma3InAMultimodalModel},
    {"smollm3", smolLm3},
    {"smollm3, listed", smolLm3,
     [](QJsonObject& c) {
         c["no_rope_layers"] = QJsonArray{0, 1, 1};
     }},
    {"mixtral", mixtral},
    {"mixtral, experts in one tensor", mixtralInOneTensor},
    {"starcoder2", starCoder2},
    {"starcoder2, no window", starCoder2, [](QJsonObject& c) { c["sliding_window"] = QJsonValue::Null; }},
    {"cohere", cohere},
    {"cohere, with head norms", cohereWithHeadNorms},
    {"cohere2", cohere2},
    {"granite", granite},
    {"qwen3_moe", qwen3Moe},
    {"qwen3_moe, shares of all experts", qwen3Moe, [](QJsonObject& c) { c.remove("norm_topk_prob"); }},
    {"qwen3_moe, experts in one tensor", qwen3MoeInOneTensor},
    {"gpt_oss", gptOss},
    {"gpt_oss, by its defaults", gptOss,
     [](QJsonObject& c) {
         c.remove("layer_types");
         c.remove("rope_scaling");
     }},
    {"deepseek_v2", deepSeekV2},
    {"deepseek_v2, lite", deepSeekV2Lite},
    {"deepseek_v2, groups", deepSeekV2InGroups},
    {"deepseek_v3", deepSeekV3},
    {"deepseek_v3, one group, shares of all experts", deepSeekV3,
     [](QJsonObject& c) {
         c["n_group"] = 1;
         c["topk_group"] = 1;
         c["norm_topk_prob"] = false;
         c["rope_interleave"] = false;
     }},
    {"nemotron", nemotron},
    {"internlm2", internLm2},
    {"baichuan, rotary", baichuan7b},
    {"baichuan, ALiBi", baichuan13b},
    {"baichuan 2, rotary", baichuan7b, [](QJsonObject& c) { c["z_loss_weight"] = 0; }},
    {"baichuan 2, ALiBi", baichuan13b, [](QJsonObject& c) { c["z_loss_weight"] = 0; }},
    {"mpt", mpt},
    {"mpt, clipped", mpt,
     [](QJsonObject& c) {
         c["attn_config"] = QJsonObject{{"alibi", true}, {"clip_qkv", 0.9}, {"softmax_scale", 0.3}};
     }},
    {"nanogpt", nanoGpt},
    {"nanogpt, without biases", nanoGptWithoutBiases},
    {"mingpt", minGpt},
    {"openai-gpt", gpt1},
    {"bert", bert},
    {"bert, without its head", bertBase},
    {"roberta", roberta},
    {"distilbert", distilBert},
    {"electra, without its head", electra},
    {"electra, narrow embeddings, without its head", electraSmall},
    {"electra, generator", electraGenerator},
    {"esm, learned positions", esm1b},
    {"esm, rotary", esm2},
    {"vit", vit},
    {"clip", clip},
    {"clip, vision stack", clip, [](QJsonObject& c) { c["stack"] = "vision"; }},
    {"t5", t5},
    {"t5, encoder", t5, [](QJsonObject& c) { c["stack"] = "encoder"; }},
    {"t5, cross-attention", t5, [](QJsonObject& c) { c["stack"] = "cross"; }},
    {"t5, gated", t5Gated},
    {"t5, gated encoder", t5Gated, [](QJsonObject& c) { c["stack"] = "encoder"; }},
    {"bart", bart},
    {"bart, encoder", bart, [](QJsonObject& c) { c["stack"] = "encoder"; }},
    {"bart, cross-attention", bart, [](QJsonObject& c) { c["stack"] = "cross"; }},
    {"TransformerLens, shortformer", shortformer},
    {"TransformerLens, norms behind the additions", normsBehindAdditions},
    {"TransformerLens, norms before and behind", normsBeforeAndBehindAdditions},
};

} // namespace

std::vector<std::string> familyNames()
{
    std::vector<std::string> names;
    for (const Row& row : rows)
        names.emplace_back(row.name);
    return names;
}

FamilyModel familyModel(const std::string& name)
{
    for (const Row& row : rows) {
        if (name != row.name)
            continue;
        Maker make;
        row.make(make);
        if (row.change)
            row.change(make.config);
        return {make.config, std::move(make.write.tensors)};
    }
    qFatal("there is no family %s", name.c_str());
}

bool hasForward(const std::string& name)
{
    return name.ends_with("encoder") || !(name.starts_with("t5") || name.starts_with("bart"));
}

bool readsImages(const std::string& name)
{
    return name == "vit" || name == "clip, vision stack";
}

std::filesystem::path writeFamily(const std::filesystem::path& folder, const FamilyModel& model)
{
    std::filesystem::create_directories(folder);
    QFile file(QString::fromStdString((folder / "config.json").string()));
    const QByteArray json = QJsonDocument(model.config).toJson();
    if (!file.open(QIODevice::WriteOnly) || file.write(json) != json.size())
        qFatal("cannot write config.json");
    writeSafetensors(folder / "model.safetensors", model.tensors, true);
    return folder;
}

} // namespace headwise::test
