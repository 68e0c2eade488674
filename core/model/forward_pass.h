#pragma once

#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"
#include "core/model/forward.h"

namespace headwise {

// The forward pass in steps, so that several models can run side by side.

/// Errors: InvalidArgument as `forward`. \param length of the prompt and what is decoded
Result<Done> checkPrompt(const ModelConfig& config, std::span<const int> tokens, std::size_t length);

/// One prompt on its way through the layers of a model, `attend` and `finish` in turn.
template <typename Scalar>
class ForwardPass {
public:
    ForwardPass(const ProcessedWeights& model, std::span<const int> tokens); ///< Embeds the tokens.

    /// The heads of a layer run side by side; their outputs are added in order, so the number of threads changes nothing.
    /// Errors: Cancelled.
    Result<Done> attend(int layer, const Task& task);
    void finish(const LayerTail<Scalar>& tail); ///< \param tail that of the layer that attended

    ProcessedWeights weights;
    ForwardResult<Scalar> result; ///< Result of the layers so far, without logits.

private:
    DistanceBias m_distances;
    Matrix<Scalar> m_normed, m_attention; // [n, d], [n, attentionWidth] of the layer that attended
};

/// Returns the last residual stream as W_U reads it.
template <typename Scalar>
Matrix<Scalar> unembedded(const ProcessedWeights& weights, const Matrix<Scalar>& residual);

/// \param x [n, d], `unembedded`  \param W_U [d, count], its columns from `first` on  \returns [n, count]
template <typename Scalar>
Matrix<Scalar> logitsOf(const ProcessedWeights& weights, const Matrix<Scalar>& x, Eigen::Index first,
                        const Matrix<Scalar>& W_U);

} // namespace headwise
