#include "core/model/families/family_config.h"

namespace headwise {

namespace {

using enum TensorKind;

} // namespace

std::string gpt2Obstacle(const RecipeBook& book, const std::string& prefix)
{
    // nanoGPT uses the same names for nn.Linear weights, which are the transposes: only c_attn is not square.
    const std::string name = prefix + "h.0.attn.c_attn.weight";
    const Eigen::Index m = book.config().dModel;
    if (book.shapeOf(name) != std::vector<Eigen::Index>{3 * m, m})
        return {};
    return "Tensor '" + name
        + "' is stored as [3·d_model, d_model], as nanoGPT does, and not as Hugging Face's GPT-2, [d_model, 3·d_model]; if this is a nanoGPT, say so with --set model_type=nanogpt.";
}

std::string phiObstacle(const RecipeBook& book, const std::string& /*prefix*/)
{
    if (!book.isStored("transformer.h.0.mixer.Wqkv.weight"))
        return {};
    return "'" + book.path().string()
        + "' has the tensor names of the first Phi-2 upload (mixer.Wqkv); fetch the model again in the layout of PhiForCausalLM.";
}

/// The matrices between stored embeddings and a wider residual stream (OPT-350m).
void addOptProjections(RecipeBook& book, const std::string& prefix)
{
    const Eigen::Index m = book.config().dModel, e = book.config().dEmbed;
    if (e == 0)
        return;
    const std::string in = prefix + "project_in.weight", out = prefix + "project_out.weight";
    if (book.require(in, {m, e}))
        book.add(W_Eproj, 0, 0, in, layout::transposed(e, m));
    if (book.require(out, {e, m}))
        book.add(W_Uproj, 0, 0, out, layout::transposed(m, e));
}

void addMinGptPositions(RecipeBook& book, const std::string& /*prefix*/)
{
    const Eigen::Index n = book.config().nCtx, m = book.config().dModel;
    if (book.require("pos_emb", {1, n, m}))
        book.add(W_pos, 0, 0, "pos_emb", layout::plain(n, m));
}

namespace {

/// One expert out of matrices that hold all of them: gate_up_proj [E, 2f, m] and down_proj [E, m, f].
void addFusedExperts(RecipeBook& book, const std::string& experts, int layer)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    const std::string gateUp = experts + "gate_up_proj", down = experts + "down_proj";
    const bool hasGateUp = book.require(gateUp, {c.nExperts, 2 * f, m});
    const bool hasDown = book.require(down, {c.nExperts, m, f});
    for (int expert = 0; expert < c.nExperts; ++expert) {
        if (hasGateUp) {
            const Eigen::Index first = 2 * f * m * expert;
            book.add(W_gate, layer, expert, gateUp, {first, m, f, 1, m});
            book.add(W_in, layer, expert, gateUp, {first + f * m, m, f, 1, m});
        }
        if (hasDown)
            book.add(W_out, layer, expert, down, {expert * m * f, f, m, 1, f});
    }
}

/// \param moe before "gate.weight" and "experts."
/// \param names of W_gate, W_in and W_out of an expert
void addExperts(RecipeBook& book, const std::string& moe, const Names& names, int layer)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    const std::string router = moe + "gate.weight";
    if (book.require(router, {c.nExperts, m}))
        book.add(W_router, layer, 0, router, layout::transposed(m, c.nExperts));
    if (book.isStored(moe + "experts.gate_up_proj"))
        return addFusedExperts(book, moe + "experts.", layer);
    for (int expert = 0; expert < c.nExperts; ++expert) {
        const std::string one = moe + "experts." + std::to_string(expert) + ".";
        const auto add = [&](std::string_view name, TensorKind kind, Eigen::Index in, Eigen::Index out) {
            const std::string whole = one + std::string(name) + ".weight";
            if (book.require(whole, {out, in}))
                book.add(kind, layer, expert, whole, layout::transposed(in, out));
        };
        add(names[0], W_gate, m, f);
        add(names[1], W_in, m, f);
        add(names[2], W_out, f, m);
    }
}

} // namespace

void addMixtralExperts(RecipeBook& book, const std::string& block, int layer)
{
    // Files saved by newer versions have the second name, and may have all experts in one tensor.
    const std::string moe = block + (book.isStored(block + "mlp.gate.weight") ? "mlp." : "block_sparse_moe.");
    addExperts(book, moe, {"w1", "w3", "w2"}, layer);
}

void addQwenExperts(RecipeBook& book, const std::string& block, int layer)
{
    addExperts(book, block + "mlp.", {"gate_proj", "up_proj", "down_proj"}, layer);
}

void addSinks(RecipeBook& book, const std::string& prefix)
{
    const int heads = book.config().nHeads;
    for (int layer = 0; layer < book.config().nLayers; ++layer) {
        const std::string name = prefix + "layers." + std::to_string(layer) + ".self_attn.sinks";
        if (!book.require(name, {heads}))
            continue;
        for (int head = 0; head < heads; ++head)
            book.add(sink_logit, layer, head, name, layout::part(head, 1));
    }
}

/// All experts in one tensor, [E, m, 2f] and [E, f, m]: the outputs of gate and up alternate.
void addGptOssExperts(RecipeBook& book, const std::string& block, int layer)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp, experts = c.nExperts;
    const std::string gateUp = block + "mlp.experts.gate_up_proj", down = block + "mlp.experts.down_proj";
    addLinear(book, block + "mlp.router", {experts, m, StoredBias::Present}, {W_router, b_router, layer});
    const bool hasGateUp = book.require(gateUp, {experts, m, 2 * f});
    const bool hasGateUpBias = book.require(gateUp + "_bias", {experts, 2 * f});
    const bool hasDown = book.require(down, {experts, f, m});
    const bool hasDownBias = book.require(down + "_bias", {experts, m});
    for (int expert = 0; expert < c.nExperts; ++expert) {
        for (const Eigen::Index place : {0, 1}) {
            const TensorKind weight = place == 0 ? W_gate : W_in, bias = place == 0 ? b_gate : b_up;
            if (hasGateUp)
                book.add(weight, layer, expert, gateUp, {2 * f * m * expert + place, m, f, 2 * f, 2});
            if (hasGateUpBias)
                book.add(bias, layer, expert, gateUp + "_bias", {2 * f * expert + place, 1, f, 2 * f, 2});
        }
        if (hasDown)
            book.add(W_out, layer, expert, down, layout::stacked(expert, f, m));
        if (hasDownBias)
            book.add(b_out, layer, expert, down + "_bias", layout::part(m * expert, m));
    }
}

} // namespace headwise
