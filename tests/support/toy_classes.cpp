#include "tests/support/toy_classes.h"

namespace headwise::test {

std::vector<std::pair<const char*, ToyOptions>> toyClasses()
{
    std::vector<std::pair<const char*, ToyOptions>> classes;
    const auto add = [&](const char* name, ToyOptions base, auto change) {
        change(base);
        classes.emplace_back(name, base);
    };
    const ToyOptions plain; // TransformerLens, LN, learned positions, every bias
    ToyOptions rms;
    rms.normalization = "RMS";
    rms.positional = "rotary";
    rms.activation = "silu";
    rms.gatedMlp = true;
    rms.dHead = 4;
    rms.qkvBias = rms.outBias = rms.mlpBias = rms.unembedBias = false;

    // The letters name the classes in which other tools are known to fail.
    add("a: LN, every bias", plain, [](ToyOptions&) {});
    add("b: attention only", plain, [](ToyOptions& o) { o.attnOnly = true; });
    add("c: RMS, grouped, gated, no biases", rms, [](ToyOptions& o) { o.nHeads = 6, o.nKvHeads = 2; });
    add("d: no b_U", plain, [](ToyOptions& o) { o.unembedBias = false; });
    add("e: no q/k/v biases", plain, [](ToyOptions& o) { o.qkvBias = false; });
    add("f: d_mlp = d_model", plain, [](ToyOptions& o) { o.dMlp = o.dModel; });
    add("g: d_vocab = d_model", plain, [](ToyOptions& o) { o.dVocab = o.dModel; });
    add("h: GPT-2, tied", gpt2Options(), [](ToyOptions& o) { o.tied = true; });
    add("i: soft caps, RMS with 1 + w", rms, [](ToyOptions& o) {
        o.normOffset = true;
        o.scoreSoftCap = 2;
        o.logitSoftCap = 3;
    });
    add("j: grouped, q/k/v biases, no b_O", rms, [](ToyOptions& o) {
        o.nHeads = 6, o.nKvHeads = 2;
        o.qkvBias = true;
    });
    add("k: LN, grouped, learned positions", plain, [](ToyOptions& o) { o.nHeads = 6, o.nKvHeads = 2; });
    add("l: parallel, shared norm, rotary, no q/k/v biases", plain, [](ToyOptions& o) {
        o.parallel = o.sharedNorm = true;
        o.positional = "rotary";
        o.rotaryAdjacent = true;
        o.rotaryDim = 2;
        o.qkvBias = false;
    });
    add("m: LN, gated", plain, [](ToyOptions& o) { o.gatedMlp = true; });
    add("final_rms", plain, [](ToyOptions& o) { o.finalRms = true; });

    add("GPT-2", gpt2Options(), [](ToyOptions&) {});
    add("Llama", llamaOptions(), [](ToyOptions&) {});
    add("Llama, tied, biases", llamaOptions(), [](ToyOptions& o) { o.tied = o.qkvBias = o.mlpBias = true; });
    add("LNPre", plain, [](ToyOptions& o) { o.normalization = "LNPre"; });
    add("RMSPre", rms, [](ToyOptions& o) { o.normalization = "RMSPre"; });
    add("no norms", plain, [](ToyOptions& o) { o.normalization.reset(); });
    add("no positions", plain, [](ToyOptions& o) { o.positional = "none"; });
    add("rotary, half-split, part of the head", plain, [](ToyOptions& o) {
        o.positional = "rotary";
        o.rotaryDim = 4;
        o.rotaryBase = 523;
    });
    add("rotary, adjacent", plain, [](ToyOptions& o) {
        o.positional = "rotary";
        o.rotaryAdjacent = true;
        o.dHead = 6;
    });
    add("parallel, two norms", plain, [](ToyOptions& o) { o.parallel = true; });
    add("gated, biases inside the product", plain, [](ToyOptions& o) { o.gatedMlp = o.gateBias = true; });
    add("solu_ln", plain, [](ToyOptions& o) { o.activation = "solu_ln"; });
    add("solu_ln, LNPre", plain, [](ToyOptions& o) {
        o.activation = "solu_ln";
        o.normalization = "LNPre";
    });
    add("relu", plain, [](ToyOptions& o) { o.activation = "relu"; });
    add("gelu", plain, [](ToyOptions& o) { o.activation = "gelu"; });
    add("silu", plain, [](ToyOptions& o) { o.activation = "silu"; });
    add("attn_scale", plain, [](ToyOptions& o) { o.attnScale = 1.5; });
    add("score soft cap", plain, [](ToyOptions& o) { o.scoreSoftCap = 1; });
    add("no biases", plain, [](ToyOptions& o) { o.qkvBias = o.outBias = o.mlpBias = o.unembedBias = false; });
    add("d_head > d_model", plain, [](ToyOptions& o) { o.dHead = 13; });
    add("float64", plain, [](ToyOptions& o) { o.float64 = true; });
    return classes;
}

} // namespace headwise::test
