// Families of the reference: where each stores its numbers, and how it uses them.

#include "tests/support/reference_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headwise::test::reference {

Vector alibiSlopes(std::size_t heads)
{
    const auto geometric = [](std::size_t count) {
        Vector slopes;
        const double start = std::pow(2, -std::pow(2, -(std::log2(static_cast<double>(count)) - 3)));
        for (std::size_t i = 0; i < count; ++i)
            slopes.push_back(start * std::pow(start, static_cast<double>(i)));
        return slopes;
    };
    std::size_t power = 1;
    while (power * 2 <= heads)
        power *= 2;
    Vector slopes = geometric(power);
    const Vector finer = geometric(2 * power);
    for (std::size_t i = 0; slopes.size() < heads; i += 2)
        slopes.push_back(finer[i]);
    return slopes;
}

Rope llama3Rope(std::size_t dim, double base, double factor, double low, double high, double context)
{
    Rope rope;
    for (std::size_t i = 0; i < dim / 2; ++i) {
        const double plain = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
        const double wavelength = 2 * std::numbers::pi / plain;
        if (wavelength > context / low)
            rope.frequencies.push_back(plain / factor);
        else if (wavelength < context / high)
            rope.frequencies.push_back(plain);
        else {
            const double s = (context / wavelength - low) / (high - low);
            rope.frequencies.push_back((1 - s) * plain / factor + s * plain);
        }
    }
    return rope;
}

Rope plainRope(std::size_t dim, double base)
{
    Rope rope;
    for (std::size_t i = 0; i < dim / 2; ++i)
        rope.frequencies.push_back(std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim)));
    return rope;
}

Rope yarnRope(const Model& model, double factor, double context, std::optional<double> length, bool truncates)
{
    const auto dim = static_cast<double>(model.rotaryDim);
    const auto correction = [&](double turns) {
        return dim * std::log(context / (turns * 2 * std::numbers::pi)) / (2 * std::log(model.rotaryBase));
    };
    double low = correction(32), high = correction(1);
    if (truncates) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, dim - 1);
    if (low == high)
        high += 0.001;
    Rope rope;
    rope.length = length ? *length : 0.1 * std::log(factor) + 1;
    for (std::size_t i = 0; i < model.rotaryDim / 2; ++i) {
        const double plain = std::pow(model.rotaryBase, -2.0 * static_cast<double>(i) / dim);
        const double ramp = std::min(1.0, std::max(0.0, (static_cast<double>(i) - low) / (high - low)));
        rope.frequencies.push_back(plain / factor * ramp + plain * (1 - ramp));
    }
    return rope;
}

namespace {

Rope longRope(const Model& model, const Source& source, const QJsonObject& scaling)
{
    Rope rope;
    const QJsonArray divisors = scaling["short_factor"].toArray();
    for (std::size_t i = 0; i < model.rotaryDim / 2; ++i)
        rope.frequencies.push_back(
            std::pow(model.rotaryBase, -2.0 * static_cast<double>(i) / static_cast<double>(model.rotaryDim))
            / divisors[static_cast<qsizetype>(i)].toDouble());
    const double original = source.number("original_max_position_embeddings", 0);
    const double ratio = source.number("max_position_embeddings", 0) / original;
    rope.length = ratio > 1 ? std::sqrt(1 + std::log(ratio) / std::log(original)) : 1;
    return rope;
}

} // namespace

std::optional<Rope> scaledRope(const Source& source, const Model& model)
{
    const QJsonObject scaling = source.config["rope_scaling"].toObject();
    if (scaling.isEmpty())
        return std::nullopt;
    const QString type =
        scaling.contains("rope_type") ? scaling["rope_type"].toString() : scaling["type"].toString();
    const double factor = scaling["factor"].toDouble(1);
    const double context = scaling["original_max_position_embeddings"].toDouble();
    if (type == "llama3")
        return llama3Rope(model.rotaryDim, model.rotaryBase, factor, scaling["low_freq_factor"].toDouble(),
                          scaling["high_freq_factor"].toDouble(), context);
    if (type == "yarn")
        return yarnRope(model, factor, context, std::nullopt, scaling["truncate"].toBool(true));
    if (type == "longrope" || type == "su")
        return longRope(model, source, scaling);
    if (type == "linear") {
        Rope rope;
        for (std::size_t i = 0; i < model.rotaryDim / 2; ++i)
            rope.frequencies.push_back(
                std::pow(model.rotaryBase,
                         -2.0 * static_cast<double>(i) / static_cast<double>(model.rotaryDim))
                / factor);
        return rope;
    }
    qFatal("the reference does not know rope_scaling %s", qPrintable(type));
}

