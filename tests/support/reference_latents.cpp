// The reference's reading of latent attention and grouped experts: DeepSeek-V2 and V3.

#include "tests/support/reference_model.h"

#include <algorithm>
#include <cmath>

namespace headwise::test::reference {

Vector normalize(const Norm& norm, Vector x)
{
    if (norm.kind == NormKind::None)
        return x;
    const auto count = static_cast<double>(x.size());
    double mean = 0;
    for (const double value : x)
        mean += value / count;
    if (norm.kind == NormKind::Layer)
        for (double& value : x)
            value -= mean;
    double square = 0;
    for (const double value : x)
        square += value * value / count;
    for (std::size_t a = 0; a < x.size(); ++a) {
        x[a] /= std::sqrt(square + norm.eps);
        if (!norm.w.empty())
            x[a] *= norm.offset ? 1 + norm.w[a] : norm.w[a];
        if (!norm.b.empty())
            x[a] += norm.b[a];
    }
    return x;
}

Vector linear(const Linear& linear, const Vector& x)
{
    Vector y = linear.b.empty() ? Vector(linear.out, 0.0) : linear.b;
    for (std::size_t a = 0; a < linear.in; ++a)
        for (std::size_t j = 0; j < linear.out; ++j)
            y[j] += x[a] * linear.w[a * linear.out + j];
    return y;
}

namespace {

/// The numbers of the largest `count` values; ties to the first.
std::vector<std::size_t> largest(const Vector& values, std::size_t count)
{
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::size_t before = 0;
        for (std::size_t j = 0; j < values.size(); ++j)
            before += values[j] > values[i] || (values[j] == values[i] && j < i) ? 1 : 0;
        if (before < count)
            out.push_back(i);
    }
    return out;
}

/// The token's experts. A group's score is that of its best expert, or with a correction the sum of its two best.
std::vector<std::size_t> chosen(const Block& block, Vector scores)
{
    for (std::size_t e = 0; e < block.correction.size(); ++e)
        scores[e] += block.correction[e];
    const std::size_t size = scores.size() / block.groups;
    Vector groups;
    for (auto first = scores.begin(); first != scores.end(); first += static_cast<std::ptrdiff_t>(size)) {
        Vector own(first, first + static_cast<std::ptrdiff_t>(size));
        std::sort(own.rbegin(), own.rend());
        groups.push_back(block.correction.empty() || size == 1 ? own[0] : own[0] + own[1]);
    }
    const std::vector<std::size_t> kept = largest(groups, block.groupsPerToken);
    for (std::size_t e = 0; e < scores.size(); ++e)
        if (std::find(kept.begin(), kept.end(), e / size) == kept.end())
            scores[e] = -INFINITY;
    return largest(scores, block.expertsPerToken);
}

} // namespace

Vector expertShares(const Block& block, const Vector& x)
{
    Vector scores = linear(block.router, x);
    double total = 0;
    for (const double score : scores)
        total += std::exp(score);
    for (double& score : scores)
        score = block.correction.empty() ? std::exp(score) / total : 1 / (1 + std::exp(-score));
    Vector shares(scores.size(), 0.0);
    double kept = 0;
    const std::vector<std::size_t> experts = chosen(block, scores);
    for (const std::size_t e : experts)
        kept += scores[e];
    for (const std::size_t e : experts)
        shares[e] = block.expertFactor * scores[e] / (block.keepsShares ? 1 : kept);
    return shares;
}

