// The reference: everything in one file, plain loops, double, no core, no linear algebra library.
// Row vectors: y = x W + b.

#include "tests/support/reference_model.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>

namespace headwise::test {

using namespace reference;

namespace {

QByteArray readBytes(const std::filesystem::path& path)
{
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", path.c_str());
    return file.readAll();
}

QJsonObject readJson(const QByteArray& bytes)
{
    const QJsonDocument document = QJsonDocument::fromJson(bytes);
    if (!document.isObject())
        qFatal("not a JSON object");
    return document.object();
}

// --- stored numbers -------------------------------------------------------------------------------------------------

double fromHalf(std::uint16_t bits)
{
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    if (exponent == 0)
        return sign * std::ldexp(fraction, -24);
    if (exponent == 31)
        return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                             : sign * std::numeric_limits<double>::infinity();
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

template <typename T>
T load(const char* at)
{
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

double element(const QString& dtype, const char* data, std::size_t index)
{
    if (dtype == "F64")
        return load<double>(data + 8 * index);
    if (dtype == "F32")
        return static_cast<double>(load<float>(data + 4 * index));
    if (dtype == "F16")
        return fromHalf(load<std::uint16_t>(data + 2 * index));
    if (dtype == "BF16")
        return static_cast<double>(
            std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(data + 2 * index)) << 16));
    qFatal("the reference does not read dtype %s", qPrintable(dtype));
}

void readFile(const std::filesystem::path& path, Tensors& tensors)
{
    const QByteArray bytes = readBytes(path);
    const auto length = static_cast<qsizetype>(load<std::uint64_t>(bytes.constData()));
    const QJsonObject header = readJson(bytes.mid(8, length));
    for (const QString& name : header.keys()) {
        if (name == "__metadata__")
            continue;
        const QJsonObject entry = header[name].toObject();
        StoredTensor tensor;
        std::size_t count = 1;
        for (const QJsonValue& size : entry["shape"].toArray()) {
            tensor.shape.push_back(static_cast<std::size_t>(size.toInteger()));
            count *= tensor.shape.back();
        }
        const char* data = bytes.constData() + 8 + length + entry["data_offsets"].toArray()[0].toInteger();
        for (std::size_t i = 0; i < count; ++i)
            tensor.values.push_back(element(entry["dtype"].toString(), data, i));
        tensors[name.toStdString()] = std::move(tensor);
    }
}

} // namespace

namespace reference {

Rows rowsOf(const StoredTensor& tensor)
{
    const std::size_t width = tensor.shape[1];
    Rows rows;
    for (std::size_t i = 0; i < tensor.shape[0]; ++i)
        rows.emplace_back(tensor.values.begin() + static_cast<std::ptrdiff_t>(i * width),
                          tensor.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    return rows;
}

/// Columns [first, first + out) of a matrix stored [in, out].
Linear columns(const StoredTensor& weight, const Vector& bias, std::size_t first, std::size_t out)
{
    Linear linear{weight.shape[0], out, {}, {}};
    for (std::size_t a = 0; a < linear.in; ++a)
        for (std::size_t j = 0; j < out; ++j)
            linear.w.push_back(weight.values[a * weight.shape[1] + first + j]);
    for (std::size_t j = 0; j < out && !bias.empty(); ++j)
        linear.b.push_back(bias[first + j]);
    return linear;
}

Linear inOut(const StoredTensor& weight, const Vector& bias)
{
    return columns(weight, bias, 0, weight.shape[1]);
}

/// A matrix stored [out, in].
Linear outIn(const StoredTensor& weight, const Vector& bias)
{
    Linear linear{weight.shape[1], weight.shape[0], {}, bias};
    for (std::size_t a = 0; a < linear.in; ++a)
        for (std::size_t j = 0; j < linear.out; ++j)
            linear.w.push_back(weight.values[j * linear.in + a]);
    return linear;
}

Norm layerNorm(const Source& source, const std::string& name, double eps)
{
    return {NormKind::Layer, eps, source.at(name + ".weight").values, source.at(name + ".bias").values};
}

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

} // namespace reference

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

// --- the first three families ---------------------------------------------------------------------------------------------

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

void plant(Fault fault, Model& model)
{
    if (fault == Fault::WrongRotaryPairing)
        model.rotaryAdjacent = !model.rotaryAdjacent;
    if (fault == Fault::MissingOnePlusW)
        model.lnFinal.offset = false;
    for (Block& block : model.blocks) {
        if (fault == Fault::ScaleOne)
            block.scale = 1;
        if (fault == Fault::GateAndUpSwapped && block.gate)
            std::swap(*block.gate, block.up);
        if (fault == Fault::GateAndUpSwapped)
            for (Block::Expert& expert : block.experts)
                std::swap(expert.gate, expert.up);
        if (fault == Fault::MissingOnePlusW)
            for (Norm* norm :
                 {&block.ln1, &block.ln2, &block.ln1Post, &block.ln2Post, &block.qNorm, &block.kNorm})
                norm->offset = false;
        if (fault == Fault::TransposedProjection) {
            const Vector w = block.o.w;
            for (std::size_t a = 0; a < block.o.in; ++a)
                for (std::size_t j = 0; j < block.o.out; ++j)
                    block.o.w[a * block.o.out + j] = w[j * block.o.in + a];
        }
    }
}

// --- the arithmetic -------------------------------------------------------------------------------------------------

Vector linear(const Linear& linear, const Vector& x)
{
    Vector y = linear.b.empty() ? Vector(linear.out, 0.0) : linear.b;
    for (std::size_t a = 0; a < linear.in; ++a)
        for (std::size_t j = 0; j < linear.out; ++j)
            y[j] += x[a] * linear.w[a * linear.out + j];
    return y;
}

Vector activate(const std::string& name, Vector x)
{
    if (name.starts_with("solu")) {
        const double largest = *std::max_element(x.begin(), x.end());
        double sum = 0;
        for (const double value : x)
            sum += std::exp(value - largest);
        for (double& value : x)
            value *= std::exp(value - largest) / sum;
        return x;
    }
    for (double& v : x) {
        if (name == "relu")
            v = v > 0 ? v : 0;
        else if (name == "gelu")
            v = 0.5 * v * (1 + std::erf(v / std::numbers::sqrt2));
        else if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh")
            v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
        else if (name == "silu")
            v = v / (1 + std::exp(-v));
        else
            qFatal("the reference does not know activation %s", name.c_str());
    }
    return x;
}

void rotate(const Model& model, const Rope& rope, Vector& heads, std::size_t position)
{
    const std::size_t half = rope.frequencies.size();
    for (std::size_t first = 0; first < heads.size(); first += model.dHead)
        for (std::size_t i = 0; i < half; ++i) {
            const double angle = static_cast<double>(position) * rope.frequencies[i];
            double& x = heads[first + (model.rotaryAdjacent ? 2 * i : i)];
            double& y = heads[first + (model.rotaryAdjacent ? 2 * i + 1 : i + half)];
            const double turned = rope.length * (x * std::cos(angle) - y * std::sin(angle));
            y = rope.length * (y * std::cos(angle) + x * std::sin(angle));
            x = turned;
        }
}

/// Queries or keys normalised per head, or all of them together.
void normalizeHeads(const Model& model, const Block& block, const Norm& norm, Vector& heads)
{
    if (norm.kind == NormKind::None)
        return;
    if (block.normsAllHeads) {
        heads = normalize(norm, heads);
        return;
    }
    for (std::size_t first = 0; first < heads.size(); first += model.dHead) {
        Norm own = norm;
        if (norm.w.size() == heads.size() && heads.size() > model.dHead) // one weight for each head
            own.w.assign(norm.w.begin() + static_cast<std::ptrdiff_t>(first),
                         norm.w.begin() + static_cast<std::ptrdiff_t>(first + model.dHead));
        Vector one(heads.begin() + static_cast<std::ptrdiff_t>(first),
                   heads.begin() + static_cast<std::ptrdiff_t>(first + model.dHead));
        one = normalize(own, one);
        std::copy(one.begin(), one.end(), heads.begin() + static_cast<std::ptrdiff_t>(first));
    }
}

double capped(double value, double cap)
{
    return cap > 0 ? cap * std::tanh(value / cap) : value;
}

void cutOff(double limit, Vector& x)
{
    for (double& value : x)
        if (limit > 0)
            value = std::min(limit, std::max(-limit, value));
}

/// One row of a pattern: softmax over the keys 0 … query that the window shows (all without a causal mask), zero elsewhere.
Vector attentionRow(const Model& model, const Block& block, const Vector& q, const Rows& k, std::size_t head,
                    std::size_t kvHead, std::size_t query)
{
    Vector row(k.size(), 0.0);
    double largest = -std::numeric_limits<double>::infinity();
    const std::size_t start = block.window > 0 && query >= block.window ? query + 1 - block.window : 0;
    const std::size_t last = model.bidirectional ? k.size() - 1 : query;
    for (std::size_t key = start; key <= last; ++key) {
        double dot = 0;
        for (std::size_t j = 0; j < model.dHead; ++j)
            dot += q[head * model.dHead + j] * k[key][kvHead * model.dHead + j];
        row[key] = capped(dot * block.scale, model.scoreCap);
        if (!model.slopes.empty())
            row[key] += model.slopes[head] * static_cast<double>(key);
        largest = std::max(largest, row[key]);
    }
    double sum = 0;
    for (std::size_t key = start; key <= last; ++key)
        sum += row[key] = std::exp(row[key] - largest);
    for (std::size_t key = start; key <= last; ++key)
        row[key] /= sum;
    return row;
}

/// Softmax over all experts, those of the token kept and made to sum to one again.
Vector mixture(const Model& model, const Block& block, const Vector& x)
{
    const Vector scores = linear(block.router, x);
    double total = 0;
    for (const double score : scores)
        total += std::exp(score);
    Vector ordered = scores;
    std::sort(ordered.rbegin(), ordered.rend());
    const double least = ordered[block.expertsPerToken - 1];
    double kept = 0;
    for (const double score : scores)
        kept += score >= least ? std::exp(score) / total : 0;
    Vector out(block.experts[0].down.out, 0.0);
    for (std::size_t e = 0; e < scores.size(); ++e) {
        if (scores[e] < least)
            continue;
        const Block::Expert& expert = block.experts[e];
        Vector hidden = linear(expert.up, x);
        const Vector gate = activate(model.activation, linear(expert.gate, x));
        for (std::size_t f = 0; f < hidden.size(); ++f)
            hidden[f] *= gate[f];
        const Vector written = linear(expert.down, hidden);
        for (std::size_t a = 0; a < out.size(); ++a)
            out[a] += std::exp(scores[e]) / total / kept * written[a];
    }
    return out;
}

Vector mlp(const Model& model, const Block& block, const Vector& x)
{
    if (!block.experts.empty())
        return mixture(model, block, x);
    Vector hidden = linear(block.up, x);
    if (block.gate) {
        const Vector gate = activate(model.activation, linear(*block.gate, x));
        for (std::size_t f = 0; f < hidden.size(); ++f)
            hidden[f] *= gate[f];
    } else {
        hidden = activate(model.activation, hidden);
    }
    for (std::size_t f = 0; f < block.afterProduct.size(); ++f)
        hidden[f] += block.afterProduct[f];
    if (block.activationNorm)
        hidden = normalize(*block.activationNorm, hidden);
    return linear(block.down, hidden);
}

void add(Vector& x, const Vector& y)
{
    for (std::size_t a = 0; a < x.size(); ++a)
        x[a] += y[a];
}

/// The heads' mixtures of values side by side, [n, n_heads · d_head]; the patterns go to `run`.
Rows attend(const Model& model, const Block& block, const Rows& q, const Rows& k, const Rows& v, Fault fault,
            ReferenceRun& run)
{
    Rows mixed(q.size(), Vector(model.heads * model.dHead, 0.0));
    auto& patterns = run.patterns.emplace_back();
    for (std::size_t head = 0; head < model.heads; ++head) {
        const std::size_t kvHead =
            fault == Fault::TileInsteadOfRepeat ? head % model.kvHeads : head / (model.heads / model.kvHeads);
        auto& pattern = patterns.emplace_back();
        for (std::size_t query = 0; query < q.size(); ++query) {
            pattern.push_back(attentionRow(model, block, q[query], k, head, kvHead, query));
            for (std::size_t key = 0; key < k.size(); ++key)
                for (std::size_t j = 0; j < model.dHead; ++j)
                    mixed[query][head * model.dHead + j] +=
                        pattern[query][key] * v[key][kvHead * model.dHead + j];
        }
    }
    return mixed;
}

void runBlock(const Model& model, std::size_t layer, Rows& x, Fault fault, ReferenceRun& run)
{
    const Block& block = model.blocks[layer];
    const std::string prefix = std::to_string(layer) + ".";
    const Rope rope = block.rope ? *block.rope
        : model.rope             ? *model.rope
                                 : plainRope(model.rotaryDim, model.rotaryBase);
    Rows q;
    Rows k;
    Rows v;
    for (std::size_t p = 0; p < x.size(); ++p) {
        const Vector normed = normalize(block.ln1, x[p]);
        run.steps[prefix + "ln1"].push_back(normed);
        Vector placed = normed;
        if (model.placesQueriesKeys)
            add(placed, model.positions.at(p));
        q.push_back(linear(block.q, placed));
        k.push_back(linear(block.k, placed));
        v.push_back(linear(block.v, normed));
        for (Vector* each : {&q[p], &k[p], &v[p]})
            cutOff(block.limit, *each);
        normalizeHeads(model, block, block.qNorm, q[p]);
        normalizeHeads(model, block, block.kNorm, k[p]);
        rotate(model, rope, q[p], p);
        rotate(model, rope, k[p], p);
    }
    const Rows mixed = attend(model, block, q, k, v, fault, run);
    run.steps[prefix + "q"] = q;
    run.steps[prefix + "k"] = k;
    run.steps[prefix + "v"] = v;
    run.steps[prefix + "attention"] = mixed;
    for (std::size_t p = 0; p < x.size(); ++p) {
        const Vector before = x[p];
        const Vector attention = linear(block.o, mixed[p]);
        if (model.residualFromNorm)
            x[p] = run.steps[prefix + "ln1"][p];
        add(x[p], model.normsSums ? attention : normalize(block.ln1Post, attention));
        if (model.normsSums)
            x[p] = normalize(block.ln1Post, x[p]);
        run.steps[prefix + "attention_out"].push_back(attention);
        run.steps[prefix + "resid_mid"].push_back(x[p]);
        if (block.hasMlp) {
            const Vector normed = normalize(block.ln2, model.parallel ? before : x[p]);
            const Vector out = mlp(model, block, normed);
            if (model.residualFromNorm)
                x[p] = normed;
            add(x[p], model.normsSums ? out : normalize(block.ln2Post, out));
            if (model.normsSums)
                x[p] = normalize(block.ln2Post, x[p]);
            run.steps[prefix + "ln2"].push_back(normed);
            run.steps[prefix + "mlp_out"].push_back(out);
        }
        run.steps[prefix + "resid_post"].push_back(x[p]);
    }
}

ReferenceRun forward(const Model& model, const std::vector<int>& tokens, Fault fault)
{
    Rows x;
    for (std::size_t p = 0; p < tokens.size(); ++p) {
        x.push_back(model.embedding.at(static_cast<std::size_t>(tokens[p])));
        x[p] = normalize(model.embeddingNorm, x[p]);
        if (!model.positions.empty() && !model.placesQueriesKeys)
            add(x[p], model.positions.at(p));
        x[p] = normalize(model.placedNorm, x[p]);
    }
    ReferenceRun run;
    for (std::size_t layer = 0; layer < model.blocks.size(); ++layer)
        runBlock(model, layer, x, fault, run);
    for (const Vector& row : x) {
        const Vector last = model.transform ? activate(model.activation, linear(*model.transform, row)) : row;
        const Vector normed = normalize(model.lnFinal, last);
        run.steps["ln_final"].push_back(normed);
        Vector logits = linear(model.unembed, normed);
        for (double& logit : logits)
            logit = capped(logit, model.logitCap);
        run.logits.push_back(std::move(logits));
    }
    return run;
}

Model readModel(const std::filesystem::path& folder)
{
    const Source source{readJson(readBytes(folder / "config.json")), readStoredTensors(folder)};
    const std::string type = source.text("model_type");
    if (type == "gpt2")
        return readGpt2(source);
    if (type == "llama")
        return readLlama(source);
    if (type.empty() && source.config.contains("d_model"))
        return readTransformerLens(source);
    if (std::optional<Model> model = readFamily(source))
        return *std::move(model);
    qFatal("the reference does not know model_type %s", type.c_str());
}

} // namespace

std::map<std::string, StoredTensor> readStoredTensors(const std::filesystem::path& folder)
{
    Tensors tensors;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".safetensors")
            readFile(entry.path(), tensors);
    return tensors;
}

