#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"
#include "core/model/processing.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace headwise {

/// Consecutive tokens of a TokenMatrix: a view of it where it is held, else a copy. The view must not outlive the matrix.
template <typename Scalar>
class TokenBlock {
public:
    using View = Eigen::Map<const Matrix<Scalar>, 0, Eigen::OuterStride<>>;

    explicit TokenBlock(Matrix<Scalar> read)
        : m_read(std::move(read))
        , m_view(m_read.data(), m_read.rows(), m_read.cols(), Eigen::OuterStride<>(m_read.outerStride()))
    {
    }
    explicit TokenBlock(View held)
        : m_view(held)
    {
    }
    TokenBlock(TokenBlock&&) noexcept = default; // a moved matrix keeps its numbers where they are
    TokenBlock& operator=(TokenBlock&&) = delete;

    const View& operator*() const { return m_view; }
    const View* operator->() const { return &m_view; }

private:
    Matrix<Scalar> m_read;
    View m_view;
};

/// Mean and lengths of the vectors of all tokens.
struct TokenStatistics {
    RowVector<double> mean;    ///< [d]
    RowVector<double> lengths; ///< [tokens] Euclidean norms
};

/// A matrix with one vector of length d for each token of the vocabulary: E [tokens, d], or W_U [d, tokens]. It is held in memory, or
/// read from the file a few tokens at a time, by several threads at once. A cheap handle.
///
/// It is exact if its numbers are known in double; else they are rounded to float and double is a cast of that.
class TokenMatrix {
public:
    enum class Vectors { Rows, Columns };
    /// Reads tokens [first, first + count).
    template <typename Scalar>
    using Read = std::function<Matrix<Scalar>(Eigen::Index first, Eigen::Index count)>;

    TokenMatrix() = default; ///< Has no tokens.
    TokenMatrix(Vectors are, Matrix<float> held);
    TokenMatrix(Vectors are, Matrix<double> held); ///< Exact. Holds the rounded matrix besides.
    TokenMatrix(Vectors are, Eigen::Index count, Read<float> read);
    TokenMatrix(Vectors are, Eigen::Index count, Read<double> read); ///< Exact.
    /// Adds a faster way to what dotTokens() and timesTokens() need. \param stored reads vectors as the file has them, [d, count]; each
    /// vector of this matrix is end.factors ∘ stored − end.mean, which the two then do not round.
    void setStored(StoredEnd end, Read<double> stored);

    Eigen::Index count() const { return m_count; } ///< Number of tokens.
    bool isEmpty() const { return m_count == 0; }
    bool isExact() const { return m_exact || m_readExact; }
    bool isHeld() const { return m_rounded != nullptr; }
    Vectors vectors() const { return m_are; }

    /// Returns tokens [first, first + count), [count, d] or [d, count].
    template <typename Scalar>
    TokenBlock<Scalar> block(Eigen::Index first, Eigen::Index count) const;
    /// Returns the vector of one token, [d].
    RowVector<double> vector(int token) const;
    /// Returns the tokens `ids` as `block` does.
    template <typename Scalar>
    Matrix<Scalar> of(const std::vector<int>& ids) const;
    /// Returns all tokens: the matrix itself where it is held, else a copy.
    template <typename Scalar>
    std::shared_ptr<const Matrix<Scalar>> whole() const;
    /// Returns all tokens as columns, [d, tokens]: the matrix itself if it is held so, else a copy.
    template <typename Scalar>
    std::shared_ptr<const Matrix<Scalar>> columns() const;
    /// Returns the same in double if the matrix is exact, else an empty matrix.
    std::shared_ptr<const Matrix<double>> exactColumns() const;
    /// Returns mean and lengths, which copies share: they are computed for the first that asks, then kept. Peers share the work.
    /// Errors: Cancelled.
    Result<std::shared_ptr<const TokenStatistics>> statistics(const Task& task, std::string_view step) const;
    /// Returns the same with its matrix held. It is read by several threads.
    /// \param step name of the step in the progress
    /// Errors: Cancelled.
    Result<TokenMatrix> held(const Task& task, std::string_view step) const;

private:
    friend class TokenProduct;
    bool isReadAsStored() const;
    /// Calls `body` with the first of a few tokens and their vectors, [d, n], as m_stored reads them if it is used, else this matrix's.
    template <typename Body>
    void forEachStored(Eigen::Index first, Eigen::Index count, const Body& body) const;
    template <typename Scalar>
    const std::shared_ptr<const Matrix<Scalar>>& heldIn() const;
    template <typename Scalar>
    Matrix<Scalar> read(Eigen::Index first, Eigen::Index count) const;
    Result<TokenStatistics> computeStatistics(const Task& task, std::string_view step) const;
    template <typename Scalar>
    Result<TokenMatrix> readWhole(const Task& task, std::string_view step) const;

    Vectors m_are = Vectors::Rows;
    Eigen::Index m_count = 0;
    std::shared_ptr<const Matrix<float>> m_rounded;
    std::shared_ptr<const Matrix<double>> m_exact;
    Read<float> m_read;
    Read<double> m_readExact;
    Read<double> m_stored; // none, or with m_end
    StoredEnd m_end;
    struct Kept {
        std::mutex mutex;
        std::shared_ptr<const TokenStatistics> statistics;
    };
    std::shared_ptr<Kept> m_kept = std::make_shared<Kept>();
};

/// Returns E · W, [tokens, n], of vectors that are rows, and W · W_U, [n, tokens], of vectors that are columns, a block of tokens at a
/// time. \param W [d, n] and [n, d]
template <typename Scalar>
Matrix<Scalar> rowsTimes(const TokenMatrix& E, const Matrix<Scalar>& W);
template <typename Scalar>
Matrix<Scalar> timesColumns(const Matrix<Scalar>& W, const TokenMatrix& W_U);

/// Returns x times the vector of every token, [tokens], in double; float vectors are not copied to double. \param x [d]
/// \param step name of the step in the progress
/// Errors: Cancelled.
Result<RowVector<double>> dotTokens(const TokenMatrix& matrix, const RowVector<double>& x, const Task& task,
                                    std::string_view step);

/// Returns W times the vector of every token, [n, tokens], by all threads and without progress. \param W [n, d]
/// Errors: Cancelled.
Result<Matrix<double>> timesTokens(const Matrix<double>& W, const TokenMatrix& matrix, const Task& task);

} // namespace headwise
