// The reference's reading of the families in decoder_families.cpp.

#include "tests/support/reference_model.h"

#include <cmath>

namespace headwise::test::reference {

namespace {

/// The sizes that most of them name alike.
Model sizedModel(const Source& source)
{
    Model model;
    model.heads = source.size("num_attention_heads");
    model.kvHeads =
        source.config.contains("num_key_value_heads") ? source.size("num_key_value_heads") : model.heads;
    model.dHead = source.config.contains("head_dim") ? source.size("head_dim")
                                                     : source.size("hidden_size") / model.heads;
    model.rotaryDim = model.dHead;
    model.rotaryBase = source.number("rope_theta", 10000);
    model.activation = source.text("hidden_act", "silu");
    return model;
}

void readSeparate(const Layer& layer, const Model& model, Block& block)
{
    block.q = layer.linear("self_attn.q_proj");
    block.k = layer.linear("self_attn.k_proj");
    block.v = layer.linear("self_attn.v_proj");
    block.o = layer.linear("self_attn.o_proj");
    block.scale = rootScale(model);
}

std::string layerName(std::size_t index)
{
    return "model.layers." + std::to_string(index) + ".";
}

Model readStarCoder2(const Source& source)
{
    const double eps = source.number("norm_epsilon", 1e-5);
    Model model = sizedModel(source);
    model.embedding = rowsOf(source.at("model.embed_tokens.weight"));
    model.unembed = outIn(source.at("model.embed_tokens.weight"), {});
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, layerName(i)};
        Block block;
        block.ln1 = layer.layerNorm("input_layernorm", eps);
        block.ln2 = layer.layerNorm("post_attention_layernorm", eps);
        readSeparate(layer, model, block);
        block.up = layer.linear("mlp.c_fc");
        block.down = layer.linear("mlp.c_proj");
        block.window = source.size("sliding_window");
        model.blocks.push_back(block);
    }
    model.lnFinal = layerNorm(source, "model.norm", eps);
    return model;
}

Norm withoutBias(const Source& source, const std::string& name, NormKind kind, double eps)
{
    return {kind, eps, source.at(name + ".weight").values, {}};
}

void readGated(const Layer& layer, const std::string& prefix, Block& block)
{
    block.gate = layer.linear(prefix + "gate_proj");
    block.up = layer.linear(prefix + "up_proj");
    block.down = layer.linear(prefix + "down_proj");
}

Model readCohere(const Source& source)
{
    const bool isSecond = source.text("model_type") == "cohere2";
    const double eps = source.number("layer_norm_eps", 1e-5);
    Model model = sizedModel(source);
    model.rotaryAdjacent = true;
    model.parallel = true;
    model.embedding = rowsOf(source.at("model.embed_tokens.weight"));
    model.unembed = outIn(source.at("model.embed_tokens.weight"), {});
    model.logitFactor = source.number("logit_scale", 0.0625);
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, layerName(i)};
        const std::string attention = layer.prefix + "self_attn.";
        Block block;
        block.ln1 = block.ln2 = withoutBias(source, layer.prefix + "input_layernorm", NormKind::Layer, eps);
        readSeparate(layer, model, block);
        readGated(layer, "mlp.", block);
        if (source.flag("use_qk_norm")) {
            block.qNorm = withoutBias(source, attention + "q_norm", NormKind::Layer, eps);
            block.kNorm = withoutBias(source, attention + "k_norm", NormKind::Layer, eps);
        }
        const bool slides = isSecond && (i + 1) % source.size("sliding_window_pattern") != 0;
        if (slides)
            block.window = source.size("sliding_window");
        else if (isSecond)
            block.rope = Rope{};
        model.blocks.push_back(block);
    }
    model.lnFinal = withoutBias(source, "model.norm", NormKind::Layer, eps);
    return model;
}

void readRms(const Source& source, const std::string& prefix, Block& block)
{
    const double eps = source.number("rms_norm_eps", 1e-6);
    block.ln1 = withoutBias(source, prefix + "input_layernorm", NormKind::Rms, eps);
    block.ln2 = withoutBias(source, prefix + "post_attention_layernorm", NormKind::Rms, eps);
}

