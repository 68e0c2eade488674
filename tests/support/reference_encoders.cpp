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

Model readVit(const Source& source)
{
    const double eps = source.number("layer_norm_eps", 1e-12);
    const std::string root = "vit.";
    const StoredTensor& positions = source.at(root + "embeddings.position_embeddings");
    Model model;
    model.heads = model.kvHeads = source.size("num_attention_heads");
    model.dHead = source.size("hidden_size") / model.heads;
    model.embedding = {source.at(root + "embeddings.cls_token").values};
    model.positions = rowsOf({{positions.shape[1], positions.shape[2]}, positions.values});
    model.activation = source.text("hidden_act", "gelu");
    model.bidirectional = true;
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, root + "encoder.layer." + std::to_string(i) + "."};
        Block block;
        block.ln1 = layer.layerNorm("layernorm_before", eps);
        block.q = layer.linear("attention.attention.query");
        block.k = layer.linear("attention.attention.key");
        block.v = layer.linear("attention.attention.value");
        block.o = layer.linear("attention.output.dense");
        block.ln2 = layer.layerNorm("layernorm_after", eps);
        block.up = layer.linear("intermediate.dense");
        block.down = layer.linear("output.dense");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.lnFinal = layerNorm(source, root + "layernorm", eps);
    model.unembed = Layer{source, ""}.linear("classifier");
    return model;
}

Model readClip(const Source& source)
{
    constexpr double eps = 1e-5;
    const bool isVision = source.text("stack") == "vision";
    const std::string root = isVision ? "vision_model." : "text_model.";
    const QJsonObject config =
        source.config[QLatin1String(isVision ? "vision_config" : "text_config")].toObject();
    const auto size = [&](const char* key) {
        return static_cast<std::size_t>(config[QLatin1String(key)].toInteger());
    };
    Model model;
    model.heads = model.kvHeads = size("num_attention_heads");
    model.dHead = size("hidden_size") / model.heads;
    model.positions = rowsOf(source.at(root + "embeddings.position_embedding.weight"));
    model.activation = "quick_gelu";
    model.bidirectional = isVision;
    for (std::size_t i = 0; i < size("num_hidden_layers"); ++i) {
        const Layer layer{source, root + "encoder.layers." + std::to_string(i) + "."};
        Block block;
        block.ln1 = layer.layerNorm("layer_norm1", eps);
        block.q = layer.linear("self_attn.q_proj");
        block.k = layer.linear("self_attn.k_proj");
        block.v = layer.linear("self_attn.v_proj");
        block.o = layer.linear("self_attn.out_proj");
        block.ln2 = layer.layerNorm("layer_norm2", eps);
        block.up = layer.linear("mlp.fc1");
        block.down = layer.linear("mlp.fc2");
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    if (isVision) {
        model.embedding = {source.at(root + "embeddings.class_embedding").values};
        model.placedNorm = layerNorm(source, root + "pre_layrnorm", eps);
        model.lnFinal = layerNorm(source, root + "post_layernorm", eps);
        model.unembed = outIn(source.at("visual_projection.weight"), {});
    } else {
        const StoredTensor& table = source.at(root + "embeddings.token_embedding.weight");
        model.embedding = rowsOf(table);
        model.lnFinal = layerNorm(source, root + "final_layer_norm", eps);
        model.unembed = outIn(table, {});
    }
    return model;
}

Norm t5Norm(const Source& source, const std::string& name)
{
    return {NormKind::Rms, 1e-6, source.at(name + ".weight").values, {}};
}

/// The whole encoder; for the decoder's stacks the attention alone.
Model readT5(const Source& source)
{
    const std::string stack = source.text("stack", "decoder");
    const bool isEncoder = stack == "encoder";
    const std::string attention = stack == "cross" ? "layer.1.EncDecAttention." : "layer.0.SelfAttention.";
    const std::string side = isEncoder ? "encoder" : "decoder";
    const StoredTensor& table = source.at("shared.weight");
    Model model;
    model.heads = model.kvHeads = source.size("num_heads");
    model.dHead = source.size("d_kv");
    model.embedding = rowsOf(table);
    model.bidirectional = isEncoder;
    model.distanceBias =
        rowsOf(source.at(side + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"));
    model.farthest = source.size("relative_attention_max_distance");
    const bool isGated = source.text("feed_forward_proj") == "gated-gelu";
    model.activation = isGated ? "gelu_new" : "relu";
    for (std::size_t i = 0; i < source.size(isEncoder ? "num_layers" : "num_decoder_layers"); ++i) {
        const Layer layer{source, side + ".block." + std::to_string(i) + "."};
        Block block;
        block.q = layer.linear(attention + "q");
        block.k = layer.linear(attention + "k");
        block.v = layer.linear(attention + "v");
        block.o = layer.linear(attention + "o");
        block.ln1 = t5Norm(source, layer.prefix + "layer.0.layer_norm");
        block.ln2 = t5Norm(source, layer.prefix + "layer.1.layer_norm");
        const std::string mlp = isEncoder ? "layer.1.DenseReluDense." : "layer.2.DenseReluDense.";
        if (isGated)
            block.gate = layer.linear(mlp + "wi_0");
        block.up = layer.linear(mlp + (isGated ? "wi_1" : "wi"));
        block.down = layer.linear(mlp + "wo");
        model.blocks.push_back(block);
    }
    model.lnFinal = t5Norm(source, side + ".final_layer_norm");
    model.unembed = outIn(table, {});
    return model;
}

/// The whole encoder; for the decoder's stacks the attention alone.
Model readBart(const Source& source)
{
    constexpr double eps = 1e-5;
    const std::string stack = source.text("stack", "decoder"),
                      side = stack == "encoder" ? "encoder" : "decoder";
    const std::string root = "model." + side + ".";
    const std::string attention = stack == "cross" ? "encoder_attn" : "self_attn";
    const StoredTensor& table = source.at("model.shared.weight");
    Model model;
    model.heads = model.kvHeads = source.size((side + "_attention_heads").c_str());
    model.dHead = source.size("d_model") / model.heads;
    model.embedding = rowsOf(table);
    model.positions = withoutFirst(rowsOf(source.at(root + "embed_positions.weight")), 2);
    model.placedNorm = layerNorm(source, root + "layernorm_embedding", eps);
    model.activation = source.text("activation_function", "gelu");
    model.normsSums = model.bidirectional = true;
    for (std::size_t i = 0; i < source.size((side + "_layers").c_str()); ++i) {
        const Layer layer{source, root + "layers." + std::to_string(i) + "."};
        Block block;
        block.q = layer.linear(attention + ".q_proj");
        block.k = layer.linear(attention + ".k_proj");
        block.v = layer.linear(attention + ".v_proj");
        block.o = layer.linear(attention + ".out_proj");
        block.ln1Post = layer.layerNorm(attention + "_layer_norm", eps);
        block.up = layer.linear("fc1");
        block.down = layer.linear("fc2");
        block.ln2Post = layer.layerNorm("final_layer_norm", eps);
        block.scale = rootScale(model);
        model.blocks.push_back(block);
    }
    model.unembed = outIn(table, {});
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
    if (type == "vit")
        return readVit(source);
    if (type == "clip")
        return readClip(source);
    if (type == "t5")
        return readT5(source);
    if (type == "bart")
        return readBart(source);
    return std::nullopt;
}

} // namespace headwise::test::reference
