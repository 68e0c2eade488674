#pragma once

#include "core/base/task.h"
#include "core/model/head_change.h"
#include "core/model/head_id.h"
#include "core/model/weights.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwise {

/// Processing steps applied to the weights. Every step but the last keeps the model's function.
struct Processing {
    bool foldLayerNorm = true;
    bool centerWritingWeights = true;
    bool centerUnembed = true; ///< Over all d_vocab columns, even for ids without a token.
    bool foldValueBiases = true;
    bool refactorAttention = false; ///< Implies foldValueBiases.
    /// With foldLayerNorm: fold the norm biases too. If false, they stay in the norm, rescaled.
    bool foldBiases = true;
    /// With foldLayerNorm under LayerNorm: subtract the mean over d_model from the reading matrices.
    bool centerWeights = true;
    std::vector<HeadChange> headChanges = {};

    bool operator==(const Processing&) const = default;

    static Processing none() { return {false, false, false, false, false, true, true, {}}; }
};

/// How much the user wants a step: a Default step that would change the function is skipped with a warning, a Required
/// one is refused.
enum class StepWish { Default, Required, Off };

/// Rule for biases that folding creates in matrices without one.
enum class BiasHomes {
    Anywhere, ///< Every matrix may have one.
    AsStored, ///< Only the file's own may change; a norm whose bias finds no home stays as it is.
};

struct ProcessingWish {
    StepWish foldLayerNorm = StepWish::Default;
    StepWish centerWritingWeights = StepWish::Default;
    StepWish centerUnembed = StepWish::Default;
    StepWish foldValueBiases = StepWish::Default;
    StepWish refactorAttention = StepWish::Off;
    bool foldBiases = true;
    bool centerWeights = true;
    BiasHomes biasHomes = BiasHomes::Anywhere;
    std::vector<HeadChange> headChanges = {}; ///< One per head at most.

    bool operator==(const ProcessingWish&) const = default;
};

/// Decision about one step for one model.
struct StepOutcome {
    std::string name; ///< As on the command line: "fold-layer-norm".
    bool applied = false;
    std::string reason; ///< Why it was skipped; empty when it was applied.

    bool operator==(const StepOutcome&) const = default;
};

/// One norm of a model, by the kind of its weight.
struct NormId {
    TensorKind w;
    int layer = 0;

    bool operator==(const NormId&) const = default;
};

struct ProcessingPlan {
    Processing applied = Processing::none();
    std::vector<NormId> unfolded = {}; ///< Norms that foldLayerNorm passes over.
    std::vector<StepOutcome> steps;    ///< In the order they are done, only those asked for.
    std::vector<std::string> warnings; ///< A sentence per skipped step and per change of layout.
};

/// Decides which steps keep this model's function; reads no more than norms and biases.
/// Errors: InvalidArgument if a required step cannot be done, naming the step and the reason, or a head cannot be changed as
/// asked (no such head or component, two changes of one, an earlier head that is not earlier).
Result<ProcessingPlan> planProcessing(const ModelWeights& weights, const ProcessingWish& wish);

/// A normalisation as it stands after processing.
template <typename Scalar>
struct Norm {
    NormKind kind = NormKind::None;
    double eps = 0;
    RowVector<Scalar> w; ///< [d], the effective factor (1 + w where the family has an offset); empty: ones.
    RowVector<Scalar> b; ///< [d]; empty: zeros.
};

/// One query head, with K and V of its group.
template <typename Scalar>
struct HeadWeights {
    Matrix<Scalar> W_Q, W_K, W_V;        // [d, r]
    RowVector<Scalar> b_Q, b_K, b_V;     // [r], zeros if absent
    Matrix<Scalar> W_O;                  // [r, d], or [r, n_heads · r] of a pair merged with P
    Norm<Scalar> qNorm = {}, kNorm = {}; // over r, or with the mean over all heads (qkNormOverAllHeads)
};

/// The matrices of a head to read; with `All` every field is there.
enum class HeadParts { All, QueriesAndKeys, ValuesAndOutput };

template <typename Scalar>
struct MlpWeights {
    Matrix<Scalar> W_in, W_gate;          // [attentionWidth, f]; W_gate empty unless gated
    RowVector<Scalar> b_in, b_gate, b_up; // [f]; zeros if absent; b_gate and b_up empty unless gated
    Matrix<Scalar> W_out;                 // [f, d]
    RowVector<Scalar> b_out;              // [d]
    Norm<Scalar> ln;                      // solu_ln only: after the activation, over f

    // Mixtures only; the fields above are then empty. Experts behind the router's columns serve every token.
    Matrix<Scalar> W_router;      // [d, experts]
    RowVector<Scalar> b_router;   // [experts]: its own, and what folding a norm's bias adds
    RowVector<Scalar> correction; // [experts], added to sigmoids for the choice; empty for most
    std::vector<MlpWeights> experts;
};

/// The maps from the residual stream to the latents of queries and of keys and values; empty without one.
template <typename Scalar>
struct LatentMaps {
    Matrix<Scalar> W_DQ, W_DKV; // [d, …]
};

/// Map between the last residual stream and ln_final: activation(ln(x) W + b). W is empty for most models.
template <typename Scalar>
struct HeadTransform {
    Matrix<Scalar> W;    // [d, d] or [d, dEmbed]
    RowVector<Scalar> b; // [d] or [dEmbed]
    Norm<Scalar> ln;     // of kind None for most
};