ReferenceRun referenceForward(const std::filesystem::path& folder, const std::vector<int>& tokens,
                              Fault fault)
{
    Model model = readModel(folder);
    plant(fault, model);
    return forward(model, tokens, fault);
}

ReferenceHead referenceHead(const std::filesystem::path& folder, std::size_t layer, std::size_t head)
{
    const Model model = readModel(folder);
    const Block& block = model.blocks.at(layer);
    const std::size_t kvHead = head / (model.heads / model.kvHeads);
    const auto part = [&](const Linear& linear, std::size_t index) {
        Rows rows(linear.in, Vector(model.dHead));
        for (std::size_t a = 0; a < linear.in; ++a)
            for (std::size_t j = 0; j < model.dHead; ++j)
                rows[a][j] = linear.w[a * linear.out + index * model.dHead + j];
        return rows;
    };
    ReferenceHead out{part(block.q, head), part(block.k, kvHead), part(block.v, kvHead), {}};
    for (std::size_t j = 0; j < model.dHead; ++j) {
        const auto row =
            block.o.w.begin() + static_cast<std::ptrdiff_t>((head * model.dHead + j) * block.o.out);
        out.W_O.emplace_back(row, row + static_cast<std::ptrdiff_t>(block.o.out));
    }
    return out;
}

std::vector<int> referenceGreedy(const std::filesystem::path& folder, std::vector<int> tokens, int count)
{
    const Model model = readModel(folder);
    for (int i = 0; i < count; ++i) {
        const Vector last = forward(model, tokens, Fault::None).logits.back();
        tokens.push_back(static_cast<int>(std::max_element(last.begin(), last.end()) - last.begin()));
    }
    return tokens;
}

} // namespace headwise::test
