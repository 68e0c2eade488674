#pragma once

#include "core/base/matrix.h"
#include "core/checkpoint/weight_map.h"
#include "core/model/config.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace headwise {

/// Every tensor a model can have, by the field's names.
///
/// THE CONVENTION, once for the whole program: activations are row vectors, y = x W + b; rows of a matrix index the
/// input, columns the output. V = d_vocab, d = d_model, r = d_head, f = d_mlp, n = n_ctx.
enum class TensorKind {
    W_E,        ///< [V, d] or [V, dEmbed], row = token
    W_pos,      ///< [n, d], learned positions only
    W_Q,        ///< [d, r], one per query head
    W_K,        ///< [d, r], one per key/value head
    W_V,        ///< [d, r], one per key/value head
    W_O,        ///< [r, d], one per query head
    b_Q,        ///< [1, r], one per query head
    b_K,        ///< [1, r], one per key/value head
    b_V,        ///< [1, r], one per key/value head
    b_O,        ///< [1, d], one per layer
    ln1_w,      ///< [1, d]
    ln1_b,      ///< [1, d]
    ln2_w,      ///< [1, d]
    ln2_b,      ///< [1, d]
    W_in,       ///< [d, f], "up" in gated MLPs
    b_in,       ///< [1, f]; in a gated MLP added after the product, as TransformerLens does
    W_gate,     ///< [d, f], gated MLPs only
    b_gate,     ///< [1, f], inside the activation
    b_up,       ///< [1, f], gated MLPs only: added to x W_in before the product
    W_out,      ///< [f, d]
    b_out,      ///< [1, d]
    mlp_ln_w,   ///< [1, f], solu_ln only
    mlp_ln_b,   ///< [1, f], solu_ln only
    ln_final_w, ///< [1, d]
    ln_final_b, ///< [1, d]
    ln1_post_w, ///< [1, d], on the output of attention
    ln1_post_b, ///< [1, d]
    ln2_post_w, ///< [1, d], on the output of the MLP
    ln2_post_b, ///< [1, d]
    q_norm_w,   ///< [1, r], one per query head
    k_norm_w,   ///< [1, r], one per key/value head
    ln_embed_w, ///< [1, d], on the stored embedding
    ln_embed_b, ///< [1, d]
    b_E,        ///< [1, d], added to every row of W_E (BERT's first token type)
    W_Eproj,    ///< [dEmbed, d], where the stored embedding is narrower than the residual stream
    W_Uproj,    ///< [d, dEmbed], before W_U
    W_router,   ///< [d, experts]; the experts' W_in, W_gate and W_out are numbered like heads
    W_head,     ///< [d, d], before ln_final (BERT), or [d, dEmbed] (ELECTRA)
    b_head,     ///< [1, d]
    W_U,        ///< [d, V], or [dEmbed, V]
    b_U,        ///< [1, V]
    b_Eproj,    ///< [1, d], added after W_Eproj (ELECTRA)
    ln_head_w,  ///< [1, d], before W_head (ESM)
    ln_head_b,  ///< [1, d]

    // Latent attention, in the names of DeepSeek-V2's paper (section 2.1). W_Q, W_K and W_V are read as products of these:
    W_DQ,        ///< [d, q], to the queries' latent; absent where queries read the residual stream
    W_UQ,        ///< [q or d, r − rotated], one per query head
    W_QR,        ///< [q or d, rotated], one per query head
    W_DKV,       ///< [d, c], to the latent of keys and values
    W_UK,        ///< [c, r − rotated], one per head
    W_KR,        ///< [d, rotated], one per layer
    W_UV,        ///< [c, v], one per head
    q_latent_w,  ///< [1, q]
    kv_latent_w, ///< [1, c]

    b_rel,             ///< [buckets, heads], once per model: added to the scores by distance (T5)
    sink_logit,        ///< [1, 1], one per query head: a logit beside the scores of its keys
    b_router,          ///< [1, experts]
    router_correction, ///< [1, experts], added to the experts' scores where they are chosen (DeepSeek-V3)
};

std::string_view tensorKindName(TensorKind kind); ///< "W_Q", "ln1.w"

/// How the numbers of a kind of tensor are stored: ours are `factor` times those of the file, plus `addend`.
struct StoredForm {
    double factor = 1, addend = 0;
    bool hasUnitColumns = false; ///< Then each column is divided by its length (W_U of Baichuan 2).

    bool operator==(const StoredForm&) const = default;
};