/// Embedding, final norm and unembedding under Llama's names.
void readEnds(const Source& source, Model& model)
{
    model.embedding = rowsOf(source.at("model.embed_tokens.weight"));
    model.lnFinal = withoutBias(source, "model.norm", NormKind::Rms, source.number("rms_norm_eps", 1e-6));
    model.unembed =
        outIn(source.at(source.has("lm_head.weight") ? "lm_head.weight" : "model.embed_tokens.weight"), {});
}

Model readGranite(const Source& source)
{
    Model model = sizedModel(source);
    readEnds(source, model);
    for (Vector& row : model.embedding)
        for (double& value : row)
            value *= source.number("embedding_multiplier", 1);
    model.logitFactor = 1 / source.number("logits_scaling", 1);
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, layerName(i)};
        Block block;
        readRms(source, layer.prefix, block);
        readSeparate(layer, model, block);
        readGated(layer, "mlp.", block);
        block.scale = source.number("attention_multiplier", 1);
        block.branch = source.number("residual_multiplier", 1);
        model.blocks.push_back(block);
    }
    return model;
}

/// Expert `expert` of a tensor that holds all of them [experts, out, in], its rows [first, first + out).
Linear expertOf(const StoredTensor& all, std::size_t expert, std::size_t first, std::size_t out)
{
    const std::size_t in = all.shape[2];
    Linear linear{in, out, Vector(in * out), {}};
    for (std::size_t j = 0; j < out; ++j)
        for (std::size_t a = 0; a < in; ++a)
            linear.w[a * out + j] = all.values[(expert * all.shape[1] + first + j) * in + a];
    return linear;
}

void readQwenExperts(const Source& source, const Layer& layer, Block& block)
{
    const std::size_t inside = source.size("moe_intermediate_size");
    block.router = layer.linear("mlp.gate");
    block.expertsPerToken = source.size("num_experts_per_tok");
    block.keepsShares = !source.flag("norm_topk_prob");
    for (std::size_t e = 0; e < source.size("num_experts"); ++e) {
        const std::string experts = layer.prefix + "mlp.experts.";
        if (source.has(experts + "gate_up_proj")) {
            const StoredTensor& in = source.at(experts + "gate_up_proj");
            const StoredTensor& out = source.at(experts + "down_proj");
            block.experts.push_back({expertOf(in, e, 0, inside), expertOf(in, e, inside, inside),
                                     expertOf(out, e, 0, out.shape[1])});
            continue;
        }
        const std::string one = "mlp.experts." + std::to_string(e) + ".";
        block.experts.push_back({layer.linear(one + "gate_proj"), layer.linear(one + "up_proj"),
                                 layer.linear(one + "down_proj")});
    }
}

Model readQwen3Moe(const Source& source)
{
    const double eps = source.number("rms_norm_eps", 1e-6);
    Model model = sizedModel(source);
    readEnds(source, model);
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, layerName(i)};
        Block block;
        readRms(source, layer.prefix, block);
        readSeparate(layer, model, block);
        block.qNorm = withoutBias(source, layer.prefix + "self_attn.q_norm", NormKind::Rms, eps);
        block.kNorm = withoutBias(source, layer.prefix + "self_attn.k_norm", NormKind::Rms, eps);
        readQwenExperts(source, layer, block);
        model.blocks.push_back(block);
    }
    return model;
}

/// Outputs first, first + step, … of expert `expert` of tensors [experts, in, out] and [experts, out].
Linear steppedExpert(const Layer& layer, const std::string& name, std::size_t expert, std::size_t first,
                     std::size_t step)
{
    const StoredTensor& all = layer.source.at(layer.prefix + "mlp.experts." + name);
    const Vector& bias = layer.source.at(layer.prefix + "mlp.experts." + name + "_bias").values;
    const std::size_t in = all.shape[1], width = all.shape[2];
    Linear linear{in, width / step, {}, {}};
    for (std::size_t a = 0; a < in; ++a)
        for (std::size_t j = first; j < width; j += step)
            linear.w.push_back(all.values[(expert * in + a) * width + j]);
    for (std::size_t j = first; j < width; j += step)
        linear.b.push_back(bias[expert * width + j]);
    return linear;
}

