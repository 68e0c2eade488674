// The reference's OPT, BLOOM and Falcon.

#include "tests/support/reference_model.h"

#include <cmath>

namespace headwise::test::reference {

namespace {

Norm optionalNorm(const Source& source, const std::string& name, double eps)
{
    return {NormKind::Layer, eps, source.values(name + ".weight"), source.values(name + ".bias")};
}

Linear times(const Linear& a, const Linear& b)
{
    Linear out{a.in, b.out, Vector(a.in * b.out, 0.0), {}};
    for (std::size_t i = 0; i < a.in; ++i)
        for (std::size_t j = 0; j < b.out; ++j)
            for (std::size_t k = 0; k < a.out; ++k)
                out.w[i * b.out + j] += a.w[i * a.out + k] * b.w[k * b.out + j];
    return out;
}

Model readOpt(const Source& source)
{
    const std::string decoder = "model.decoder.";
    const bool before = source.flag("do_layer_norm_before", true);
    Model model;
    model.heads = model.kvHeads = source.size("num_attention_heads");
    model.dHead = source.size("hidden_size") / model.heads;
    model.activation = source.text("activation_function", "relu");
    model.normsSums = !before;
    const StoredTensor& table = source.at(decoder + "embed_tokens.weight");
    model.embedding = rowsOf(table);
    model.unembed = outIn(table, {});
    if (source.has(decoder + "project_in.weight")) {
        const Linear in = outIn(source.at(decoder + "project_in.weight"), {});
        const Linear rows{table.shape[0], table.shape[1], table.values, {}};
        const Linear wide = times(rows, in);
        model.embedding = rowsOf({{wide.in, wide.out}, wide.w});
        model.unembed = times(outIn(source.at(decoder + "project_out.weight"), {}), model.unembed);
    }
    const Rows positions = rowsOf(source.at(decoder + "embed_positions.weight"));
    model.positions.assign(positions.begin() + 2, positions.end());
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, decoder + "layers." + std::to_string(i) + "."};
        Block block;
        (before ? block.ln1 : block.ln1Post) =
            optionalNorm(source, layer.prefix + "self_attn_layer_norm", 1e-5);
        (before ? block.ln2 : block.ln2Post) = optionalNorm(source, layer.prefix + "final_layer_norm", 1e-5);
        block.q = layer.linear("self_attn.q_proj");
        block.k = layer.linear("self_attn.k_proj");
        block.v = layer.linear("self_attn.v_proj");
        block.o = layer.linear("self_attn.out_proj");
        block.up = layer.linear("fc1");
        block.down = layer.linear("fc2");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    if (before)
        model.lnFinal = optionalNorm(source, decoder + "final_layer_norm", 1e-5);
    return model;
}

/// Splits the rows of query_key_value by kind: 0 query, 1 key, 2 value, one entry per d_head rows.
void splitRows(const Layer& layer, const Model& model, const std::vector<int>& kinds, Block& block)
{
    const StoredTensor& weight = layer.source.at(layer.prefix + "self_attention.query_key_value.weight");
    const Vector bias = layer.source.values(layer.prefix + "self_attention.query_key_value.bias");
    std::vector<std::size_t> rows[3];
    for (std::size_t i = 0; i < kinds.size(); ++i)
        for (std::size_t j = 0; j < model.dHead; ++j)
            rows[kinds[i]].push_back(i * model.dHead + j);
    block.q = rowsOfLinear(weight, bias, rows[0]);
    block.k = rowsOfLinear(weight, bias, rows[1]);
    block.v = rowsOfLinear(weight, bias, rows[2]);
}

Model readBloom(const Source& source)
{
    const double eps = source.number("layer_norm_epsilon", 1e-5);
    const std::string root = source.has("word_embeddings.weight") ? "" : "transformer.";
    Model model;
    model.heads = model.kvHeads = source.size("n_head");
    model.dHead = source.size("hidden_size") / model.heads;
    model.embedding = rowsOf(source.at(root + "word_embeddings.weight"));
    model.embeddingNorm = layerNorm(source, root + "word_embeddings_layernorm", eps);
    model.slopes = alibiSlopes(model.heads);
    model.activation = "gelu_new";
    model.residualFromNorm = source.flag("apply_residual_connection_post_layernorm");
    std::vector<int> kinds;
    for (std::size_t head = 0; head < model.heads; ++head)
        kinds.insert(kinds.end(), {0, 1, 2});
    for (std::size_t i = 0; i < source.size("n_layer"); ++i) {
        const Layer layer{source, root + "h." + std::to_string(i) + "."};
        Block block;
        block.ln1 = layer.layerNorm("input_layernorm", eps);
        block.ln2 = layer.layerNorm("post_attention_layernorm", eps);
        splitRows(layer, model, kinds, block);
        block.o = layer.linear("self_attention.dense");
        block.up = layer.linear("mlp.dense_h_to_4h");
        block.down = layer.linear("mlp.dense_4h_to_h");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.lnFinal = layerNorm(source, root + "ln_f", eps);
    model.unembed = outIn(source.at(root + "word_embeddings.weight"), {});
    return model;
}

/// The order of the rows of query_key_value, case by case as documented.
std::vector<int> falconRows(const Source& source, Model& model)
{
    std::vector<int> kinds;
    if (source.flag("new_decoder_architecture")) {
        model.kvHeads = source.size("num_kv_heads");
        for (std::size_t group = 0; group < model.kvHeads; ++group) {
            kinds.insert(kinds.end(), model.heads / model.kvHeads, 0);
            kinds.insert(kinds.end(), {1, 2});
        }
    } else if (source.flag("multi_query", true)) {
        model.kvHeads = 1;
        kinds.assign(model.heads, 0);
        kinds.insert(kinds.end(), {1, 2});
    } else {
        model.kvHeads = model.heads;
        for (std::size_t head = 0; head < model.heads; ++head)
            kinds.insert(kinds.end(), {0, 1, 2});
    }
    return kinds;
}

Model readFalcon(const Source& source)
{
    const double eps = source.number("layer_norm_epsilon", 1e-5);
    Model model;
    model.heads = source.size("num_attention_heads");
    model.dHead = source.size("hidden_size") / model.heads;
    model.embedding = rowsOf(source.at("transformer.word_embeddings.weight"));
    model.activation = source.text("activation", "gelu");
    model.parallel = source.flag("new_decoder_architecture") || source.flag("parallel_attn", true);
    const std::vector<int> kinds = falconRows(source, model);
    if (source.flag("alibi")) {
        model.slopes = alibiSlopes(model.heads);
        for (double& slope : model.slopes)
            slope *= rootScale(model);
    } else {
        model.rotaryDim = model.dHead;
        model.rotaryBase = source.number("rope_theta", 10000);
    }
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, "transformer.h." + std::to_string(i) + "."};
        Block block;
        if (source.has(layer.prefix + "ln_attn.weight")) {
            block.ln1 = layer.layerNorm("ln_attn", eps);
            block.ln2 = layer.layerNorm("ln_mlp", eps);
        } else {
            block.ln1 = layer.layerNorm("input_layernorm", eps);
            block.ln2 = model.parallel ? block.ln1 : layer.layerNorm("post_attention_layernorm", eps);
        }
        splitRows(layer, model, kinds, block);
        block.o = layer.linear("self_attention.dense");
        block.up = layer.linear("mlp.dense_h_to_4h");
        block.down = layer.linear("mlp.dense_4h_to_h");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.lnFinal = layerNorm(source, "transformer.ln_f", eps);
    model.unembed = outIn(
        source.at(source.has("lm_head.weight") ? "lm_head.weight" : "transformer.word_embeddings.weight"),
        {});
    return model;
}

} // namespace

std::optional<Model> readFusedFamily(const Source& source)
{
    const std::string type = source.text("model_type");
    if (type == "opt")
        return readOpt(source);
    if (type == "bloom")
        return readBloom(source);
    if (type == "falcon")
        return readFalcon(source);
    return std::nullopt;
}

} // namespace headwise::test::reference