Linear rowsOfLinear(const StoredTensor& weight, const Vector& bias, const std::vector<std::size_t>& rows)
{
    Linear linear{weight.shape[1], rows.size(), {}, {}};
    for (std::size_t a = 0; a < linear.in; ++a)
        for (const std::size_t row : rows)
            linear.w.push_back(weight.values[row * linear.in + a]);
    for (const std::size_t row : rows)
        if (!bias.empty())
            linear.b.push_back(bias[row]);
    return linear;
}

double rootScale(const Model& model)
{
    return 1 / std::sqrt(static_cast<double>(model.dHead));
}

namespace {

/// query_key_value of GPT-NeoX and BLOOM: for each head its rows of q, then of k, then of v.
void splitPerHead(const Source& source, const std::string& name, const Model& model, Block& block)
{
    const StoredTensor& weight = source.at(name + ".weight");
    const Vector bias = source.values(name + ".bias");
    std::vector<std::size_t> rows[3];
    for (std::size_t head = 0; head < model.heads; ++head)
        for (std::size_t part = 0; part < 3; ++part)
            for (std::size_t j = 0; j < model.dHead; ++j)
                rows[part].push_back((head * 3 + part) * model.dHead + j);
    block.q = rowsOfLinear(weight, bias, rows[0]);
    block.k = rowsOfLinear(weight, bias, rows[1]);
    block.v = rowsOfLinear(weight, bias, rows[2]);
}

Model readGpt2(const Source& source)
{
    const std::string root = source.has("transformer.wte.weight") ? "transformer." : "";
    const double eps = source.number("layer_norm_epsilon", 1e-5);
    Model model;
    model.heads = model.kvHeads = source.size("n_head");
    const std::size_t m = source.size("n_embd");
    model.dHead = m / model.heads;
    model.embedding = rowsOf(source.at(root + "wte.weight"));
    model.positions = rowsOf(source.at(root + "wpe.weight"));
    model.activation = source.text("activation_function", "gelu_new");
    for (std::size_t layer = 0; layer < source.size("n_layer"); ++layer) {
        const std::string h = root + "h." + std::to_string(layer) + ".";
        const auto stored = [&](const char* name) {
            return inOut(source.at(h + name + ".weight"), source.values(h + name + ".bias"));
        };
        Block block;
        block.ln1 = layerNorm(source, h + "ln_1", eps);
        block.ln2 = layerNorm(source, h + "ln_2", eps);
        const StoredTensor& qkv = source.at(h + "attn.c_attn.weight");
        const Vector bias = source.values(h + "attn.c_attn.bias");
        block.q = columns(qkv, bias, 0, m);
        block.k = columns(qkv, bias, m, m);
        block.v = columns(qkv, bias, 2 * m, m);
        block.o = stored("attn.c_proj");
        block.up = stored("mlp.c_fc");
        block.down = stored("mlp.c_proj");
        if (source.flag("scale_attn_weights", true))
            block.scale /= std::sqrt(static_cast<double>(model.dHead));
        if (source.flag("scale_attn_by_inverse_layer_idx"))
            block.scale /= static_cast<double>(layer + 1);
        model.blocks.push_back(block);
    }
    model.lnFinal = layerNorm(source, root + "ln_f", eps);
    model.unembed =
        outIn(source.at(source.has("lm_head.weight") ? "lm_head.weight" : root + "wte.weight"), {});
    return model;
}

Model readLlama(const Source& source)
{
    const double eps = source.number("rms_norm_eps", 1e-6);
    const auto norm = [&](const std::string& name) {
        return Norm{NormKind::Rms, eps, source.at(name + ".weight").values, {}};
    };
    Model model;
    model.heads = source.size("num_attention_heads");
    model.kvHeads =
        source.config["num_key_value_heads"].isDouble() ? source.size("num_key_value_heads") : model.heads;
    model.dHead = source.config["head_dim"].isDouble() ? source.size("head_dim")
                                                       : source.size("hidden_size") / model.heads;
    model.embedding = rowsOf(source.at("model.embed_tokens.weight"));
    model.rotaryDim = model.dHead;
    model.rotaryBase = source.number("rope_theta", 10000);
    model.rope = scaledRope(source, model);
    model.activation = source.text("hidden_act", "silu");
    for (std::size_t layer = 0; layer < source.size("num_hidden_layers"); ++layer) {
        const std::string l = "model.layers." + std::to_string(layer) + ".";
        const auto stored = [&](const char* name) {
            return outIn(source.at(l + name + ".weight"), source.values(l + name + ".bias"));
        };
        Block block;
        block.ln1 = norm(l + "input_layernorm");
        block.ln2 = norm(l + "post_attention_layernorm");
        block.q = stored("self_attn.q_proj");
        block.k = stored("self_attn.k_proj");
        block.v = stored("self_attn.v_proj");
        block.o = stored("self_attn.o_proj");
        block.gate = stored("mlp.gate_proj");
        block.up = stored("mlp.up_proj");
        block.down = stored("mlp.down_proj");
        block.scale = 1 / std::sqrt(static_cast<double>(model.dHead));
        model.blocks.push_back(block);
    }
    model.lnFinal = norm("model.norm");
    model.unembed =
        outIn(source.at(source.has("lm_head.weight") ? "lm_head.weight" : "model.embed_tokens.weight"), {});
    return model;
}

Model readGptNeoX(const Source& source)
{
    const double eps = source.number("layer_norm_eps", 1e-5);
    Model model;
    model.heads = model.kvHeads = source.size("num_attention_heads");
    model.dHead = source.size("hidden_size") / model.heads;
    model.embedding = rowsOf(source.at("gpt_neox.embed_in.weight"));
    model.rotaryDim =
        static_cast<std::size_t>(static_cast<double>(model.dHead) * source.number("rotary_pct", 0.25));
    model.rotaryBase = source.number("rotary_emb_base", 10000);
    model.parallel = source.flag("use_parallel_residual", true);
    model.activation = source.text("hidden_act", "gelu");
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, "gpt_neox.layers." + std::to_string(i) + "."};
        Block block;
        block.ln1 = layer.layerNorm("input_layernorm", eps);
        block.ln2 = layer.layerNorm("post_attention_layernorm", eps);
        splitPerHead(source, layer.prefix + "attention.query_key_value", model, block);
        block.o = layer.linear("attention.dense");
        block.up = layer.linear("mlp.dense_h_to_4h");
        block.down = layer.linear("mlp.dense_4h_to_h");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.lnFinal = layerNorm(source, "gpt_neox.final_layer_norm", eps);
    model.unembed = outIn(source.at("embed_out.weight"), {});
    return model;
}

