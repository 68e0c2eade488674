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

/// The transpose of a matrix, without a bias.
Linear flippedLinear(const Linear& linear)
{
    Linear out{linear.out, linear.in, Vector(linear.w.size()), {}};
    for (std::size_t a = 0; a < linear.in; ++a)
        for (std::size_t j = 0; j < linear.out; ++j)
            out.w[j * linear.in + a] = linear.w[a * linear.out + j];
    return out;
}

Linear productOf(const Linear& a, const Linear& b)
{
    Linear out{a.in, b.out, Vector(a.in * b.out, 0.0), {}};
    for (std::size_t i = 0; i < a.in; ++i)
        for (std::size_t k = 0; k < a.out; ++k)
            for (std::size_t j = 0; j < b.out; ++j)
                out.w[i * b.out + j] += a.w[i * a.out + k] * b.w[k * b.out + j];
    return out;
}

Model readElectra(const Source& source)
{
    const double eps = source.number("layer_norm_eps", 1e-12);
    Model model = bertLike(source, "electra.", eps);
    addToRows(model.embedding, rowsOf(source.at("electra.embeddings.token_type_embeddings.weight"))[0]);
    if (source.size("embedding_size") != source.size("hidden_size"))
        model.entry = Layer{source, "electra."}.linear("embeddings_project");
    model.unembed = outIn(source.at("electra.embeddings.word_embeddings.weight"),
                          source.values("generator_lm_head.bias"));
    if (source.has("generator_predictions.dense.weight")) {
        model.transform = Layer{source, "generator_predictions."}.linear("dense");
        model.lnFinal = layerNorm(source, "generator_predictions.LayerNorm", eps);
    } else if (model.entry) {
        model.unembed = productOf(flippedLinear(*model.entry), model.unembed);
    }
    return model;
}

Model readEsm(const Source& source)
{
    const double eps = source.number("layer_norm_eps", 1e-12);
    const std::string root = "esm.";
    Model model;
    model.heads = model.kvHeads = source.size("num_attention_heads");
    model.dHead = source.size("hidden_size") / model.heads;
    const StoredTensor& table = source.at(root + "embeddings.word_embeddings.weight");
    model.embedding = rowsOf(table);
    if (source.flag("token_dropout"))
        for (Vector& row : model.embedding)
            for (double& value : row)
                value *= 0.88;
    if (source.text("position_embedding_type") == "rotary")
        model.rotaryDim = model.dHead;
    else
        model.positions = withoutFirst(rowsOf(source.at(root + "embeddings.position_embeddings.weight")), 2);
    if (source.flag("emb_layer_norm_before"))
        model.placedNorm = layerNorm(source, root + "embeddings.layer_norm", eps);
    model.activation = "gelu";
    model.bidirectional = true;
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, root + "encoder.layer." + std::to_string(i) + "."};
        Block block;
        block.ln1 = layer.layerNorm("attention.LayerNorm", eps);
        block.q = layer.linear("attention.self.query");
        block.k = layer.linear("attention.self.key");
        block.v = layer.linear("attention.self.value");
        block.o = layer.linear("attention.output.dense");
        block.ln2 = layer.layerNorm("LayerNorm", eps);
        block.up = layer.linear("intermediate.dense");
        block.down = layer.linear("output.dense");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.beforeTransform = layerNorm(source, root + "encoder.emb_layer_norm_after", eps);
    model.transform = Layer{source, "lm_head."}.linear("dense");
    model.lnFinal = layerNorm(source, "lm_head.layer_norm", eps);
    model.unembed = outIn(table, source.values("lm_head.bias"));
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
    if (type == "electra")
        return readElectra(source);
    if (type == "esm")
        return readEsm(source);
    return std::nullopt;
}

} // namespace headwise::test::reference
