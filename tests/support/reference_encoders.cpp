// The reference's models whose tokens see each other in both directions, and those that read images.

#include "tests/support/reference_model.h"

namespace headwise::test::reference {

namespace {

void addToRows(Rows& rows, const Vector& row)
{
    for (Vector& one : rows)
        for (std::size_t a = 0; a < one.size(); ++a)
            one[a] += row[a];
}

Rows withoutFirst(const Rows& rows, std::size_t count)
{
    return {rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end()};
}

/// A layer of BERT.
Block bertBlock(const Layer& layer, double eps, double scale)
{
    Block block;
    block.q = layer.linear("attention.self.query");
    block.k = layer.linear("attention.self.key");
    block.v = layer.linear("attention.self.value");
    block.o = layer.linear("attention.output.dense");
    block.ln1Post = layer.layerNorm("attention.output.LayerNorm", eps);
    block.up = layer.linear("intermediate.dense");
    block.down = layer.linear("output.dense");
    block.ln2Post = layer.layerNorm("output.LayerNorm", eps);
    block.scale = scale;
    return block;
}

/// The sizes, embeddings and layers that BERT's descendants share. \param root "roberta."
Model bertLike(const Source& source, const std::string& root, double eps)
{
    Model model;
    model.heads = model.kvHeads = source.size("num_attention_heads");
    model.dHead = source.size("hidden_size") / model.heads;
    model.embedding = rowsOf(source.at(root + "embeddings.word_embeddings.weight"));
    model.positions = rowsOf(source.at(root + "embeddings.position_embeddings.weight"));
    model.placedNorm = layerNorm(source, root + "embeddings.LayerNorm", eps);
    model.activation = source.text("hidden_act", "gelu");
    model.normsSums = model.bidirectional = true;
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i)
        model.blocks.push_back(
            bertBlock({source, root + "encoder.layer." + std::to_string(i) + "."}, eps, rootScale(model)));
    return model;
}

Model readRoberta(const Source& source)
{
    const double eps = source.number("layer_norm_eps", 1e-12);
    Model model = bertLike(source, "roberta.", eps);
    addToRows(model.embedding, rowsOf(source.at("roberta.embeddings.token_type_embeddings.weight"))[0]);
    model.positions = withoutFirst(model.positions, source.size("pad_token_id") + 1);
    model.transform = Layer{source, "lm_head."}.linear("dense");
    model.lnFinal = layerNorm(source, "lm_head.layer_norm", eps);
    model.unembed =
        outIn(source.at("roberta.embeddings.word_embeddings.weight"), source.values("lm_head.bias"));
    return model;
}

Model readDistilBert(const Source& source)
{
    constexpr double eps = 1e-12;
    const std::string root = "distilbert.";
    Model model;
    model.heads = model.kvHeads = source.size("n_heads");
    model.dHead = source.size("dim") / model.heads;
    const StoredTensor& table = source.at(root + "embeddings.word_embeddings.weight");
    model.embedding = rowsOf(table);
    model.positions = rowsOf(source.at(root + "embeddings.position_embeddings.weight"));
    model.placedNorm = layerNorm(source, root + "embeddings.LayerNorm", eps);
    model.activation = source.text("activation");
    model.normsSums = model.bidirectional = true;
    for (std::size_t i = 0; i < source.size("n_layers"); ++i) {
        const Layer layer{source, root + "transformer.layer." + std::to_string(i) + "."};
        Block block;
        block.q = layer.linear("attention.q_lin");
        block.k = layer.linear("attention.k_lin");
        block.v = layer.linear("attention.v_lin");
        block.o = layer.linear("attention.out_lin");
        block.ln1Post = layer.layerNorm("sa_layer_norm", eps);
        block.up = layer.linear("ffn.lin1");
        block.down = layer.linear("ffn.lin2");
        block.ln2Post = layer.layerNorm("output_layer_norm", eps);
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.transform = Layer{source, ""}.linear("vocab_transform");
    model.lnFinal = layerNorm(source, "vocab_layer_norm", eps);
    model.unembed = outIn(table, source.values("vocab_projector.bias"));
    return model;
}

} // namespace

std::optional<Model> readEncoderFamily(const Source& source)
{
    const std::string type = source.text("model_type");
    if (type == "roberta")
        return readRoberta(source);
    if (type == "distilbert")
        return readDistilBert(source);
    return std::nullopt;
}

} // namespace headwise::test::reference