QueryKeyValue throughLatents(const Model& model, const Latents& latents, const Vector& x)
{
    const std::size_t n = model.heads, h = model.dHead, rotated = latents.rotated, plain = h - rotated;
    QueryKeyValue out;
    out.q = linear(latents.queryHeads,
                   latents.toQueries ? normalize(latents.queryNorm, linear(*latents.toQueries, x)) : x);
    const Vector both = linear(latents.toKeys, x);
    const auto split = both.end() - static_cast<std::ptrdiff_t>(rotated);
    const Vector up = linear(latents.heads, normalize(latents.keyNorm, Vector(both.begin(), split)));
    for (std::size_t head = 0; head < n; ++head) {
        const auto first = up.begin() + static_cast<std::ptrdiff_t>(head * (plain + latents.value));
        const auto values = first + static_cast<std::ptrdiff_t>(plain);
        out.k.insert(out.k.end(), first, values);
        out.k.insert(out.k.end(), split, both.end());
        out.v.insert(out.v.end(), values, values + static_cast<std::ptrdiff_t>(latents.value));
        out.v.resize((head + 1) * h, 0.0);
    }
    return out;
}

namespace {

/// a, the factors of a norm, then b.
Linear product(const Linear& a, const Vector& gain, const Linear& b)
{
    Linear out{a.in, b.out, Vector(a.in * b.out, 0.0), {}};
    for (std::size_t i = 0; i < a.in; ++i)
        for (std::size_t c = 0; c < b.in; ++c)
            for (std::size_t j = 0; j < b.out; ++j)
                out.w[i * b.out + j] += a.w[i * a.out + c] * gain[c] * b.w[c * b.out + j];
    return out;
}

/// Columns of `from` that `place` gives for a head's component; zeros where it gives none.
template <typename Place>
Linear picked(const Linear& from, const Model& model, Place place)
{
    Linear out{from.in, model.heads * model.dHead, Vector(from.in * model.heads * model.dHead, 0.0), {}};
    for (std::size_t i = 0; i < out.in; ++i)
        for (std::size_t j = 0; j < out.out; ++j)
            if (const std::optional<std::size_t> column = place(j / model.dHead, j % model.dHead))
                out.w[i * out.out + j] = from.w[i * from.out + *column];
    return out;
}

/// q, k and v as if the norms' divisors were 1.
void multiply(const Model& model, Block& block)
{
    const Latents& l = *block.latents;
    const std::size_t plain = model.dHead - l.rotated, latent = l.heads.in, perHead = plain + l.value;
    block.q = l.toQueries ? product(*l.toQueries, l.queryNorm.w, l.queryHeads) : l.queryHeads;
    const Linear up = product(l.toKeys, l.keyNorm.w, l.heads);
    using Column = std::optional<std::size_t>;
    block.k = picked(up, model, [&](std::size_t head, std::size_t j) {
        return j < plain ? Column(head * perHead + j) : Column();
    });
    const Linear rotated = picked(l.toKeys, model, [&](std::size_t, std::size_t j) {
        return j < plain ? Column() : Column(latent + j - plain);
    });
    for (std::size_t i = 0; i < block.k.w.size(); ++i)
        block.k.w[i] += rotated.w[i];
    block.v = picked(up, model, [&](std::size_t head, std::size_t j) {
        return j < l.value ? Column(head * perHead + plain + j) : Column();
    });
}

Norm rms(const Source& source, const std::string& name, double eps)
{
    return {NormKind::Rms, eps, source.at(name + ".weight").values, {}};
}

void readAttention(const Source& source, const Layer& layer, const Model& model, Block& block)
{
    const std::string stem = layer.prefix + "self_attn.";
    constexpr double eps = 1e-6; // of these norms, whatever rms_norm_eps is
    Latents& l = block.latents.emplace();
    l.rotated = source.size("qk_rope_head_dim");
    l.value = source.size("v_head_dim");
    const bool hasQueries = source.has(stem + "q_a_proj.weight");
    if (hasQueries) {
        l.toQueries = layer.linear("self_attn.q_a_proj");
        l.queryNorm = rms(source, stem + "q_a_layernorm", eps);
    }
    l.queryHeads = layer.linear(hasQueries ? "self_attn.q_b_proj" : "self_attn.q_proj");
    l.toKeys = layer.linear("self_attn.kv_a_proj_with_mqa");
    l.keyNorm = rms(source, stem + "kv_a_layernorm", eps);
    l.heads = layer.linear("self_attn.kv_b_proj");
    multiply(model, block);
    // Values are narrower than d_head: the rows that would read their zeros are 0.
    const Linear o = layer.linear("self_attn.o_proj");
    block.o = {model.heads * model.dHead, o.out, Vector(model.heads * model.dHead * o.out, 0.0), {}};
    for (std::size_t row = 0; row < o.in; ++row)
        for (std::size_t j = 0; j < o.out; ++j)
            block.o.w[(row / l.value * model.dHead + row % l.value) * o.out + j] = o.w[row * o.out + j];
}

void readMlp(const Source& source, const Layer& layer, bool isMixture, Block& block)
{
    const std::string common = isMixture ? "mlp.shared_experts." : "mlp.";
    block.gate = layer.linear(common + "gate_proj");
    block.up = layer.linear(common + "up_proj");
    block.down = layer.linear(common + "down_proj");
    if (!isMixture)
        return;
    block.router = layer.linear("mlp.gate");
    block.expertsPerToken = source.size("num_experts_per_tok");
    block.keepsShares = !source.flag("norm_topk_prob");
    block.expertFactor = source.number("routed_scaling_factor", 1);
    block.correction = source.values(layer.prefix + "mlp.gate.e_score_correction_bias");
    if (source.text("topk_method") != "greedy") {
        block.groups = source.size("n_group");
        block.groupsPerToken = source.size("topk_group");
    }
    for (std::size_t e = 0; e < source.size("n_routed_experts"); ++e) {
        const std::string one = "mlp.experts." + std::to_string(e) + ".";
        block.experts.push_back({layer.linear(one + "gate_proj"), layer.linear(one + "up_proj"),
                                 layer.linear(one + "down_proj")});
    }
}

} // namespace

