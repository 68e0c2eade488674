#pragma once

#include "core/model/processing.h"

#include <map>
#include <optional>

namespace headwise {

// Shared by the files that process weights and by ProcessedWeights; no other file includes it.

/// A norm that folding may take.
struct FoldableNorm : Norm<double> {
    bool isPassedOver = false; ///< Stays as it is even if norms are folded.
};

/// The norms of a model as they are in the file, w being the effective factor (1 + w where there is an offset).
struct OriginalNorms {
    std::vector<FoldableNorm> ln1;              ///< [n_layers]
    std::vector<FoldableNorm> ln2;              ///< [n_layers], ln1's where parallel blocks share it
    std::vector<FoldableNorm> mlpLn;            ///< [n_layers], solu_ln only
    std::vector<Norm<double>> ln1Post, ln2Post; ///< [n_layers]
    FoldableNorm lnFinal;
    Norm<double> embedding;
};

/// The parameters of a norm, of one head where it is a norm of queries or keys.
struct NormPlace {
    TensorKind w;
    std::optional<TensorKind> b;
    int layer = 0, head = 0;
};

/// Reads the norm from the file. Absent parameters are empty.
Norm<double> readNorm(const ModelWeights& weights, NormKind kind, const NormPlace& place);

OriginalNorms readNorms(const ModelWeights& weights);
/// Errors: InvalidArgument for a change that this model does not allow, and for two of one head.
Result<Done> checkHeadChanges(const ModelConfig& config, const std::vector<HeadChange>& changes);
/// Whether the layer's ln2 is its ln1.
bool sharesNorm(const ModelWeights& weights, int layer);
/// Whether folding moves a bias of this norm into what reads it.
bool foldsBias(const FoldableNorm& norm, const Processing& processing);

/// The plan for a file whose biases are all there can be (BiasHomes::AsStored): which norms are passed over, and why steps
/// cannot be done.
struct StoredHomes {
    std::optional<std::string> noValueBiases; ///< Why b_V cannot move into b_O.
    std::optional<std::string> noRefactoring;
    std::vector<NormId> homeless; ///< Norms whose bias has nowhere to go.
};
/// \param foldValueBiases whether b_V moves into b_O where it can
StoredHomes storedHomes(const ModelWeights& weights, bool foldValueBiases);

/// A matrix that reads a normalised activation and the bias beside it.
struct ReadingMatrix {
    Matrix<double> W;    // [input, columns]
    RowVector<double> b; // [columns]
};

/// W_Q, W_K, W_V or W_O of a head, or the identity's columns or rows that stand in the place of a merged one; any other
/// tensor as in the file.
Matrix<double> readMatrix(const ModelWeights& weights, TensorKind kind, int layer, int head);

/// As in the file; zeros for a bias that is absent.
ReadingMatrix readReading(const ModelWeights& weights, TensorKind W, TensorKind b, int layer, int head);
/// [size], zeros if it is absent.
RowVector<double> readRow(const ModelWeights& weights, TensorKind kind, int layer, int head,
                          Eigen::Index size);

/// (x̂ ⊙ w + b) W = x̂ (diag(w) W) + b W. The output x̂ of a LayerNorm has mean 0, so what W does to the mean is free.
void foldNorm(const FoldableNorm& norm, const Processing& processing, ReadingMatrix& reading);

/// Returns the norm left after folding: only its kind, or β/w where biases stay.
Norm<double> remainingNorm(const FoldableNorm& norm, const Processing& processing);

void centerRows(Matrix<double>& m);

/// A pair that is merged when its neighbours are read: x T + t takes the place of the residual stream x before a layer, T
/// being the layer's Q, K or V, its heads side by side, and t its bias.
struct Merging {
    MergePair pair = MergePair::QP;
    bool keepsP = false; ///< Q, K or V alone is gone; P and what the MLP reads with take T in instead.
    ReadingMatrix entry; ///< T and t of the first layer, which W_E and W_pos take in.
    /// The other two of Q, K and V of every layer, T⁻¹ X and b − t T⁻¹ X, in this order, a head of theirs each.
    struct Layer {
        std::vector<ReadingMatrix> first, second;
    };
    std::vector<Layer> layers; ///< [n_layers]
};

inline constexpr Eigen::Index processingBlockSize = 2048; ///< Columns of W_U that one thread adds up.

/// State of ProcessedWeights: the weights, the plan, and the vectors that `process` computed.
struct ProcessingState {
    std::shared_ptr<const ModelWeights> weights;
    ProcessingPlan plan;
    ModelConfig config;
    OriginalNorms norms;
    std::vector<RowVector<double>> b_O; ///< [n_layers] of [d], as processed
    RowVector<double> unembedMean;      ///< [d], mean of the columns of the folded W_U; empty unless centred
    RowVector<double> b_U;              ///< [V], as processed
    std::shared_ptr<const std::vector<HeadWeights<double>>> refactored; ///< null unless refactored
    std::map<HeadId, HeadWeights<double>> changed;                      ///< By the plan's headChanges.
    std::shared_ptr<const Merging> merging;                             ///< null unless mergePair made it
    std::shared_ptr<const ResidualBasis> basis;                         ///< null: the model's own
    Rounding rounding = Rounding::None;