Model readGptOss(const Source& source)
{
    Model model = sizedModel(source);
    model.activation = "quick_gelu"; // x σ(1.702 x)
    model.rope = source.config.contains("rope_scaling") ? scaledRope(source, model)
                                                        : yarnRope(model, 32, 4096, std::nullopt, false);
    readEnds(source, model);
    const QJsonArray types = source.config["layer_types"].toArray();
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, layerName(i)};
        Block block;
        readRms(source, layer.prefix, block);
        readSeparate(layer, model, block);
        block.sinks = source.at(layer.prefix + "self_attn.sinks").values;
        const bool slides = types.isEmpty()
            ? i % 2 == 0
            : types.at(static_cast<qsizetype>(i)).toString() == QLatin1String("sliding_attention");
        if (slides)
            block.window = source.size("sliding_window");
        block.router = layer.linear("mlp.router");
        block.expertsPerToken = source.size("num_experts_per_tok");
        block.clamp = 7;
        for (std::size_t e = 0; e < source.size("num_local_experts"); ++e)
            block.experts.push_back({steppedExpert(layer, "gate_up_proj", e, 0, 2),
                                     steppedExpert(layer, "gate_up_proj", e, 1, 2),
                                     steppedExpert(layer, "down_proj", e, 0, 1)});
        model.blocks.push_back(block);
    }
    return model;
}

Model readNemotron(const Source& source)
{
    const double eps = source.number("norm_eps", 1e-5);
    const auto plusOne = [&](Norm norm) {
        norm.offset = true;
        return norm;
    };
    Model model = sizedModel(source);
    model.rotaryDim = static_cast<std::size_t>(static_cast<double>(model.dHead)
                                               * source.number("partial_rotary_factor", 0.5));
    model.embedding = rowsOf(source.at("model.embed_tokens.weight"));
    model.unembed = outIn(source.at("lm_head.weight"), {});
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, layerName(i)};
        Block block;
        block.ln1 = plusOne(layer.layerNorm("input_layernorm", eps));
        block.ln2 = plusOne(layer.layerNorm("post_attention_layernorm", eps));
        readSeparate(layer, model, block);
        block.up = layer.linear("mlp.up_proj");
        block.down = layer.linear("mlp.down_proj");
        model.blocks.push_back(block);
    }
    model.lnFinal = plusOne(layerNorm(source, "model.norm", eps));
    return model;
}

/// Rows of d_head each, in the order of `places`.
Linear packedRows(const StoredTensor& packed, std::size_t dHead, const std::vector<std::size_t>& places)
{
    std::vector<std::size_t> rows;
    for (const std::size_t place : places)
        for (std::size_t j = 0; j < dHead; ++j)
            rows.push_back(place * dHead + j);
    return rowsOfLinear(packed, {}, rows);
}

Model readInternLm2(const Source& source)
{
    const double eps = source.number("rms_norm_eps", 1e-6);
    Model model = sizedModel(source);
    model.embedding = rowsOf(source.at("model.tok_embeddings.weight"));
    model.unembed = outIn(source.at("output.weight"), {});
    const std::size_t perGroup = model.heads / model.kvHeads;
    std::vector<std::size_t> places[3]; // of queries, keys and values
    for (std::size_t group = 0; group < model.kvHeads; ++group)
        for (std::size_t slot = 0; slot < perGroup + 2; ++slot)
            places[slot < perGroup ? 0 : slot - perGroup + 1].push_back(group * (perGroup + 2) + slot);
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, layerName(i)};
        const StoredTensor& packed = source.at(layer.prefix + "attention.wqkv.weight");
        Block block;
        block.ln1 = withoutBias(source, layer.prefix + "attention_norm", NormKind::Rms, eps);
        block.ln2 = withoutBias(source, layer.prefix + "ffn_norm", NormKind::Rms, eps);
        block.q = packedRows(packed, model.dHead, places[0]);
        block.k = packedRows(packed, model.dHead, places[1]);
        block.v = packedRows(packed, model.dHead, places[2]);
        block.o = layer.linear("attention.wo");
        block.gate = layer.linear("feed_forward.w1");
        block.up = layer.linear("feed_forward.w3");
        block.down = layer.linear("feed_forward.w2");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.lnFinal = withoutBias(source, "model.norm", NormKind::Rms, eps);
    return model;
}