Model readDeepSeek(const Source& source)
{
    const double eps = source.number("rms_norm_eps", 1e-6);
    Model model;
    model.heads = model.kvHeads = source.size("num_attention_heads");
    model.rotaryFirst = source.size("qk_nope_head_dim");
    model.rotaryDim = source.size("qk_rope_head_dim");
    model.dHead = model.rotaryFirst + model.rotaryDim;
    model.rotaryBase = source.number("rope_theta", 10000);
    model.rotaryAdjacent = source.flag("rope_interleave", true);
    model.activation = source.text("hidden_act", "silu");
    const QJsonObject yarn = source.config["rope_scaling"].toObject();
    double scale = rootScale(model);
    if (!yarn.isEmpty()) {
        const double factor = yarn["factor"].toDouble();
        const auto length = [&](const char* key) {
            return 0.1 * yarn[QLatin1String(key)].toDouble() * std::log(factor) + 1;
        };
        model.rope = yarnRope(model, factor, yarn["original_max_position_embeddings"].toDouble(),
                              length("mscale") / length("mscale_all_dim"));
        scale *= length("mscale_all_dim") * length("mscale_all_dim");
    }
    model.embedding = rowsOf(source.at("model.embed_tokens.weight"));
    model.lnFinal = rms(source, "model.norm", eps);
    model.unembed = outIn(source.at("lm_head.weight"), {});
    for (std::size_t i = 0; i < source.size("num_hidden_layers"); ++i) {
        const Layer layer{source, "model.layers." + std::to_string(i) + "."};
        Block block;
        block.ln1 = rms(source, layer.prefix + "input_layernorm", eps);
        block.ln2 = rms(source, layer.prefix + "post_attention_layernorm", eps);
        block.scale = scale;
        readAttention(source, layer, model, block);
        readMlp(source, layer, i >= source.size("first_k_dense_replace"), block);
        model.blocks.push_back(block);
    }
    return model;
}

} // namespace headwise::test::reference
