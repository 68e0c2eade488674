#pragma once

#include "core/model/forward.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// A norm with mean and σ frozen at one vector x. It is affine, and equals the norm at x.
class FrozenNorm {
public:
    template <typename Scalar>
    FrozenNorm(const Norm<Scalar>& norm, const RowVector<double>& x);

    /// Applies the norm without its bias. \param rows [count, d]
    Matrix<double> linear(const Matrix<double>& rows) const;
    const RowVector<double>& bias() const { return m_bias; } ///< [d]
    /// Returns u' with linear(y) · u = y · u' for every y. \param u [d]
    RowVector<double> pulledBack(const RowVector<double>& u) const;

private:
    bool m_isCentred = false;
    RowVector<double> m_factor, m_bias; // w/σ and b, [d]
};

/// The parts that sum to the residual stream: the embedding, learned positions, all biases together, each head and each MLP.
/// The part of positions is 0 if only queries and keys get them. An MLP includes its own biases.
class PartList {
public:
    explicit PartList(const ModelConfig& config);

    int count() const { return m_count; }
    int embedding() const { return 0; }
    std::optional<int> positions() const { return m_hasPositions ? std::optional(1) : std::nullopt; }
    int biases() const { return m_hasPositions ? 2 : 1; }
    int head(HeadId id) const { return biases() + 1 + id.layer * m_perLayer + id.head; }
    std::optional<int> mlp(int layer) const;
    /// Returns the names "embedding", "positions", "biases", "L0H0", …, "MLP 0", …
    std::vector<std::string> names() const;

private:
    int m_nLayers, m_nHeads;
    bool m_hasPositions, m_hasMlp;
    int m_perLayer, m_count;
};

/// The residual stream at some positions of a prompt, split into its parts layer by layer.
/// Norms after attention, after the MLP or of the sums are frozen, so that they act on every part separately.
/// Source: Elhage et al. 2021, "Residual stream"; TransformerLens `ActivationCache.decompose_resid`.
template <typename Scalar>
class ResidualParts {
public:
    /// \param run       of the same weights and tokens; it and `weights` must outlive this
    /// \param positions of the prompt, each below its length
    ResidualParts(const ProcessedWeights& weights, const ForwardResult<Scalar>& run,
                  std::span<const int> tokens, std::vector<int> positions);

    const PartList& list() const { return m_list; }
    /// Returns the parts at positions[i] before the next layer to be added, [parts, d]. The rows of later parts are 0.
    const Matrix<double>& at(std::size_t i) const { return m_parts[i]; }
    RowVector<double> total(std::size_t i) const { return m_parts[i].colwise().sum(); }

    /// Adds the parts of the next layer.
    /// Errors: Cancelled; Internal if the parts do not add up to the stream of `run`.
    /// Cost: a head's values for the whole prompt and its output at the positions, the MLP at the positions.
    Result<Done> addLayer(const Task& task);

    /// Returns the norm after the last added layer's attention at positions[i], with kind None if there is none.
    /// The head outputs pass through it before they are added. Undefined for models with norms of the sums.
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