/// Another basis of the residual stream, in which x is x T.
struct ResidualBasis {
    Matrix<double> T, inverse; ///< [d, d]
};

/// A vector of W_E or W_U made of a stored one: factors ∘ stored − mean.
struct StoredEnd {
    Eigen::VectorXd factors, mean; ///< [d]

    bool isStored() const { return factors.isOnes(0) && mean.isZero(0); }
};

/// Maps from the one stored embedding of a tied model: W_E = stored · E, W_U = U · storedᵀ − mean · 1ᵀ.
struct TiedEnds {
    Matrix<double> E, U;  ///< [d, d]
    Eigen::VectorXd mean; ///< [d]; zeros unless W_U is centred
};

/// Precision to which every number read is rounded, whatever the Scalar.
enum class Rounding { None, Float32, BFloat16 };

struct ProcessingState; // processing_state.h

/// Canonical weights after processing. Another type than ModelWeights, so that raw weights cannot be analysed by
/// mistake; a plan without steps gives the raw ones.
///
/// Holds only vectors (γ, β, means, bias sums); each read applies them, in double whatever the Scalar. Only refactored
/// heads are kept as matrices, in double: their decomposition can fail, a read cannot. A cheap handle; may be read from
/// any thread.
class ProcessedWeights {
public:
    /// Returns the config of the processed model: folded norms have no parameters, refactoring ungroups K and V.
    const ModelConfig& config() const;
    const ProcessingPlan& plan() const;
    const ModelWeights& original() const;

    template <typename Scalar>
    HeadWeights<Scalar> head(HeadId id, HeadParts parts = HeadParts::All) const;
    template <typename Scalar>
    RowVector<Scalar> b_O(int layer) const; ///< [attentionWidth], zeros if absent
    /// Returns the logit beside the head's scores; nothing if there is none.
    std::optional<double> sink(HeadId id) const;
    template <typename Scalar>
    MlpWeights<Scalar> mlp(int layer) const;
    template <typename Scalar>
    LatentMaps<Scalar> latents(int layer) const;
    template <typename Scalar>
    Norm<Scalar> ln1(int layer) const;
    template <typename Scalar>
    Norm<Scalar> ln2(int layer) const; ///< The layer's ln1 where parallel blocks share it.
    template <typename Scalar>
    Norm<Scalar> ln1Post(int layer) const; ///< Kind None if the model has none; never folded.
    template <typename Scalar>
    Norm<Scalar> ln2Post(int layer) const;
    template <typename Scalar>
    Norm<Scalar> lnFinal() const;
    /// Returns the norm of W_E + W_pos; kind None if W_E is normalised by itself or not at all.
    template <typename Scalar>
    Norm<Scalar> lnEmbedding() const;
    template <typename Scalar>
    HeadTransform<Scalar> headTransform() const;

    /// Returns the embeddings as they enter the residual stream, [count, d]: scaled and normalised where the model does.
    template <typename Scalar>
    Matrix<Scalar> W_E(Eigen::Index firstToken, Eigen::Index count) const;
    template <typename Scalar>
    Matrix<Scalar> W_pos(Eigen::Index first,
                         Eigen::Index count) const; ///< [count, d]; learned positions only
    template <typename Scalar>
    Matrix<Scalar> W_U(Eigen::Index firstToken, Eigen::Index count) const; ///< [d, count]
    template <typename Scalar>
    RowVector<Scalar> b_U(Eigen::Index firstToken, Eigen::Index count) const; ///< [count], zeros if absent

    /// Returns how W_E or W_U follows from what original() reads of it, direction by direction; none if it takes more than that.
    /// \param end TensorKind::W_E or W_U
    std::optional<StoredEnd> storedEnd(TensorKind end) const;
    /// Returns how both ends follow from the stored embedding, original().readRows(W_E); none if W_U is another tensor or the way
    /// from either is not linear.
    std::optional<TiedEnds> tiedEnds() const;

    /// Returns the same weights rounded as `process` stores them: to float32 unless the file is float64.
    ProcessedWeights asStored() const;
    ProcessedWeights rounded(Rounding rounding) const;
    /// Returns the same weights in another basis: matrices that read the residual stream become T⁻¹ W, those that write to it
    /// W T. Products of the two stay the same. Norms and centring do not, so a forward pass of these weights is wrong.
    ProcessedWeights inBasis(std::shared_ptr<const ResidualBasis> basis) const;

private:
    friend Result<std::shared_ptr<const ProcessedWeights>>
    process(std::shared_ptr<const ModelWeights> weights, ProcessingPlan plan, const Task& task);
    friend Result<ProcessedWeights> mergePair(const ProcessedWeights& skipless, MergePair pair,
                                              const Task& task);
    explicit ProcessedWeights(std::shared_ptr<const ProcessingState> state);

    std::shared_ptr<const ProcessingState> m_state;
};

/// Computes the vectors the plan needs (one pass over W_U for its means).
/// Errors: Cancelled; Corrupt if a head to be refactored holds numbers that are not finite.
/// Memory: with refactoring, the attention matrices in double.
Result<std::shared_ptr<const ProcessedWeights>> process(std::shared_ptr<const ModelWeights> weights,
                                                        ProcessingPlan plan, const Task& task);

} // namespace headwise
