#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

enum class NormKind {
    None,
    LayerNorm, ///< (x − mean) / √(mean((x − mean)²) + eps) · w + b
    Rms,       ///< x / √(mean(x²) + eps) · w
};

/// The pairs of matrices that a transformer without skip connections and normalisation can do without.
/// P is the output projection W_O.
enum class MergePair { QP, KP, VP };

enum class Positional {
    Learned,
    Rotary,
    Alibi,
    Relative, ///< A learned bias of the scores by distance (T5).
    None,
    Other,
};

enum class Activation {
    Relu,
    Gelu,      ///< x Φ(x)
    GeluNew,   ///< 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))
    QuickGelu, ///< x σ(1.702 x)
    Silu,
    SoluLn,      ///< x softmax(x) over d_mlp, then a LayerNorm over d_mlp (mlp.ln)
    ReluSquared, ///< max(x, 0)²
};

/// How the rotary frequencies differ from base^(−2i/dim): stretched for contexts longer than those of training.
struct RotaryScaling {
    enum class Kind {
        None,
        Linear, ///< all divided by `factor`
        Llama3, ///< those of wavelengths beyond originalContext/lowFactor divided by `factor`, a ramp between
        Yarn, ///< divided by `factor` from the pair that turns betaSlow times in originalContext, a ramp between
        Divisors, ///< pair i divided by divisors[i] (longrope)
    };
    Kind kind = Kind::None;
    bool wholePairs = true; ///< Yarn: the ramp begins and ends at whole pairs.
    double factor = 1;
    double lowFactor = 1, highFactor = 4; ///< Llama3
    double betaFast = 32, betaSlow = 1;   ///< Yarn
    double originalContext = 0;           ///< Llama3, Yarn
    std::vector<double> divisors;         ///< [dim/2]
    double attentionFactor = 1;           ///< Factor of cosine and sine.

    bool operator==(const RotaryScaling&) const = default;
};

/// Rotary position embedding of the first `dim` components of queries and keys.
/// Pair i has angle position · base^(−2i/dim), unless it is scaled.
struct Rotary {
    int dim = 0;
    double base = 10000;
    bool adjacentPairs = false; ///< Pairs (2i, 2i+1); otherwise (i, i + dim/2).
    RotaryScaling scaling = {};

    bool operator==(const Rotary&) const = default;
};

/// Returns the frequencies, [dim/2], in radians per position.
/// Source: for llama3 and yarn, the functions of these names in Hugging Face's modeling_rope_utils.
std::vector<double> rotaryFrequencies(const Rotary& rotary);

/// Returns the ALiBi slopes, [heads]: the loss of a score per position between query and key.
/// Source: Press, Smith, Lewis, "Train short, test long", section 3 and the authors' rule for other head counts.
std::vector<double> alibiSlopes(int heads);

/// Learned bias of the scores by distance, the same in all layers (T5). Distances share buckets, the rows of b_rel.
struct RelativeBias {
    int buckets = 0;       ///< 0: there is none. Without a causal mask, half of them are those of later keys.
    int maxDistance = 128; ///< The last bucket has all distances from here on.

    bool operator==(const RelativeBias&) const = default;
};

/// Returns the row of b_rel for a key `offset` positions before its query, behind it if negative.
/// Source: _relative_position_bucket in Hugging Face's modeling_t5.py.
int relativeBucket(const RelativeBias& bias, bool bidirectional, int offset);

/// Widths of the latents that queries, keys and values come from.
struct LatentWidths {
    int queries = 0; ///< 0: queries read the residual stream.
    int keys = 0;    ///< Shared by the keys and values of all heads.
    int values = 0;  ///< Components of a head's values, d_head at most.

    bool operator==(const LatentWidths&) const = default;
};

/// How a mixture chooses and weighs the experts of a token, and the MLPs beside them.
struct Mixture {
    /// Scores are sigmoids of the router's outputs, and a stored correction is added for the choice (DeepSeek-V3).
    /// Otherwise they are the softmax over all experts.
    bool hasSigmoids = false;
    double factor = 1;                  ///< Factor of the shares.
    int groups = 1, groupsPerToken = 1; ///< Equal groups of experts; a token's experts are in its best ones.
    int groupVotes = 1;  ///< The score of a group is the sum of that many best scores of its experts.
    int denseLayers = 0; ///< The first layers have one MLP instead.
    int denseWidth = 0;  ///< The width of that MLP.
    int sharedWidth = 0; ///< The width of an MLP beside the experts that serves every token; 0: none.