Model readGptNeo(const Source& source)
{
    const double eps = source.number("layer_norm_epsilon", 1e-5);
    Model model;
    model.heads = model.kvHeads = source.size("num_heads");
    model.dHead = source.size("hidden_size") / model.heads;
    model.embedding = rowsOf(source.at("transformer.wte.weight"));
    model.positions = rowsOf(source.at("transformer.wpe.weight"));
    model.activation = source.text("activation_function", "gelu_new");
    std::vector<bool> local;
    for (const QJsonValue& item : source.config["attention_types"].toArray())
        for (int times = 0; times < item.toArray()[1].toInt(); ++times)
            for (const QJsonValue& kind : item.toArray()[0].toArray())
                local.push_back(kind.toString() == "local");
    for (std::size_t i = 0; i < source.size("num_layers"); ++i) {
        const Layer layer{source, "transformer.h." + std::to_string(i) + "."};
        Block block;
        block.ln1 = layer.layerNorm("ln_1", eps);
        block.ln2 = layer.layerNorm("ln_2", eps);
        block.q = layer.linear("attn.attention.q_proj");
        block.k = layer.linear("attn.attention.k_proj");
        block.v = layer.linear("attn.attention.v_proj");
        block.o = layer.linear("attn.attention.out_proj");
        block.up = layer.linear("mlp.c_fc");
        block.down = layer.linear("mlp.c_proj");
        block.window = local.at(i) ? source.size("window_size") : 0;
        model.blocks.push_back(block);
    }
    model.lnFinal = layerNorm(source, "transformer.ln_f", eps);
    model.unembed = outIn(source.at("transformer.wte.weight"), {});
    return model;
}