    const Processing& applied() const { return plan.applied; }

    template <typename Scalar, typename Derived>
    auto finish(const Eigen::MatrixBase<Derived>& m) const
    {
        using Result = Eigen::Matrix<Scalar, Derived::RowsAtCompileTime, Derived::ColsAtCompileTime>;
        switch (rounding) {
        case Rounding::None: break;
        case Rounding::Float32: return Result(m.template cast<float>().template cast<Scalar>());
        case Rounding::BFloat16:
            return Result(m.template cast<float>()
                              .template cast<Eigen::bfloat16>()
                              .template cast<float>()
                              .template cast<Scalar>());
        }
        return Result(m.template cast<Scalar>());
    }
    template <typename Scalar>
    Norm<Scalar> finishNorm(const FoldableNorm& original) const; ///< For a norm that folding can take.
    template <typename Scalar>
    Norm<Scalar> finishKeptNorm(Norm<double> norm) const; ///< For a norm that is never folded.
    template <typename Scalar>
    HeadWeights<Scalar> finishHead(HeadWeights<double> head) const;
    bool keepsEmbedding() const; ///< W_E is what the file has.
    /// Tokens of W_E and W_U to read at a time. In double they fit into the second-level cache (1 MB at d_model 2048), unless a
    /// matrix is read again for every product with them.
    Eigen::Index panelSize() const;
    Matrix<double> embeddingRows(Eigen::Index first, Eigen::Index count) const;
    /// [d, count], not folded.
    Matrix<double> unembeddingColumns(Eigen::Index first, Eigen::Index count) const;
    template <typename Scalar>
    MlpWeights<Scalar> foldedMlp(int layer, int expert) const; ///< \param expert 0 without a mixture

    HeadWeights<double> foldedHead(HeadId id, HeadParts parts) const;
    HeadWeights<double> processedHead(HeadId id,
                                      HeadParts parts = HeadParts::All) const; ///< In the model's own basis.
    void read(Matrix<double>& W) const; ///< T⁻¹ W where there is another basis.
    template <typename Rows>
    void write(Rows& rows) const ///< rows T where there is another basis.
    {
        if (basis)
            rows = (rows * basis->T).eval();
    }
};

// Reading beside a merged pair: the state has `merging`.

ReadingMatrix basisChange(const ProcessingState& state, int layer); ///< T and t.
HeadWeights<double> mergedHead(const ProcessingState& state, HeadId id);
RowVector<double> mergedAttentionBias(const ProcessingState& state, int layer);
/// P and b_O into what the MLP reads with; where P stays, T⁻¹ and t. Changes nothing without `merging`.
void mergeInput(const ProcessingState& state, int layer, ReadingMatrix& reading);
/// The next layer's T and t. Changes nothing without `merging`.
void mergeOutput(const ProcessingState& state, int layer, ReadingMatrix& writing);

/// Applies the plan's headChanges; the last step of `process`.
Result<Done> changeHeads(ProcessingState& state);

/// The heads of the whole model after `refactor-factored-attention`, [n_layers · n_heads].
///
/// With a head's augmented matrices Q' = [W_Q; b_Q] and K' = [W_K; b_K]: Q' K'ᵀ = U S Vᵀ gives Q' ← U √S, K' ← V √S;
/// W_V W_O = U S Vᵀ gives W_V ← U S, W_O ← Vᵀ. Singular values of rounding size become 0, and W_O is completed to
/// orthonormal rows, orthogonal to 1 where all its rows were (d_head < d_model); with d_head > d_model the surplus is 0.
/// Errors: Corrupt (weights that are not finite), Cancelled.
Result<std::vector<HeadWeights<double>>> refactorHeads(const ProcessedWeights& folded, const Task& task);

} // namespace headwise