    bool operator==(const Mixture&) const = default;
};

/// A field of the config that no weight shows. Many answers do without it.
enum class ConfigField { Activation, Context, NormEps, Positions, RotaryBase };

/// A field whose value no file states.
struct UnknownField {
    ConfigField field = ConfigField::Activation;
    std::string key; ///< The config key that states it, in the family's spelling: "act_fn".

    bool operator==(const UnknownField&) const = default;
};

/// Configuration of a model in our own terms: everything the forward pass and the circuits need besides the weights.
///
/// No code after `loadModel` asks which family a model is of; a difference between families that changes the function
/// is a field here.
struct ModelConfig {  // NOLINT(clang-analyzer-optin.performance.Padding): in the order a reader asks for them
    std::string name; ///< For people: model_name, else the folder's name.
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
    bool hasPreNorms = true;   ///< ln1 and ln2 exist; without, attention and MLP read the residual as it is.
    bool hasPostNorms = false; ///< x + ln1_post(attention(…)), x + ln2_post(mlp(…)), of the kind `norm`.
    bool hasSumNorms =
        false; ///< The same norms on the sums instead: ln1_post(x + attention(…)) (BERT, GPT-1).
    bool residualFromNorm = false; ///< Blocks add to ln1(x) and ln2(x), not to x (a variant of BLOOM).

    double embeddingScale = 1; ///< Factor of the stored embedding on its way in (Gemma: √d_model).
    NormKind embeddingNorm = NormKind::None; ///< Norm of the stored embedding (BLOOM).
    bool embeddingNormSeesPositions = false; ///< It is a norm of W_E + W_pos instead (BERT).
    int dEmbed =
        0; ///< Width of the stored embeddings where a matrix leads to d_model (OPT-350m); 0: d_model.
    bool hasHeadTransform = false; ///< Before ln_final: activation(x W_head + b_head) (BERT).

    Positional positional = Positional::Learned;
    Rotary rotary;                          ///< Meaningful when positional is Rotary.
    std::vector<Rotary> layerRotary;        ///< [nLayers] where layers differ, dim 0: none; else empty.
    double alibiScale = 1;                  ///< Factor of the ALiBi slopes.
    bool positionsInQueriesAndKeys = false; ///< W_pos is added to what they read instead (shortformer).
    bool bidirectional = false;             ///< Every position sees every other (BERT).
    bool positionsOverRoot = false; ///< W_pos is divided by √d_model on its way in (x-transformers).
    bool unembedOverRoot = false;   ///< W_U is divided by √d_model (T5 with tied embeddings).
    RelativeBias relativeBias;      ///< Meaningful when positional is Relative.
    bool needsEncoder = false;      ///< A decoder whose layers also read an encoder's output.
    bool crossAttention =
        false; ///< The grid is that reading: queries of the decoder, keys and values of the encoder.
    bool readsImages = false;  ///< Image patches are its tokens: W_E is the class token alone (ViT).
    std::vector<int> windows;  ///< [nLayers]: a key is seen while query − key < window; 0 or empty: always.
    double attentionScale = 0; ///< Factor of the scores, 1/√dHead unless the family says otherwise.
    bool scaleByInverseLayer = false; ///< Scores of layer l are also divided by l + 1.
    /// Each head has a sink, a logit beside its scores, so rows of attention sum to less than 1 (gpt-oss).
    bool attentionSinks = false;
    double attentionSoftCap = 0; ///< cap · tanh(score/cap) before the mask; 0: none.
    double outputSoftCap = 0;    ///< The same on the logits; 0: none.

    NormKind qkNorm = NormKind::None; ///< Norm of queries and keys before rotation; eps is normEps.
    bool qkNormOverAllHeads = false;  ///< Its mean runs over the heads side by side, not over one.
    /// Keys and values come from a latent with an RMSNorm, and so may queries; rotated components come first (DeepSeek-V2).
    bool latentAttention = false;
    LatentWidths latents; ///< Meaningful with latentAttention.
    double qkvLimit = 0;  ///< Queries, keys and values are cut off at ± this (OLMo's clip_qkv); 0: not.

