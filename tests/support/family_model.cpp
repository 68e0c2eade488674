#include "tests/support/family_model.h"

#include "tests/support/tensor_writer.h"
#include "tests/support/toy_model.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>

namespace headwise::test {

namespace {

// Different primes where the layout allows it. d_model = n · d_head where the family has no head size of its own.
constexpr std::size_t layers = 3, n = 3, h = 8, m = n * h, f = 13, V = 11, C = 17;

/// One family's checkpoint in the making.
struct Maker {
    QJsonObject config;
    TensorWriter write{1, true};

    void linear(const std::string& name, std::size_t out, std::size_t in, bool bias)
    {
        write.matrix(name + ".weight", {out, in}, in);
        if (bias)
            write.bias(name + ".bias", {out});
    }
    void layerNorm(const std::string& name, std::size_t size = m)
    {
        write.normWeight(name + ".weight", size);
        write.bias(name + ".bias", {size});
    }
};

std::string block(const std::string& stem, std::size_t layer)
{
    return stem + std::to_string(layer) + ".";
}

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

/// 6 query heads over 2 key/value heads; d_model 7 and head_dim 4 where the family has a head_dim, else d_model 24.
struct LlamaNamed {
    std::string type, architecture;
    bool headDim = true;
    bool qkvBias = false, qkNorm = false, postNorms = false;
    double normMean = 1; ///< 0 where the norm multiplies by 1 + w
    bool tied = false;
};

void llamaNamed(Maker& make, const LlamaNamed& family)
{
    constexpr std::size_t heads = 6, kvHeads = 2, width = 4;
    const std::size_t d = family.headDim ? 7 : heads * width;
    make.config = {{"architectures", QJsonArray{QString::fromStdString(family.architecture)}},
                   {"model_type", QString::fromStdString(family.type)},
                   {"hidden_size", int(d)},
                   {"num_attention_heads", int(heads)},
                   {"num_key_value_heads", int(kvHeads)},
                   {"num_hidden_layers", int(layers)},
                   {"intermediate_size", int(f)},
                   {"vocab_size", int(V)},
                   {"max_position_embeddings", int(C)},
                   {"rms_norm_eps", 1e-5},
                   {"rope_theta", 523},
                   {"tie_word_embeddings", family.tied}};
    if (family.headDim)
        make.config["head_dim"] = int(width);
    const auto norm = [&](const std::string& name, std::size_t size) {
        make.write.normWeight(name + ".weight", size, family.normMean);
    };
    make.write.embedding("model.embed_tokens.weight", {V, d});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        norm(b + "input_layernorm", d);
        norm(b + "post_attention_layernorm", d);
        if (family.postNorms) {
            norm(b + "pre_feedforward_layernorm", d);
            norm(b + "post_feedforward_layernorm", d);
        }
        if (family.qkNorm) {
            norm(b + "self_attn.q_norm", width);
            norm(b + "self_attn.k_norm", width);
        }
        make.linear(b + "self_attn.q_proj", heads * width, d, family.qkvBias);
        make.linear(b + "self_attn.k_proj", kvHeads * width, d, family.qkvBias);
        make.linear(b + "self_attn.v_proj", kvHeads * width, d, family.qkvBias);
        make.linear(b + "self_attn.o_proj", d, heads * width, false);
        make.linear(b + "mlp.gate_proj", f, d, false);
        make.linear(b + "mlp.up_proj", f, d, false);
        make.linear(b + "mlp.down_proj", d, f, false);
    }
    norm("model.norm", d);
    if (!family.tied)
        make.write.matrix("lm_head.weight", {V, d}, d);
}

void mistral(Maker& make)
{
    llamaNamed(make, {"mistral", "MistralForCausalLM"});
    make.config["sliding_window"] = 4;
}

void qwen2(Maker& make)
{
    llamaNamed(make,
               {.type = "qwen2",
                .architecture = "Qwen2ForCausalLM",
                .headDim = false,
                .qkvBias = true,
                .tied = true});
    make.config["use_sliding_window"] = false;
    make.config["sliding_window"] = 4;
    make.config["max_window_layers"] = 1;
}

void qwen3(Maker& make)
{
    llamaNamed(make, {.type = "qwen3", .architecture = "Qwen3ForCausalLM", .qkNorm = true});
    make.config["attention_bias"] = false;
}

void gemma(Maker& make)
{
    llamaNamed(make, {.type = "gemma", .architecture = "GemmaForCausalLM", .normMean = 0, .tied = true});
    make.config["hidden_act"] = "gelu";
}

void gemma2(Maker& make)
{
    llamaNamed(make,
               {.type = "gemma2",
                .architecture = "Gemma2ForCausalLM",
                .postNorms = true,
                .normMean = 0,
                .tied = true});
    make.config["hidden_activation"] = "gelu_pytorch_tanh";
    make.config["query_pre_attn_scalar"] = 9;
    make.config["sliding_window"] = 4;
    make.config["attn_logit_softcapping"] = 2.0;
    make.config["final_logit_softcapping"] = 3.0;
}

void llama3(Maker& make)
{
    llamaNamed(make, {.type = "llama", .architecture = "LlamaForCausalLM", .tied = true});
    make.config["rope_scaling"] = QJsonObject{{"rope_type", "llama3"},
                                              {"factor", 8.0},
                                              {"low_freq_factor", 1.0},
                                              {"high_freq_factor", 4.0},
                                              {"original_max_position_embeddings", 16}};
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
