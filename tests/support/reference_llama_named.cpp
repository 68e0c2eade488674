// The reference's families that store their tensors under Llama's names.

#include "tests/support/reference_model.h"

#include <algorithm>
#include <cmath>

namespace headwise::test::reference {

namespace {

bool isOneOf(const std::string& type, std::initializer_list<const char*> types)
{
    return std::any_of(types.begin(), types.end(), [&](const char* other) { return type == other; });
}

/// Common parts of the layers of families with Llama's names.
struct Reader {
    const Source& source;
    std::string type;
    std::string root; ///< before "layers."

    bool isGemma() const { return type.starts_with("gemma"); }
    bool normsBehind() const { return isOneOf(type, {"gemma2", "gemma3_text", "olmo2", "olmo3"}); }
    bool normsBefore() const { return !isOneOf(type, {"olmo2", "olmo3"}); }

    Norm norm(const std::string& name) const
    {
        const double eps = source.number("rms_norm_eps", 1e-6);
        if (type == "olmo")
            return {NormKind::Layer, 1e-5, {}, {}};
        if (type == "stablelm")
            return layerNorm(source, name, source.number("layer_norm_eps", 1e-5));
        return {NormKind::Rms, eps, source.at(name + ".weight").values, {}, isGemma()};
    }
    bool slides(std::size_t layer) const
    {
        const QJsonValue types = source.config["layer_types"];
        if (types.isArray())
            return types.toArray()[static_cast<qsizetype>(layer)] == "sliding_attention";
        if (isOneOf(type, {"mistral", "mixtral", "phi3"}))
            return source.config["sliding_window"].isDouble();
        if (type == "gemma2")
            return layer % 2 == 0;
        if (type == "gemma3_text")
            return (layer + 1) % static_cast<std::size_t>(source.number("sliding_window_pattern", 6)) != 0;
        if (type == "olmo3")
            return (layer + 1) % 4 != 0;
        return source.flag("use_sliding_window") && layer >= source.size("max_window_layers");
    }
};

void readProjections(const Reader& reader, const Layer& layer, const Model& model, Block& block)
{
    if (reader.type != "phi3") {
        block.q = layer.linear("self_attn.q_proj");
        block.k = layer.linear("self_attn.k_proj");
        block.v = layer.linear("self_attn.v_proj");
        block.gate = layer.linear("mlp.gate_proj");
        block.up = layer.linear("mlp.up_proj");
        return;
    }
    const auto rows = [&](const std::string& name, std::size_t first, std::size_t count) {
        std::vector<std::size_t> wanted;
        for (std::size_t i = 0; i < count; ++i)
            wanted.push_back(first + i);
        return rowsOfLinear(reader.source.at(layer.prefix + name), {}, wanted);
    };
    const std::size_t q = model.heads * model.dHead;
    const std::size_t kv = model.kvHeads * model.dHead;
    block.q = rows("self_attn.qkv_proj.weight", 0, q);
    block.k = rows("self_attn.qkv_proj.weight", q, kv);
    block.v = rows("self_attn.qkv_proj.weight", q + kv, kv);
    const std::size_t f = reader.source.size("intermediate_size");
    block.gate = rows("mlp.gate_up_proj.weight", 0, f);
    block.up = rows("mlp.gate_up_proj.weight", f, f);
}

/// Returns one expert's matrix from a tensor of all, [experts, rows, columns], transposed.
Linear oneOf(const StoredTensor& all, std::size_t expert, std::size_t first, std::size_t count)
{
    const std::size_t in = all.shape[2];
    Linear linear{in, count, {}, {}};
    for (std::size_t a = 0; a < in; ++a)
        for (std::size_t j = 0; j < count; ++j)
            linear.w.push_back(all.values[(expert * all.shape[1] + first + j) * in + a]);
    return linear;
}

void readExperts(const Reader& reader, const Layer& layer, Block& block)
{
    const Source& source = reader.source;
    const bool fused = source.has(layer.prefix + "mlp.experts.gate_up_proj");
    const std::string moe = fused ? "mlp." : "block_sparse_moe.";
    block.router = layer.linear(moe + "gate");
    block.expertsPerToken = source.size("num_experts_per_tok");
    for (std::size_t e = 0; e < source.size("num_local_experts"); ++e) {
        if (fused) {
            const StoredTensor& in = source.at(layer.prefix + "mlp.experts.gate_up_proj");
            const StoredTensor& out = source.at(layer.prefix + "mlp.experts.down_proj");
            const std::size_t f = in.shape[1] / 2;
            block.experts.push_back({oneOf(in, e, 0, f), oneOf(in, e, f, f), oneOf(out, e, 0, out.shape[1])});
            continue;
        }
        const std::string one = moe + "experts." + std::to_string(e) + ".";
        block.experts.push_back(
            {layer.linear(one + "w1"), layer.linear(one + "w3"), layer.linear(one + "w2")});
    }
}

/// StableLM's norms, one tensor per head, side by side.
Vector headByHead(const Source& source, const std::string& name, std::size_t heads)
{
    Vector all;
    for (std::size_t i = 0; i < heads; ++i) {
        const Vector& one = source.at(name + std::to_string(i) + ".weight").values;
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

void readQkNorms(const Reader& reader, const Layer& layer, const Model& model, Block& block)
{
    const std::string attention = layer.prefix + "self_attn.";
    if (isOneOf(reader.type, {"qwen3", "gemma3_text", "olmo2", "olmo3"})) {
        block.qNorm = reader.norm(attention + "q_norm");
        block.kNorm = reader.norm(attention + "k_norm");
        block.normsAllHeads = reader.type.starts_with("olmo");
    }
    if (reader.type == "stablelm" && reader.source.flag("qk_layernorm")) {
        const double eps = reader.source.number("layer_norm_eps", 1e-5);
        block.qNorm = {NormKind::Layer,
                       eps,
                       headByHead(reader.source, attention + "q_layernorm.norms.", model.heads),
                       {}};
        block.kNorm = {NormKind::Layer,
                       eps,
                       headByHead(reader.source, attention + "k_layernorm.norms.", model.kvHeads),
                       {}};
    }
}

void readNorms(const Reader& reader, const std::string& prefix, const Model& model, Block& block)
{
    const std::string after = prefix + "post_attention_layernorm";
    if (reader.normsBefore()) {
        block.ln1 = reader.norm(prefix + "input_layernorm");
        if (model.parallel)
            block.ln2 = block.ln1;
        else
            block.ln2 = reader.norm(reader.normsBehind() ? prefix + "pre_feedforward_layernorm" : after);
    }
    if (reader.normsBehind()) {
        block.ln1Post = reader.norm(after);
        block.ln2Post = reader.norm(prefix + "post_feedforward_layernorm");
    }
}

/// Reads positions that differ between layers.
void readBlockRope(const Reader& reader, const Model& model, std::size_t layer, Block& block)
{
    const Source& source = reader.source;
    if (reader.type == "gemma3_text" && reader.slides(layer))
        block.rope = plainRope(model.rotaryDim, source.number("rope_local_base_freq", 10000));
    if (reader.type == "olmo3" && reader.slides(layer))
        block.rope = plainRope(model.rotaryDim, model.rotaryBase);
    if (reader.type != "smollm3")
        return;
    const QJsonValue list = source.config["no_rope_layers"];
    const bool rotates = list.isArray()
        ? list.toArray()[static_cast<qsizetype>(layer)].toInt() == 1
        : (layer + 1) % static_cast<std::size_t>(source.number("no_rope_layer_interval", 4)) != 0;
    if (!rotates)
        block.rope = Rope{};
}

Block readBlock(const Reader& reader, const Model& model, std::size_t index)
{
    const Source& source = reader.source;
    const Layer layer{source, reader.root + "layers." + std::to_string(index) + "."};
    Block block;
    readNorms(reader, layer.prefix, model, block);
    readQkNorms(reader, layer, model, block);
    block.o = layer.linear("self_attn.o_proj");
    if (reader.type == "mixtral") {
        block.q = layer.linear("self_attn.q_proj");
        block.k = layer.linear("self_attn.k_proj");
        block.v = layer.linear("self_attn.v_proj");
        readExperts(reader, layer, block);
    } else {
        readProjections(reader, layer, model, block);
        block.down = layer.linear("mlp.down_proj");
    }
    block.scale = isOneOf(reader.type, {"gemma2", "gemma3_text"})
        ? 1 / std::sqrt(source.number("query_pre_attn_scalar", 256))
        : rootScale(model);
    block.window = reader.slides(index) ? source.size("sliding_window") : 0;
    block.limit = source.number("clip_qkv", 0);
    readBlockRope(reader, model, index, block);
    return block;
}

Model readModel(const Reader& reader)
{
    const Source& source = reader.source;
    Model model;
    model.heads = source.size("num_attention_heads");
    model.kvHeads = source.size("num_key_value_heads");
    model.dHead = source.config.contains("head_dim") ? source.size("head_dim")
                                                     : source.size("hidden_size") / model.heads;
    model.embedding = rowsOf(source.at(reader.root + "embed_tokens.weight"));
    model.rotaryDim = static_cast<std::size_t>(
        static_cast<double>(model.dHead)
        * source.number("partial_rotary_factor", reader.type == "stablelm" ? 0.25 : 1));
    model.rotaryBase = source.number("rope_theta", 10000);
    model.rope = scaledRope(source, model);
    model.parallel = source.flag("use_parallel_residual");
    model.activation = reader.isGemma() ? "gelu_pytorch_tanh" : source.text("hidden_act", "silu");
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i)
        model.blocks.push_back(readBlock(reader, model, i));
    model.lnFinal = reader.norm(reader.root + "norm");
    const std::string output =
        reader.root == "language_model.model." ? "language_model.lm_head.weight" : "lm_head.weight";
    model.unembed = outIn(source.at(source.has(output) ? output : reader.root + "embed_tokens.weight"), {});
    if (reader.isGemma())
        for (Vector& row : model.embedding)
            for (double& value : row)
                value *= std::sqrt(static_cast<double>(row.size()));
    model.scoreCap = source.number("attn_logit_softcapping", 0);
    model.logitCap = source.number("final_logit_softcapping", 0);
    return model;
}

} // namespace

std::optional<Model> readLlamaNamed(const Source& outer)
{
    Source source = outer;
    if (source.config["text_config"].isObject())
        source.config = source.config["text_config"].toObject();
    const std::string type = source.text("model_type");
    if (!isOneOf(type,
                 {"mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3",
                  "stablelm", "olmo", "olmo2", "olmo3", "smollm3"}))
        return std::nullopt;
    const bool isPart = source.has("language_model.model.embed_tokens.weight");
    return readModel({source, type, isPart ? "language_model.model." : "model."});
}

} // namespace headwise::test::reference