    bool attentionOnly = false;
    bool gatedMlp = false; ///< (act(x W_gate + b_gate) ⊙ (x W_in + b_up) + b_in) W_out + b_out
    bool parallelBlocks =
        false; ///< x + attention(ln1 x) + mlp(ln2 x); ln1 serves both where the layer has no ln2.
    /// The shares of a token's experts are their scores among all experts; otherwise they are divided by their sum.
    bool sharesOfAllExperts = false;
    Activation activation = Activation::GeluNew;
    /// x W_gate + b_gate is cut off above 7, and x W_in + b_up beyond ±7 before 1 is added to it (gpt-oss).
    bool clampedGates = false;

    bool skipless = false; ///< No skip connections: mlp(attention(x)), with parallel blocks their sum alone.
    std::optional<MergePair> merged; ///< The pair multiplied into its neighbours; what reads P's output is
                                     ///< n_heads · d_head wide.

    /// Each token's MLP is the weighted sum of its `expertsPerToken` best of `nExperts`; 0: one MLP for all tokens. A layer
    /// without a router has one MLP all the same; experts beyond `nExperts` serve every token.
    int nExperts = 0, expertsPerToken = 0;
    Mixture mixture; ///< Meaningful with experts.

    /// Whether the config announces the biases b_Q, b_K, b_V, b_O and those of the MLP; nothing: the file decides.
    std::optional<bool> attentionBiases, mlpBiases;

    bool tiedEmbeddings = false; ///< W_U is W_Eᵀ in the file.
    bool isFloat64 = false;      ///< The file's matrices are float64, and so is what `process` writes.
    std::optional<int> bosTokenId;

    /// Fields that no file states. Their members hold a stand-in; an answer that depends on one is refused (whyUnknown).
    std::vector<UnknownField> unknown;

    /// Stacks of a model with several, such as the encoder of T5: the open one, then those that --set stack=… opens. Else empty.
    std::vector<std::string> stacks;

    bool isKnown(ConfigField field) const;
    /// Each head adds a number to its scores that depends on the distance alone.
    bool hasDistanceBias() const
    {
        return positional == Positional::Alibi || positional == Positional::Relative;
    }
    /// The stored embeddings and positions are normalised before a matrix leads to d_model (ELECTRA).
    bool normsNarrowEmbeddings() const { return dEmbed > 0 && embeddingNormSeesPositions; }
    double attentionScaleOf(int layer) const
    {
        return attentionScale / (scaleByInverseLayer ? layer + 1 : 1);
    }
    int windowOf(int layer) const { return windows.empty() ? 0 : windows[static_cast<std::size_t>(layer)]; }
    /// Number of columns of W_O, and of inputs of a serial block's MLP.
    int attentionWidth() const { return merged ? nHeads * dHead : dModel; }
    const Rotary& rotaryOf(int layer) const
    {
        return layerRotary.empty() ? rotary : layerRotary[static_cast<std::size_t>(layer)];
    }

    bool operator==(const ModelConfig&) const = default;
};

/// A config key that no file gives, with the value that is taken for it.
struct AssumedKey {
    std::string key, value;

    bool operator==(const AssumedKey&) const = default;
};

std::string_view configFieldName(ConfigField field); ///< "activation", as in the key headwise_unknown.
/// Returns the field of a name; nothing if there is none of that name.
std::optional<ConfigField> parseConfigField(std::string_view name);

/// The fields that a forward pass depends on. The context is none of them: it limits a prompt and changes no number.
std::vector<ConfigField> forwardFields();

/// Returns a sentence that names the unknown fields among `needed` and the option that states them; empty if all are known.
/// \param who "It" or "The forward pass"
std::string whyUnknown(const ModelConfig& config, std::span<const ConfigField> needed,
                       std::string_view who = "It");

/// Returns why there is no forward pass over the weights that are read; empty if there is one.
std::string whyNoForward(const ModelConfig& config);

/// Returns why there is nothing to ask about tokens: the model reads image patches; empty for a model with a vocabulary.
std::string whyNoVocabulary(const ModelConfig& config);

/// Returns a warning that names every unknown field; empty without one.
std::string unknownWarning(const ModelConfig& config);

/// Returns a sentence for each step between this model's scores or outputs and its bare matrix products; empty for most.
std::vector<std::string> circuitNotes(const ModelConfig& config);

std::string_view
positionalName(Positional positional); ///< "learned", "rotary", "alibi", "relative", "none", "other".

/// "LN", "LNPre", "RMS", "RMSPre" or "none".
std::string_view normalizationName(const ModelConfig& config);

} // namespace headwise
