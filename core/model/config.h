#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

enum class NormKind {
    None,
    LayerNorm, ///< (x − mean) / √(mean((x − mean)²) + eps) · w + b
    Rms,       ///< x / √(mean(x²) + eps) · w
};

enum class Positional { Learned, Rotary, Alibi, None, Other };

enum class Activation {
    Relu,
    Gelu,    ///< x Φ(x)
    GeluNew, ///< 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))
    Silu,
    SoluLn, ///< x softmax(x) over d_mlp, then a LayerNorm over d_mlp (mlp.ln)
};

/// Rotary position embedding of the first `dim` components of queries and keys.
/// Pair i has angle position · base^(−2i/dim).
struct Rotary {
    int dim = 0;
    double base = 10000;
    bool adjacentPairs = false; ///< Pairs (2i, 2i+1); otherwise (i, i + dim/2).

    bool operator==(const Rotary&) const = default;
};

/// What a model is, in our words: everything the forward pass and the circuits must know beside the weights.
///
/// No code after `loadModel` asks which family a model is of; a difference between families that changes the function
/// is a field here.
struct ModelConfig {
    std::string name;         ///< For people: model_name, else the folder's name.
    std::string architecture; ///< The row in the table of architectures: "gpt2", "llama", "transformer-lens".

    int nLayers = 0;
    int nHeads = 0;   ///< Query heads per layer.
    int nKvHeads = 0; ///< Key/value heads per layer; query head i reads ⌊i / (nHeads/nKvHeads)⌋.
    int dModel = 0;
    int dHead = 0;
    int dMlp = 0;      ///< 0 without MLPs.
    int dVocab = 0;    ///< Rows of W_E.
    int dVocabOut = 0; ///< Columns of W_U.
    int nCtx = 0;

    NormKind norm = NormKind::LayerNorm;      ///< ln1 and ln2.
    NormKind finalNorm = NormKind::LayerNorm; ///< ln_final; differs from `norm` with final_rms.
    bool normHasParameters = true;            ///< False for LNPre and RMSPre.
    bool rmsUsesOffset = false;               ///< RMSNorm multiplies by 1 + w (Gemma).
    double normEps = 1e-5;

    Positional positional = Positional::Learned;
    Rotary rotary;               ///< Meaningful when positional is Rotary.
    double attentionScale = 0;   ///< Factor of the scores, 1/√dHead unless the family says otherwise.
    double attentionSoftCap = 0; ///< cap · tanh(score/cap) before the mask; 0: none.
    double outputSoftCap = 0;    ///< The same on the logits; 0: none.

    bool attentionOnly = false;
    bool gatedMlp = false; ///< (act(x W_gate + b_gate) ⊙ (x W_in + b_up) + b_in) W_out + b_out
    bool parallelBlocks =
        false; ///< x + attention(ln1 x) + mlp(ln2 x); ln1 serves both where the layer has no ln2.
    Activation activation = Activation::GeluNew;

    /// What the config says of the biases b_Q, b_K, b_V, b_O and of those of the MLP; nothing: the file decides.
    std::optional<bool> attentionBiases, mlpBiases;

    bool tiedEmbeddings = false; ///< W_U is W_Eᵀ in the file.
    bool isFloat64 = false;      ///< The file's matrices are float64, and so is what `process` writes.
    std::optional<int> bosTokenId;

    bool operator==(const ModelConfig&) const = default;
};

std::string_view positionalName(Positional positional); ///< "learned", "rotary", "alibi", "none", "other".

/// "LN", "LNPre", "RMS", "RMSPre" or "none".
std::string_view normalizationName(const ModelConfig& config);

} // namespace headwise
