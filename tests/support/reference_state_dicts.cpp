// The reference's GPT-1 and BERT, and the state dicts of nanoGPT and minGPT.

#include "tests/support/reference_model.h"

namespace headwise::test::reference {

namespace {

Model readGpt1(const Source& source)
{
    const double eps = source.number("layer_norm_epsilon", 1e-5);
    Model model;
    model.heads = model.kvHeads = source.size("n_head");
    const std::size_t m = source.size("n_embd");
    model.dHead = m / model.heads;
    model.embedding = rowsOf(source.at("tokens_embed.weight"));
    model.positions = rowsOf(source.at("positions_embed.weight"));
    model.activation = "gelu_new";
    model.normsSums = true;
    for (std::size_t i = 0; i < source.size("n_layer"); ++i) {
        const Layer layer{source, "h." + std::to_string(i) + "."};
        Block block;
        block.ln1Post = layer.layerNorm("ln_1", eps);
        block.ln2Post = layer.layerNorm("ln_2", eps);
        const StoredTensor& fused = source.at(layer.prefix + "attn.c_attn.weight");
        const Vector bias = source.values(layer.prefix + "attn.c_attn.bias");
        block.q = columns(fused, bias, 0, m);
        block.k = columns(fused, bias, m, m);
        block.v = columns(fused, bias, 2 * m, m);
        block.o = layer.conv1d("attn.c_proj");
        block.up = layer.conv1d("mlp.c_fc");
        block.down = layer.conv1d("mlp.c_proj");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.unembed = outIn(source.at("tokens_embed.weight"), {});
    return model;
}

Norm bertNorm(const Source& source, const std::string& name)
{
    const bool isOld = source.has(name + ".gamma");
    return {NormKind::Layer, source.number("layer_norm_eps", 1e-12),
            source.at(name + (isOld ? ".gamma" : ".weight")).values,
            source.at(name + (isOld ? ".beta" : ".bias")).values};
}

Model readBert(const Source& source)
{
    const std::string root = source.has("embeddings.word_embeddings.weight") ? "" : "bert.";
    Model model;
    model.heads = model.kvHeads = source.size("num_attention_heads");
    const std::size_t m = source.size("hidden_size");
    model.dHead = m / model.heads;
    model.embedding = rowsOf(source.at(root + "embeddings.word_embeddings.weight"));
    model.positions = rowsOf(source.at(root + "embeddings.position_embeddings.weight"));
    const Vector& segments = source.at(root + "embeddings.token_type_embeddings.weight").values;
    for (Vector& row : model.embedding)
        for (std::size_t a = 0; a < m; ++a)
            row[a] += segments[a];
    model.placedNorm = bertNorm(source, root + "embeddings.LayerNorm");
    model.activation = source.text("hidden_act", "gelu");
    model.normsSums = true;
    model.bidirectional = true;
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, root + "encoder.layer." + std::to_string(i) + "."};
        Block block;
        block.q = layer.linear("attention.self.query");
        block.k = layer.linear("attention.self.key");
        block.v = layer.linear("attention.self.value");
        block.o = layer.linear("attention.output.dense");
        block.ln1Post = bertNorm(source, layer.prefix + "attention.output.LayerNorm");
        block.up = layer.linear("intermediate.dense");
        block.down = layer.linear("output.dense");
        block.ln2Post = bertNorm(source, layer.prefix + "output.LayerNorm");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    if (source.has("cls.predictions.bias")) {
        model.transform = Layer{source, "cls.predictions."}.linear("transform.dense");
        model.lnFinal = bertNorm(source, "cls.predictions.transform.LayerNorm");
    }
    model.unembed =
        outIn(source.at(root + "embeddings.word_embeddings.weight"), source.values("cls.predictions.bias"));
    return model;
}

Norm stateDictNorm(const Source& source, const std::string& name)
{
    return {NormKind::Layer, 1e-5, source.at(name + ".weight").values, source.values(name + ".bias")};
}

Model readNanoGpt(const Source& source)
{
    Model model;
    model.heads = model.kvHeads = source.size("n_head");
    model.embedding = rowsOf(source.at("transformer.wte.weight"));
    const std::size_t m = model.embedding[0].size();
    model.dHead = m / model.heads;
    model.positions = rowsOf(source.at("transformer.wpe.weight"));
    model.activation = "gelu";
    for (std::size_t i = 0; source.has("transformer.h." + std::to_string(i) + ".ln_1.weight"); ++i) {
        const Layer layer{source, "transformer.h." + std::to_string(i) + "."};
        Block block;
        block.ln1 = stateDictNorm(source, layer.prefix + "ln_1");
        block.ln2 = stateDictNorm(source, layer.prefix + "ln_2");
        const StoredTensor& fused = source.at(layer.prefix + "attn.c_attn.weight");
        const Vector bias = source.values(layer.prefix + "attn.c_attn.bias");
        std::vector<std::size_t> rows[3];
        for (std::size_t row = 0; row < 3 * m; ++row)
            rows[row / m].push_back(row);
        block.q = rowsOfLinear(fused, bias, rows[0]);
        block.k = rowsOfLinear(fused, bias, rows[1]);
        block.v = rowsOfLinear(fused, bias, rows[2]);
        block.o = layer.linear("attn.c_proj");
        block.up = layer.linear("mlp.c_fc");
        block.down = layer.linear("mlp.c_proj");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.lnFinal = stateDictNorm(source, "transformer.ln_f");
    model.unembed = outIn(source.at("transformer.wte.weight"), {});
    return model;
}

Model readMinGpt(const Source& source)
{
    Model model;
    model.heads = model.kvHeads = source.size("n_head");
    model.embedding = rowsOf(source.at("tok_emb.weight"));
    model.dHead = model.embedding[0].size() / model.heads;
    const StoredTensor& positions = source.at("pos_emb");
    model.positions = rowsOf({{positions.shape[1], positions.shape[2]}, positions.values});
    model.activation = "gelu";
    for (std::size_t i = 0; source.has("blocks." + std::to_string(i) + ".ln1.weight"); ++i) {
        const Layer layer{source, "blocks." + std::to_string(i) + "."};
        Block block;
        block.ln1 = stateDictNorm(source, layer.prefix + "ln1");
        block.ln2 = stateDictNorm(source, layer.prefix + "ln2");
        block.q = layer.linear("attn.query");
        block.k = layer.linear("attn.key");
        block.v = layer.linear("attn.value");
        block.o = layer.linear("attn.proj");
        block.up = layer.linear("mlp.0");
        block.down = layer.linear("mlp.2");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.lnFinal = stateDictNorm(source, "ln_f");
    model.unembed = outIn(source.at("head.weight"), {});
    return model;
}

} // namespace

std::optional<Model> readStateDictFamily(const Source& source)
{
    const std::string type = source.text("model_type");
    if (type == "openai-gpt")
        return readGpt1(source);
    if (type == "bert")
        return readBert(source);
    if (type == "nanogpt")
        return readNanoGpt(source);
    if (type == "mingpt")
        return readMinGpt(source);
    return std::nullopt;
}

} // namespace headwise::test::reference
