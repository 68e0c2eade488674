#pragma once

#include "core/circuits/circuits.h"
#include "core/circuits/head_factors.h"

#include <complex>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace headwise {

/// The singular values and eigenvalues of the circuits of every head of one model.
///
/// Work for several of them is done once: the products with K and V for all query heads of a group, and, if asked for, everything
/// that one analysis computes and a later one needs again. Values are the same bits whether they were at hand or not, except that
/// multiply() may change the last ones. Any thread may ask.
class SharedSpectra {
public:
    enum class Keep {
        Groups, ///< Only products of groups of query heads, the latest ones.
        All, ///< Also eigenvalues, and [r, r] products of full QK between its singular values and its eigenvalues.
    };

    /// \param tokens may be null if only qk and ov are asked for
    SharedSpectra(Circuits circuits, std::shared_ptr<const TokenSide> tokens, Keep keep);

    /// Returns how many heads multiply() should get: their queries side by side are wide enough for BLAS to be fast.
    static int headsAtOnce(const ModelConfig& config);
    /// Multiplies the queries and the outputs of some heads with EᵀE and W_U W_Uᵀ, in one product for several heads, for the singular values
    /// of their full circuits.
    void multiply(std::span<const HeadFactors> heads);

    /// Returns the d_head singular values of one circuit, descending; missing ones (rank < d_head) are 0.
    ///
    /// They come from Gram products in double and symmetric eigenvalues, within 1e-5·σ₁. If cancellation between the factors
    /// could break that bound, or the vocabulary is smaller than the head, they come from QR of the factors.
    /// Errors: Corrupt if a number is not finite.
    Result<std::vector<double>> singularValues(CircuitKind kind, const HeadFactors& head);

    /// Returns the d_head eigenvalues of one circuit `inReadingOrder`; missing ones (rank < d_head) are 0.
    /// \param weights of `head`; null: read where they are needed
    /// Errors: InvalidArgument if the circuit is not square; Corrupt if a number is not finite.
    Result<std::vector<std::complex<double>>> eigenvalues(CircuitKind kind, HeadId head,
                                                          const HeadWeights<double>* weights = nullptr);

private:
    using Eigenvalues = std::vector<std::complex<double>>;
    using Made = std::function<Matrix<double>()>;

    enum class Of { KeysAndValues, UnembeddedValues };
    enum class End { Queries, Outputs }; // of a head that only it has
    struct ProductId {
        Of of;
        int layer, kvHead;

        bool operator==(const ProductId&) const = default;
    };
    /// A product that one thread computes while the others that need it wait.
    struct Product {
        ProductId id;
        std::once_flag once;
        Matrix<double> value;
    };
    struct Grams;

    std::shared_ptr<const Matrix<double>> product(Of of, HeadId head, const Made& make);
    double normBoundOf(const Matrix<double>& gram);
    Grams grams(CircuitKind kind, const HeadFactors& head);
    const Matrix<double>& tokenGram(End end, int layer) const;
    std::vector<Matrix<double>> endGrams(End end, std::span<const HeadFactors> heads);
    Matrix<double> endGram(End end, const HeadFactors& head);
    Matrix<double> scores(HeadId head, const HeadWeights<double>& weights);
    Result<Eigenvalues> computeEigenvalues(CircuitKind kind, HeadId head, const HeadWeights<double>& weights);

    const Circuits m_circuits;
    const std::shared_ptr<const TokenSide> m_tokens;
    const Keep m_keep;
    std::mutex m_mutex;                             // of everything below
    std::list<std::shared_ptr<Product>> m_products; // the latest first
    std::map<const Matrix<double>*, double> m_normBounds;
    std::map<std::pair<End, HeadId>, Matrix<double>> m_endGrams; // of multiply(), [r, r]
    std::map<HeadId, Matrix<double>> m_scores;                   // W_Kᵀ EᵀE W_Q, [r, r]
    std::map<std::pair<CircuitKind, HeadId>, Eigenvalues> m_eigenvalues;
};

} // namespace headwise
