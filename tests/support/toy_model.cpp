#include "tests/support/toy_model.h"

#include "tests/support/tensor_writer.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <utility>

namespace headwise::test {

namespace {

void writeBytes(const std::filesystem::path& path, const QByteArray& bytes)
{
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
        qFatal("cannot write %s", path.c_str());
}

struct Sizes {
    explicit Sizes(const ToyOptions& o)
        : layers(static_cast<std::size_t>(o.nLayers))
        , m(static_cast<std::size_t>(o.dModel))
        , n(static_cast<std::size_t>(o.nHeads))
        , k(static_cast<std::size_t>(o.nKvHeads > 0 ? o.nKvHeads : o.nHeads))
        , h(static_cast<std::size_t>(o.layout == ToyLayout::Gpt2 ? o.dModel / o.nHeads : o.dHead))
        , f(static_cast<std::size_t>(o.dMlp))
        , v(static_cast<std::size_t>(o.dVocab))
        , c(static_cast<std::size_t>(o.nCtx))
    {
    }
    std::size_t layers, m, n, k, h, f, v, c;
};

// --- GPT-2 ----------------------------------------------------------------------------------------------------------

QJsonObject gpt2Config(const ToyOptions& o)
{
    return {{"architectures", QJsonArray{"GPT2LMHeadModel"}},
            {"model_type", "gpt2"},
            {"n_layer", o.nLayers},
            {"n_head", o.nHeads},
            {"n_embd", o.dModel},
            {"n_inner", o.dMlp},
            {"vocab_size", o.dVocab},
            {"n_positions", o.nCtx},
            {"activation_function", QString::fromStdString(o.activation)},
            {"layer_norm_epsilon", o.eps},
            {"tie_word_embeddings", o.tied}};
}

void gpt2Tensors(const ToyOptions& o, TensorWriter& write)
{
    const Sizes s(o);
    const auto linear = [&](const std::string& name, std::size_t in, std::size_t out) {
        write.matrix(name + ".weight", {in, out}, in);
        write.bias(name + ".bias", {out});
    };
    const auto norm = [&](const std::string& name) {
        write.normWeight(name + ".weight", s.m);
        write.bias(name + ".bias", {s.m});
    };
    write.embedding(o.prefix + "wte.weight", {s.v, s.m});
    write.embedding(o.prefix + "wpe.weight", {s.c, s.m});
    for (std::size_t layer = 0; layer < s.layers; ++layer) {
        const std::string h = o.prefix + "h." + std::to_string(layer) + ".";
        norm(h + "ln_1");
        linear(h + "attn.c_attn", s.m, 3 * s.m);
        linear(h + "attn.c_proj", s.m, s.m);
        norm(h + "ln_2");
        linear(h + "mlp.c_fc", s.m, s.f);
        linear(h + "mlp.c_proj", s.f, s.m);
    }
    norm(o.prefix + "ln_f");
    if (!o.tied)
        write.matrix("lm_head.weight", {s.v, s.m}, s.m);
}

// --- Llama ----------------------------------------------------------------------------------------------------------

QJsonObject llamaConfig(const ToyOptions& o)
{
    QJsonObject config{{"architectures", QJsonArray{"LlamaForCausalLM"}},
                       {"model_type", "llama"},
                       {"hidden_size", o.dModel},
                       {"intermediate_size", o.dMlp},
                       {"num_hidden_layers", o.nLayers},
                       {"num_attention_heads", o.nHeads},
                       {"head_dim", o.dHead},
                       {"vocab_size", o.dVocab},
                       {"max_position_embeddings", o.nCtx},
                       {"rms_norm_eps", o.eps},
                       {"rope_theta", o.rotaryBase},
                       {"hidden_act", QString::fromStdString(o.activation)},
                       {"attention_bias", o.qkvBias},
                       {"mlp_bias", o.mlpBias},
                       {"tie_word_embeddings", o.tied}};
    if (o.nKvHeads > 0)
        config["num_key_value_heads"] = o.nKvHeads;
    return config;
}

void llamaTensors(const ToyOptions& o, TensorWriter& write)
{
    const Sizes s(o);
    const auto linear = [&](const std::string& name, std::size_t in, std::size_t out, bool bias) {
        write.matrix(name + ".weight", {out, in}, in);
        if (bias)
            write.bias(name + ".bias", {out});
    };
    write.embedding("model.embed_tokens.weight", {s.v, s.m});
    for (std::size_t layer = 0; layer < s.layers; ++layer) {
        const std::string l = "model.layers." + std::to_string(layer) + ".";
        write.normWeight(l + "input_layernorm.weight", s.m);
        linear(l + "self_attn.q_proj", s.m, s.n * s.h, o.qkvBias);
        linear(l + "self_attn.k_proj", s.m, s.k * s.h, o.qkvBias);
        linear(l + "self_attn.v_proj", s.m, s.k * s.h, o.qkvBias);
        linear(l + "self_attn.o_proj", s.n * s.h, s.m, o.qkvBias);
        write.normWeight(l + "post_attention_layernorm.weight", s.m);
        linear(l + "mlp.gate_proj", s.m, s.f, o.mlpBias);
        linear(l + "mlp.up_proj", s.m, s.f, o.mlpBias);
        linear(l + "mlp.down_proj", s.f, s.m, o.mlpBias);
    }
    write.normWeight("model.norm.weight", s.m);
    if (!o.tied)
        write.matrix("lm_head.weight", {s.v, s.m}, s.m);
}

// --- TransformerLens ------------------------------------------------------------------------------------------------

QJsonValue numberOrNull(bool present, const QJsonValue& number)
{
    return present ? number : QJsonValue(QJsonValue::Null);
}

QJsonObject transformerLensConfig(const ToyOptions& o)
{
    QJsonObject config{{"model_name", "toy"},
                       {"n_layers", o.nLayers},
                       {"d_model", o.dModel},
                       {"n_heads", o.nHeads},
                       {"d_head", o.dHead},
                       {"d_mlp", numberOrNull(!o.attnOnly, o.dMlp)},
                       {"d_vocab", o.dVocab},
                       {"n_ctx", o.nCtx},
                       {"eps", o.eps},
                       {"attention_dir", o.bidirectional ? "bidirectional" : "causal"},
                       {"positional_embedding_type", QString::fromStdString(o.positional)},
                       {"final_rms", o.finalRms},
                       {"rmsnorm_uses_offset", o.normOffset},
                       {"gated_mlp", o.gatedMlp},
                       {"parallel_attn_mlp", o.parallel},
                       {"attn_only", o.attnOnly}};
    config["act_fn"] =
        o.attnOnly ? QJsonValue(QJsonValue::Null) : QJsonValue(QString::fromStdString(o.activation));
    config["normalization_type"] =
        o.normalization ? QJsonValue(QString::fromStdString(*o.normalization)) : QJsonValue(QJsonValue::Null);
    if (o.nKvHeads > 0)
        config["n_key_value_heads"] = o.nKvHeads;
    if (o.positional == "rotary") {
        config["rotary_dim"] = o.rotaryDim > 0 ? o.rotaryDim : o.dHead;
        config["rotary_base"] = o.rotaryBase;
        config["rotary_adjacent_pairs"] = o.rotaryAdjacent;
    }
    if (o.attnScale > 0)
        config["attn_scale"] = o.attnScale;
    config["attn_scores_soft_cap"] = o.scoreSoftCap > 0 ? o.scoreSoftCap : -1.0;
    config["output_logits_soft_cap"] = o.logitSoftCap > 0 ? o.logitSoftCap : -1.0;
    return config;
}

/// Weights and biases of a norm, as far as the normalization stores any.
void norm(const ToyOptions& o, const std::string& name, std::size_t size, bool rms, TensorWriter& write)
{
    if (!o.normalization || o.normalization->ends_with("Pre"))
        return;
    write.normWeight(name + ".w", size, rms && o.normOffset ? 0 : 1);
    if (!rms)
        write.bias(name + ".b", {size});
}

void transformerLensMlp(const ToyOptions& o, const std::string& name, TensorWriter& write)
{
    const Sizes s(o);
    write.matrix(name + "W_in", {s.m, s.f}, s.m);
    write.matrix(name + "W_out", {s.f, s.m}, s.f);
    if (o.gatedMlp)
        write.matrix(name + "W_gate", {s.m, s.f}, s.m);
    if (o.mlpBias) {
        write.bias(name + "b_in", {s.f});
        write.bias(name + "b_out", {s.m});
    }
    if (o.gateBias) {
        write.bias(name + "b_gate", {s.f});
        write.bias(name + "b_up", {s.f});
    }
    if (o.activation == "solu_ln" && o.normalization == "LN") {
        write.normWeight(name + "ln.w", s.f);
        write.bias(name + "ln.b", {s.f});
    }
}

void transformerLensBlock(const ToyOptions& o, const std::string& b, TensorWriter& write)
{
    const Sizes s(o);
    const std::string grouped = o.nKvHeads > 0 ? "_" : "";
    const bool rms = o.normalization && o.normalization->starts_with("RMS");
    norm(o, b + "ln1", s.m, rms, write);
    write.matrix(b + "attn.W_Q", {s.n, s.m, s.h}, s.m);
    write.matrix(b + "attn." + grouped + "W_K", {s.k, s.m, s.h}, s.m);
    write.matrix(b + "attn." + grouped + "W_V", {s.k, s.m, s.h}, s.m);
    write.matrix(b + "attn.W_O", {s.n, s.h, s.m}, s.n * s.h);
    if (o.qkvBias) {
        write.bias(b + "attn.b_Q", {s.n, s.h});
        write.bias(b + "attn." + grouped + "b_K", {s.k, s.h});
        write.bias(b + "attn." + grouped + "b_V", {s.k, s.h});
    }
    if (o.outBias)
        write.bias(b + "attn.b_O", {s.m});
    if (o.attnOnly)
        return;
    if (!o.sharedNorm)
        norm(o, b + "ln2", s.m, rms, write);
    transformerLensMlp(o, b + "mlp.", write);
}

void transformerLensTensors(const ToyOptions& o, TensorWriter& write)
{
    const Sizes s(o);
    write.embedding("embed.W_E", {s.v, s.m});
    if (o.positional == "standard")
        write.embedding("pos_embed.W_pos", {s.c, s.m});
    for (std::size_t layer = 0; layer < s.layers; ++layer)
        transformerLensBlock(o, "blocks." + std::to_string(layer) + ".", write);
    norm(o, "ln_final", s.m, o.finalRms || (o.normalization && o.normalization->starts_with("RMS")), write);
    write.matrix("unembed.W_U", {s.m, s.v}, s.m);
    if (o.unembedBias)
        write.bias("unembed.b_U", {s.v});
}

} // namespace

ToyOptions gpt2Options()
{
    ToyOptions options;
    options.layout = ToyLayout::Gpt2;
    options.dModel = 15;
    return options;
}

ToyOptions llamaOptions()
{
    ToyOptions options;
    options.layout = ToyLayout::Llama;
    options.nHeads = 6;
    options.nKvHeads = 2;
    options.dHead = 4;
    options.activation = "silu";
    options.rotaryBase = 523;
    options.qkvBias = false;
    options.mlpBias = false;
    return options;
}

ToyOptions rotaryOptions()
{
    ToyOptions options;
    options.positional = "rotary";
    options.rotaryDim = 4;
    options.dHead = 6;
    return options;
}

ToyModel writeToyModel(const std::filesystem::path& folder, const ToyOptions& options)
{
    std::filesystem::create_directories(folder);
    TensorWriter write(options.seed, options.float64);
    QJsonObject config;
    switch (options.layout) {
    case ToyLayout::Gpt2:
        config = gpt2Config(options);
        gpt2Tensors(options, write);
        break;
    case ToyLayout::Llama:
        config = llamaConfig(options);
        llamaTensors(options, write);
        break;
    case ToyLayout::TransformerLens:
        config = transformerLensConfig(options);
        transformerLensTensors(options, write);
        break;
    }
    writeBytes(folder / "config.json", QJsonDocument(config).toJson());
    writeSafetensors(folder / "model.safetensors", write.tensors, options.float64);
    return {folder, std::move(write.tensors), options};
}

void writeSafetensors(const std::filesystem::path& file, const std::map<std::string, StoredTensor>& tensors,
                      bool float64)
{
    std::map<std::string, RawTensor> raw;
    for (const auto& [name, tensor] : tensors) {
        RawTensor& one =
            raw[name] = {float64 ? "F64" : "F32", {tensor.shape.begin(), tensor.shape.end()}, {}};
        for (const double value : tensor.values) {
            const auto narrow = static_cast<float>(value);
            one.bytes.append(float64 ? reinterpret_cast<const char*>(&value)
                                     : reinterpret_cast<const char*>(&narrow),
                             float64 ? sizeof value : sizeof narrow);
        }
    }
    writeSafetensors(file, raw);
}

void writeSafetensors(const std::filesystem::path& file, const std::map<std::string, RawTensor>& tensors)
{
    QJsonObject header;
    QByteArray data;
    for (const auto& [name, tensor] : tensors) {
        QJsonArray shape;
        for (const std::int64_t size : tensor.shape)
            shape.append(static_cast<qint64>(size));
        const qsizetype begin = data.size();
        data.append(tensor.bytes);
        header[QString::fromStdString(name)] = QJsonObject{{"dtype", QString::fromStdString(tensor.dtype)},
                                                           {"shape", shape},
                                                           {"data_offsets", QJsonArray{begin, data.size()}}};
    }
    QByteArray text = QJsonDocument(header).toJson(QJsonDocument::Compact);
    text.append(QByteArray((8 - text.size() % 8) % 8, ' '));
    const auto length = static_cast<quint64>(text.size());
    writeBytes(file, QByteArray(reinterpret_cast<const char*>(&length), sizeof length) + text + data);
}

} // namespace headwise::test
