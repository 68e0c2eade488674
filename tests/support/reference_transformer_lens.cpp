// The reference's reader of TransformerLens folders, whose config names each choice separately.

#include "tests/support/reference_model.h"

#include <algorithm>
#include <cmath>

namespace headwise::test::reference {

namespace {

/// The heads [n, d_model, d_head] put side by side.
Linear sideBySide(const StoredTensor& weight, const Vector& bias)
{
    const std::size_t heads = weight.shape[0];
    const std::size_t width = weight.shape[2];
    Linear linear{weight.shape[1], heads * width, {}, bias};
    for (std::size_t a = 0; a < linear.in; ++a)
        for (std::size_t i = 0; i < heads; ++i)
            for (std::size_t j = 0; j < width; ++j)
                linear.w.push_back(weight.values[(i * linear.in + a) * width + j]);
    return linear;
}

/// The heads [n, d_head, d_model] put one under the other.
Linear stacked(const StoredTensor& weight, const Vector& bias)
{
    return {weight.shape[0] * weight.shape[1], weight.shape[2], weight.values, bias};
}

NormKind transformerLensKind(const Source& source, bool final)
{
    const QJsonValue type = source.config["normalization_type"];
    if (type.isNull())
        return NormKind::None;
    const QString name = type.toString("LN");
    return name.startsWith("RMS") || (final && source.flag("final_rms")) ? NormKind::Rms : NormKind::Layer;
}

/// In TransformerLens' gated MLP b_in comes after the product; b_up and b_gate are Headwise's own, inside it.
void readTransformerLensMlp(const Source& source, const std::string& name, Block& block)
{
    const bool gated = source.flag("gated_mlp");
    block.up = inOut(source.at(name + "W_in"), source.values(name + (gated ? "b_up" : "b_in")));
    block.down = inOut(source.at(name + "W_out"), source.values(name + "b_out"));
    if (gated) {
        block.gate = inOut(source.at(name + "W_gate"), source.values(name + "b_gate"));
        block.afterProduct = source.values(name + "b_in");
    }
    if (source.text("act_fn").ends_with("_ln"))
        block.activationNorm = Norm{NormKind::Layer, source.number("eps", 1e-5), source.values(name + "ln.w"),
                                    source.values(name + "ln.b")};
}

Block readTransformerLensBlock(const Source& source, const Model& model, std::size_t layer)
{
    const std::string b = "blocks." + std::to_string(layer) + ".";
    const auto norm = [&](const std::string& name) {
        return Norm{transformerLensKind(source, false), source.number("eps", 1e-5),
                    source.values(b + name + ".w"), source.values(b + name + ".b"),
                    source.flag("rmsnorm_uses_offset")};
    };
    const std::string grouped = source.config["n_key_value_heads"].isDouble() ? "_" : "";
    const auto head = [&](const std::string& stem, const std::string& letter) {
        return sideBySide(source.at(b + "attn." + stem + "W_" + letter),
                          source.values(b + "attn." + stem + "b_" + letter));
    };
    Block block;
    const std::string placement = source.text("norm_placement", "pre");
    if (placement != "post") {
        block.ln1 = norm("ln1");
        const bool shared = model.parallel && !source.has(b + "ln2.w");
        block.ln2 = shared ? block.ln1 : norm("ln2");
    }
    block.q = head("", "Q");
    block.k = head(grouped, "K");
    block.v = head(grouped, "V");
    block.o = stacked(source.at(b + "attn.W_O"), source.values(b + "attn.b_O"));
    const double divisor = source.number("attn_scale", -1);
    if (source.flag("use_attn_scale", true))
        block.scale /= divisor > 0 ? divisor : std::sqrt(static_cast<double>(model.dHead));
    if (source.flag("scale_attn_by_inverse_layer_idx"))
        block.scale /= static_cast<double>(layer + 1);
    if (source.flag("use_local_attn")
        && source.config["attn_types"].toArray()[static_cast<qsizetype>(layer)] == "local")
        block.window = source.size("window_size");
    const auto headNorm = [&](const std::string& name) {
        return Norm{NormKind::Rms,
                    source.number("eps", 1e-5),
                    source.at(b + "attn." + name + ".w").values,
                    {},
                    source.flag("rmsnorm_uses_offset")};
    };
    if (source.flag("use_qk_norm")) {
        block.qNorm = headNorm("q_norm");
        block.kNorm = headNorm("k_norm");
    }
    if (source.flag("use_normalization_before_and_after") || placement != "pre") {
        block.ln1Post = norm("ln1_post");
        block.ln2Post = norm("ln2_post");
    }
    block.hasMlp = !source.flag("attn_only");
    if (block.hasMlp)
        readTransformerLensMlp(source, b + "mlp.", block);
    return block;
}

} // namespace

Model readTransformerLens(const Source& source)
{
    Model model;
    model.heads = source.size("n_heads");
    model.kvHeads =
        source.config["n_key_value_heads"].isDouble() ? source.size("n_key_value_heads") : model.heads;
    model.dHead = source.size("d_head");
    model.embedding = rowsOf(source.at("embed.W_E"));
    const std::string positional = source.text("positional_embedding_type", "standard");
    if (positional == "standard")
        model.positions = rowsOf(source.at("pos_embed.W_pos"));
    else if (positional == "rotary")
        model.rotaryDim = source.config["rotary_dim"].isDouble() ? source.size("rotary_dim") : model.dHead;
    else if (positional == "alibi")
        model.slopes = alibiSlopes(model.heads);
    else if (positional == "shortformer") {
        model.positions = rowsOf(source.at("pos_embed.W_pos"));
        model.placesQueriesKeys = true;
    } else if (positional != "none")
        qFatal("the reference does not know positional_embedding_type %s", positional.c_str());
    model.rotaryBase = source.number("rotary_base", 10000);
    model.rotaryAdjacent = source.flag("rotary_adjacent_pairs");
    if (source.flag("use_NTK_by_parts_rope"))
        model.rope = llama3Rope(model.rotaryDim, model.rotaryBase, source.number("NTK_by_parts_factor", 8),
                                source.number("NTK_by_parts_low_freq_factor", 1),
                                source.number("NTK_by_parts_high_freq_factor", 4),
                                source.number("NTK_original_ctx_len", 8192));
    model.parallel = source.flag("parallel_attn_mlp");
    model.bidirectional = source.text("attention_dir", "causal") == "bidirectional";
    model.normsSums = source.text("norm_placement", "pre") != "pre";
    model.scoreCap = std::max(0.0, source.number("attn_scores_soft_cap", 0));
    model.logitCap = std::max(0.0, source.number("output_logits_soft_cap", 0));
    model.activation = source.text("act_fn", "relu");
    for (std::size_t layer = 0; layer < source.size("n_layers"); ++layer)
        model.blocks.push_back(readTransformerLensBlock(source, model, layer));
    model.lnFinal = {transformerLensKind(source, true), source.number("eps", 1e-5),
                     source.values("ln_final.w"), source.values("ln_final.b"),
                     source.flag("rmsnorm_uses_offset")};
    model.unembed = inOut(source.at("unembed.W_U"), source.values("unembed.b_U"));
    return model;
}

} // namespace headwise::test::reference