/// All queries, then all keys, then all values.
void readThirds(const Layer& layer, const std::string& name, const Model& model, Block& block)
{
    const StoredTensor& packed = layer.source.at(layer.prefix + name + ".weight");
    std::vector<std::size_t> thirds[3];
    for (std::size_t place = 0; place < 3 * model.heads; ++place)
        thirds[place / model.heads].push_back(place);
    block.q = packedRows(packed, model.dHead, thirds[0]);
    block.k = packedRows(packed, model.dHead, thirds[1]);
    block.v = packedRows(packed, model.dHead, thirds[2]);
}

/// Each output's weights divided by their length.
void makeUnit(Linear& linear)
{
    for (std::size_t j = 0; j < linear.out; ++j) {
        double squares = 0;
        for (std::size_t a = 0; a < linear.in; ++a)
            squares += linear.w[a * linear.out + j] * linear.w[a * linear.out + j];
        for (std::size_t a = 0; a < linear.in; ++a)
            linear.w[a * linear.out + j] /= std::sqrt(squares);
    }
}

Model readBaichuan(const Source& source)
{
    Model model = sizedModel(source);
    readEnds(source, model);
    if (source.config.contains("z_loss_weight")) // the second
        makeUnit(model.unembed);
    if (!source.config.contains("max_position_embeddings")) {
        model.rotaryDim = 0;
        model.slopes = alibiSlopes(model.heads);
    }
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, layerName(i)};
        Block block;
        readRms(source, layer.prefix, block);
        readThirds(layer, "self_attn.W_pack", model, block);
        block.o = layer.linear("self_attn.o_proj");
        readGated(layer, "mlp.", block);
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    return model;
}

Model readMpt(const Source& source)
{
    const Source attention{source.config["attn_config"].toObject(), {}};
    Model model;
    model.heads = model.kvHeads = source.size("n_heads");
    model.dHead = source.size("d_model") / model.heads;
    model.activation = "gelu";
    model.slopes = alibiSlopes(model.heads);
    model.embedding = rowsOf(source.at("transformer.wte.weight"));
    model.unembed = outIn(source.at("transformer.wte.weight"), {});
    for (std::size_t i = 0; i < source.size("n_layers"); ++i) {
        const Layer layer{source, "transformer.blocks." + std::to_string(i) + "."};
        Block block;
        block.ln1 = withoutBias(source, layer.prefix + "norm_1", NormKind::Layer, 1e-5);
        block.ln2 = withoutBias(source, layer.prefix + "norm_2", NormKind::Layer, 1e-5);
        readThirds(layer, "attn.Wqkv", model, block);
        block.o = layer.linear("attn.out_proj");
        block.up = layer.linear("ffn.up_proj");
        block.down = layer.linear("ffn.down_proj");
        block.scale = attention.number("softmax_scale", rootScale(model));
        block.limit = attention.number("clip_qkv", 0);
        model.blocks.push_back(block);
    }
    model.lnFinal = withoutBias(source, "transformer.norm_f", NormKind::Layer, 1e-5);
    return model;
}

} // namespace

std::optional<Model> readDecoderFamily(const Source& source)
{
    const std::string type = source.text("model_type");
    if (type == "starcoder2")
        return readStarCoder2(source);
    if (type == "cohere" || type == "cohere2")
        return readCohere(source);
    if (type == "granite")
        return readGranite(source);
    if (type == "qwen3_moe")
        return readQwen3Moe(source);
    if (type == "gpt_oss")
        return readGptOss(source);
    if (type == "deepseek_v2" || type == "deepseek_v3")
        return readDeepSeek(source);
    if (type == "nemotron")
        return readNemotron(source);
    if (type == "internlm2")
        return readInternLm2(source);
    if (type == "baichuan")
        return readBaichuan(source);
    if (type == "mpt")
        return readMpt(source);
    return std::nullopt;
}

} // namespace headwise::test::reference
