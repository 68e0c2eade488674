#pragma once

#include "core/model/forward.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// A norm whose mean and σ were taken from one vector x: affine in every other, and at x the norm itself.
class FrozenNorm {
public:
    template <typename Scalar>
    FrozenNorm(const Norm<Scalar>& norm, const RowVector<double>& x);

    /// Without the bias. \param rows [count, d]
    Matrix<double> linear(const Matrix<double>& rows) const;
    const RowVector<double>& bias() const { return m_bias; } ///< [d]
    /// u' with linear(y) · u = y · u' for every y. \param u [d]
    RowVector<double> pulledBack(const RowVector<double>& u) const;

private:
    bool m_isCentred = false;
    RowVector<double> m_factor, m_bias; // w/σ and b, [d]
};

/// What the residual stream of a model is a sum of: the embedding, learned positions (0 where queries and keys alone get them), all
/// biases together, and layer by layer each head and the MLP (with its own biases).
class PartList {
public:
    explicit PartList(const ModelConfig& config);

    int count() const { return m_count; }
    int embedding() const { return 0; }
    std::optional<int> positions() const { return m_hasPositions ? std::optional(1) : std::nullopt; }
    int biases() const { return m_hasPositions ? 2 : 1; }
    int head(HeadId id) const { return biases() + 1 + id.layer * m_perLayer + id.head; }
    std::optional<int> mlp(int layer) const;
    /// "embedding", "positions", "biases", "L0H0", …, "MLP 0", …
    std::vector<std::string> names() const;

private:
    int m_nLayers, m_nHeads;
    bool m_hasPositions, m_hasMlp;
    int m_perLayer, m_count;
};

/// The residual stream at some positions of a prompt, split into its parts, layer after layer. Norms on the stream's way (after
/// attention or MLP, or of the sums) are frozen, so that every part goes through them alone.
/// Source: Elhage et al. 2021, "Residual stream"; TransformerLens `ActivationCache.decompose_resid`.
template <typename Scalar>
class ResidualParts {
public:
    /// \param run       of the same weights and tokens; it and `weights` must outlive this
    /// \param positions of the prompt, each below its length
    ResidualParts(const ProcessedWeights& weights, const ForwardResult<Scalar>& run,
                  std::span<const int> tokens, std::vector<int> positions);

    const PartList& list() const { return m_list; }
    /// [parts, d] at positions[i] before layer `layersDone()`; the rows of what is still to come are 0.
    const Matrix<double>& at(std::size_t i) const { return m_parts[i]; }
    RowVector<double> total(std::size_t i) const { return m_parts[i].colwise().sum(); }
    int layersDone() const { return m_layer; }

    /// Goes one layer on.
    /// Errors: Cancelled; Internal if the parts do not add up to the stream of `run`.
    /// Cost: a head's values for the whole prompt and its output at the positions, the MLP at the positions.
    Result<Done> addLayer(const Task& task);

    /// The norm behind the last added layer's attention at positions[i], of kind None where there is none: what the heads'
    /// outputs went through before they were added. Of models with norms of the sums: not told.
    const FrozenNorm& attentionNorm(std::size_t i) const { return m_attentionNorms[i]; }

private:
    struct Written {
        int first = 0;          // row of the first part
        Matrix<double> rows;    // [parts, d]
        RowVector<double> bias; // [d]
    };

    Result<std::vector<Matrix<Scalar>>> headOutputs(const Task& task) const; // [heads]: [positions, d]
    FrozenNorm write(std::size_t i, const Written& written, const Norm<Scalar>& post);
    void pass(std::size_t i, const FrozenNorm& norm);
    Result<Done> checked() const;

    const ProcessedWeights& m_weights;
    const ForwardResult<Scalar>& m_run;
    std::vector<int> m_positions;
    PartList m_list;
    std::vector<Matrix<double>> m_parts; // [positions]: [parts, d]
    std::vector<FrozenNorm> m_attentionNorms;
    int m_layer = 0;
};

} // namespace headwise