Model readGptJ(const Source& source)
{
    const double eps = source.number("layer_norm_epsilon", 1e-5);
    Model model;
    model.heads = model.kvHeads = source.size("n_head");
    model.dHead = source.size("n_embd") / model.heads;
    model.embedding = rowsOf(source.at("transformer.wte.weight"));
    model.rotaryDim = source.size("rotary_dim");
    model.rotaryAdjacent = true;
    model.parallel = true;
    model.activation = source.text("activation_function", "gelu_new");
    for (std::size_t i = 0; i < source.size("n_layer"); ++i) {
        const Layer layer{source, "transformer.h." + std::to_string(i) + "."};
        Block block;
        block.ln1 = block.ln2 = layer.layerNorm("ln_1", eps);
        block.q = layer.linear("attn.q_proj");
        block.k = layer.linear("attn.k_proj");
        block.v = layer.linear("attn.v_proj");
        block.o = layer.linear("attn.out_proj");
        block.up = layer.linear("mlp.fc_in");
        block.down = layer.linear("mlp.fc_out");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.lnFinal = layerNorm(source, "transformer.ln_f", eps);
    model.unembed = outIn(source.at("lm_head.weight"), source.values("lm_head.bias"));
    return model;
}

Model readPhi(const Source& source)
{
    const double eps = source.number("layer_norm_eps", 1e-5);
    Model model;
    model.heads = source.size("num_attention_heads");
    model.kvHeads = source.size("num_key_value_heads");
    model.dHead = source.size("hidden_size") / model.heads;
    model.embedding = rowsOf(source.at("model.embed_tokens.weight"));
    model.rotaryDim = static_cast<std::size_t>(static_cast<double>(model.dHead)
                                               * source.number("partial_rotary_factor", 0.5));
    model.rotaryBase = source.number("rope_theta", 10000);
    model.parallel = true;
    model.activation = source.text("hidden_act", "gelu_new");
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, "model.layers." + std::to_string(i) + "."};
        Block block;
        block.ln1 = block.ln2 = layer.layerNorm("input_layernorm", eps);
        block.q = layer.linear("self_attn.q_proj");
        block.k = layer.linear("self_attn.k_proj");
        block.v = layer.linear("self_attn.v_proj");
        block.o = layer.linear("self_attn.dense");
        block.up = layer.linear("mlp.fc1");
        block.down = layer.linear("mlp.fc2");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.lnFinal = layerNorm(source, "model.final_layernorm", eps);
    model.unembed = outIn(source.at("lm_head.weight"), source.values("lm_head.bias"));
    return model;
}

} // namespace

std::optional<Model> readFamily(const Source& source)
{
    const std::string type = source.text("model_type");
    if (type == "gpt2")
        return readGpt2(source);
    if (type == "llama")
        return readLlama(source);
    if (type == "gpt_neox")
        return readGptNeoX(source);
    if (type == "gpt_neo")
        return readGptNeo(source);
    if (type == "gptj")
        return readGptJ(source);
    if (type == "phi")
        return readPhi(source);
    for (const auto read :
         {readLlamaNamed, readFusedFamily, readStateDictFamily, readDecoderFamily, readEncoderFamily})
        if (std::optional<Model> model = read(source))
            return model;
    return std::nullopt;
}

} // namespace headwise::test::reference