/// The kinds that are not stored as they are: a factor that the family applies elsewhere is part of a matrix here.
using StoredForms = std::map<TensorKind, StoredForm>;

/// A model's weights in canonical names and shapes, each a recipe: which rectangle of which stored tensor, by strides.
///
/// Owns no numbers; a matrix is read from the mapped file when it is asked for. Every recipe was checked against the
/// config and the file by the loader, so reading cannot fail. Absent biases and norms are absent here too.
class ModelWeights {
public:
    ModelWeights(ModelConfig config, std::shared_ptr<const WeightMap> file);

    const ModelConfig& config() const { return m_config; }
    const WeightMap& file() const { return *m_file; }

    /// Returns one sentence for each fault that the loader worked around or ignored.
    const std::vector<std::string>& warnings() const { return m_warnings; }
    void addWarning(std::string sentence) { m_warnings.push_back(std::move(sentence)); }

    /// Keys that no file gives, with the values taken for them.
    const std::vector<AssumedKey>& assumed() const { return m_assumed; }
    void setAssumed(std::vector<AssumedKey> assumed) { m_assumed = std::move(assumed); }

    /// Stored tensors that belong to no part of the model and that the user left out, in the file's order.
    const std::vector<std::string>& leftOut() const { return m_leftOut; }
    void setLeftOut(std::vector<std::string> names) { m_leftOut = std::move(names); }

    /// The same recipes under a config that the file corrected.
    ModelWeights withConfig(ModelConfig config) const;

    /// \param layer 0 for tensors that exist once per model
    /// \param head  query head for W_Q, b_Q, W_O, q_norm_w, sink_logit; key/value head for W_K, W_V, b_K, b_V, k_norm_w;
    ///              expert for the MLP of a mixture; 0 otherwise
    void add(TensorKind kind, int layer, int head, const TensorView& view);

    bool has(TensorKind kind, int layer = 0, int head = 0) const;

    /// A canonical tensor: its kind, layer and head as in add().
    using Key = std::tuple<TensorKind, int, int>;
    /// Every canonical tensor there is and the rectangle of file() it is read from.
    const std::map<Key, TensorView>& views() const { return m_views; }

    StoredForm form(TensorKind kind) const;
    void setForms(StoredForms forms) { m_forms = std::move(forms); }

    /// The names that the family has for W_E and W_U, whether or not the file stores both.
    struct EmbeddingNames {
        std::string input, output;
    };
    const EmbeddingNames& embeddingNames() const { return m_embeddingNames; }
    void setEmbeddingNames(EmbeddingNames names) { m_embeddingNames = std::move(names); }

    /// Returns the config as JSON, with the user's overrides.
    const std::string& configText() const { return m_configText; }
    void setConfigText(std::string text) { m_configText = std::move(text); }

    /// Numbers in all canonical tensors; a tied W_U is not counted again.
    std::int64_t parameterCount() const;

    /// The whole tensor in its canonical shape; [0, 0] if it is absent.
    template <typename Scalar>
    Matrix<Scalar> read(TensorKind kind, int layer = 0, int head = 0) const;

    /// Rows [first, first + count) of a tensor that is present once per model (W_E, W_pos by blocks).
    template <typename Scalar>
    Matrix<Scalar> readRows(TensorKind kind, Eigen::Index first, Eigen::Index count) const;

    /// Columns [first, first + count) of a tensor that is present once per model (W_U by blocks).
    template <typename Scalar>
    Matrix<Scalar> readColumns(TensorKind kind, Eigen::Index first, Eigen::Index count) const;

    /// Vectors [first, first + count) of the tokens of W_E or W_U, [d, count].
    template <typename Scalar>
    Matrix<Scalar> readTokens(TensorKind end, Eigen::Index first, Eigen::Index count) const;

private:
    const TensorView* find(TensorKind kind, int layer, int head) const;
    /// W_Q, W_K or W_V of a head with a latent: rotated columns first, the gain of the latent's norm in between, d_head wide.
    template <typename Scalar>
    Matrix<Scalar> readThroughLatent(TensorKind kind, int layer, int head) const;
    template <typename Scalar>
    Matrix<Scalar> readBlock(TensorKind kind, const TensorView& block) const;

    ModelConfig m_config;
    std::shared_ptr<const WeightMap> m_file;
    std::map<Key, TensorView> m_views;
    EmbeddingNames m_embeddingNames;
    std::string m_configText;
    std::vector<AssumedKey> m_assumed;
    std::vector<std::string> m_leftOut;
    std::vector<std::string> m_warnings;
    StoredForms m_forms;
};

} // namespace headwise
