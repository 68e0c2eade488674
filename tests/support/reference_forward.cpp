// The reference: plain loops, double, no core, no linear algebra library. Row vectors: y = x W + b.

#include "tests/support/reference_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace headwise::test {

using namespace reference;

namespace {

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
        else if (name == "relu2")
            v = v > 0 ? v * v : 0;
        else if (name == "gelu")
            v = 0.5 * v * (1 + std::erf(v / std::numbers::sqrt2));
        else if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh")
            v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
        else if (name == "quick_gelu")
            v = v / (1 + std::exp(-1.702 * v));
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
            const std::size_t start = first + model.rotaryFirst;
            double& x = heads[start + (model.rotaryAdjacent ? 2 * i : i)];
            double& y = heads[start + (model.rotaryAdjacent ? 2 * i + 1 : i + half)];
            const double turned = rope.length * (x * std::cos(angle) - y * std::sin(angle));
            y = rope.length * (y * std::cos(angle) + x * std::sin(angle));
            x = turned;
        }
}

/// Normalises queries or keys per head, or all heads together.
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

/// Returns the row of T5's table, whose borders are compared as whole powers: after the distances with a row of their own,
/// row `own` + k begins where (distance/own)^further = (farthest/own)^k.
std::size_t biasRow(const Model& model, std::size_t query, std::size_t key)
{
    const bool isLater = key > query;
    const std::size_t distance = isLater ? key - query : query - key;
    const std::size_t side = model.distanceBias.size() / (model.bidirectional ? 2 : 1);
    const std::size_t first = isLater && model.bidirectional ? side : 0;
    const std::size_t own = side / 2, further = side - own;
    if (distance < own)
        return first + distance;
    const auto power = [](std::size_t base, std::size_t exponent) {
        double product = 1;
        for (std::size_t i = 0; i < exponent; ++i)
            product *= static_cast<double>(base);
        return product;
    };
    std::size_t k = 0;
    while (k + 1 < further
           && power(distance, further) * power(own, k + 1)
               >= power(model.farthest, k + 1) * power(own, further))
        ++k;
    return first + own + k;
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
        if (!model.distanceBias.empty())
            row[key] += model.distanceBias[biasRow(model, query, key)][head];
        largest = std::max(largest, row[key]);
    }
    double sum = block.sinks.empty() ? 0 : std::exp(block.sinks[head] - largest);
    for (std::size_t key = start; key <= last; ++key)
        sum += row[key] = std::exp(row[key] - largest);
    for (std::size_t key = start; key <= last; ++key)
        row[key] /= sum;
    return row;
}

/// The sum of the token's experts' outputs.
Vector mixture(const Model& model, const Block& block, const Vector& x)
{
    const Vector shares = expertShares(block, x);
    Vector out(block.experts[0].down.out, 0.0);
    for (std::size_t e = 0; e < shares.size(); ++e) {
        if (shares[e] == 0)
            continue;
        const Block::Expert& expert = block.experts[e];
        Vector hidden = linear(expert.up, x), gate = linear(expert.gate, x);
        for (std::size_t f = 0; f < hidden.size() && block.clamp > 0; ++f) {
            gate[f] = std::min(gate[f], block.clamp);
            hidden[f] = std::min(block.clamp, std::max(-block.clamp, hidden[f])) + 1;
        }
        gate = activate(model.activation, gate);
        for (std::size_t f = 0; f < hidden.size(); ++f)
            hidden[f] *= gate[f];
        const Vector written = linear(expert.down, hidden);
        for (std::size_t a = 0; a < out.size(); ++a)
            out[a] += shares[e] * written[a];
    }
    return out;
}

void add(Vector& x, const Vector& y)
{
    for (std::size_t a = 0; a < x.size(); ++a)
        x[a] += y[a];
}

/// The MLP that serves every token, and a token's own experts beside it where there are some.
Vector mlp(const Model& model, const Block& block, const Vector& x)
{
    if (block.up.out == 0)
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
    Vector out = linear(block.down, hidden);
    if (!block.experts.empty())
        add(out, mixture(model, block, x));
    return out;
}

Vector scaled(double factor, Vector x)
{
    for (double& value : x)
        value *= factor;
    return x;
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
        QueryKeyValue heads = block.latents
            ? throughLatents(model, *block.latents, normed)
            : QueryKeyValue{linear(block.q, placed), linear(block.k, placed), linear(block.v, normed)};
        q.push_back(std::move(heads.q));
        k.push_back(std::move(heads.k));
        v.push_back(std::move(heads.v));
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
        const Vector attention = scaled(block.branch, linear(block.o, mixed[p]));
        if (model.residualFromNorm)
            x[p] = run.steps[prefix + "ln1"][p];
        add(x[p], model.normsSums ? attention : normalize(block.ln1Post, attention));
        if (model.normsSums)
            x[p] = normalize(block.ln1Post, x[p]);
        run.steps[prefix + "attention_out"].push_back(attention);
        run.steps[prefix + "resid_mid"].push_back(x[p]);
        if (block.hasMlp) {
            const Vector normed = normalize(block.ln2, model.parallel ? before : x[p]);
            const Vector out = scaled(block.branch, mlp(model, block, normed));
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
        if (model.entry)
            x[p] = linear(*model.entry, x[p]);
    }
    ReferenceRun run;
    for (std::size_t layer = 0; layer < model.blocks.size(); ++layer)
        runBlock(model, layer, x, fault, run);
    for (const Vector& row : x) {
        const Vector before = normalize(model.beforeTransform, row);
        const Vector last =
            model.transform ? activate(model.activation, linear(*model.transform, before)) : before;
        const Vector normed = normalize(model.lnFinal, last);
        run.steps["ln_final"].push_back(normed);
        Vector logits = linear(model.unembed, normed);
        for (double& logit : logits)
            logit = capped(logit * model.logitFactor, model.logitCap);
        run.logits.push_back(std::move(logits));
    }
    return run;
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

Model readModel(const std::filesystem::path& folder)
{
    const Source source = sourceIn(folder);
    const std::string type = source.text("model_type");
    if (type.empty() && source.config.contains("d_model"))
        return readTransformerLens(source);
    if (std::optional<Model> model = readFamily(source))
        return *std::move(model);
    qFatal("the reference does not know model_type %s", type.c_str());
}

} // namespace

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
        out.W_O.push_back(scaled(block.branch, Vector(row, row + static_cast<std::ptrdiff_t>(block.o.out))));
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
