#include "core/circuits/token_matrix.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cassert>
#include <type_traits>

namespace headwise {

namespace {

constexpr Eigen::Index tokenMatrixPerBlock = 2048;
constexpr Eigen::Index tokenMatrixPerReading = 512; // of a matrix that is read: the tokens stay in the cache
constexpr Eigen::Index tokenMatrixPerProduct = 32;  // in double, in the cache of one core

Eigen::Index perBlock(const TokenMatrix& matrix)
{
    return matrix.isHeld() ? tokenMatrixPerBlock : tokenMatrixPerReading;
}

Eigen::Index tokensOf(TokenMatrix::Vectors are, Eigen::Index rows, Eigen::Index cols)
{
    return are == TokenMatrix::Vectors::Rows ? rows : cols;
}

/// Calls `body` with the first token and the number of tokens of each block.
template <typename Body>
void forEachBlock(Eigen::Index tokens, Eigen::Index size, const Body& body)
{
    for (Eigen::Index first = 0; first < tokens; first += size)
        body(first, std::min(size, tokens - first));
}

/// Writes tokens · xᵀ to `out`. \param tokens [n, d] \param out [n]
void dotRows(const TokenBlock<float>::View& tokens, const RowVector<double>& x,
             Eigen::Ref<Eigen::VectorXd> out)
{
    const auto term = [&](Eigen::Index k) { return tokens.col(k).cast<double>() * x(k); };
    out.setZero();
    Eigen::Index k = 0;
    // four at once, so that the sums are read and written a quarter as often
    for (; k + 4 <= tokens.cols(); k += 4)
        out += term(k) + term(k + 1) + term(k + 2) + term(k + 3);
    for (; k < tokens.cols(); ++k)
        out += term(k);
}

/// Writes tokensᵀ · xᵀ to `out`; the cast part of the tokens stays in the cache. \param tokens [d, n] \param out [n]
void dotColumns(const TokenBlock<float>::View& tokens, const RowVector<double>& x,
                Eigen::Ref<Eigen::VectorXd> out)
{
    const Eigen::VectorXd direction = x.transpose();
    Eigen::VectorXd column(tokens.rows());
    for (Eigen::Index token = 0; token < tokens.cols(); ++token) {
        column = tokens.col(token).cast<double>();
        out(token) = column.dot(direction);
    }
}

} // namespace

TokenMatrix::TokenMatrix(Vectors are, Matrix<float> held)
    : m_are(are)
    , m_count(tokensOf(are, held.rows(), held.cols()))
    , m_rounded(std::make_shared<const Matrix<float>>(std::move(held)))
{
}

TokenMatrix::TokenMatrix(Vectors are, Matrix<double> held)
    : m_are(are)
    , m_count(tokensOf(are, held.rows(), held.cols()))
    , m_rounded(std::make_shared<const Matrix<float>>(held.cast<float>()))
    , m_exact(std::make_shared<const Matrix<double>>(std::move(held)))
{
}

TokenMatrix::TokenMatrix(Vectors are, Eigen::Index count, Read<float> read)
    : m_are(are)
    , m_count(count)
    , m_read(std::move(read))
{
}

TokenMatrix::TokenMatrix(Vectors are, Eigen::Index count, Read<double> read)
    : m_are(are)
    , m_count(count)
    , m_readExact(std::move(read))
{
}

void TokenMatrix::setStored(StoredEnd end, Read<double> stored)
{
    m_end = std::move(end);
    m_stored = std::move(stored);
}

bool TokenMatrix::isReadAsStored() const
{
    return m_stored != nullptr && !isHeld();
}

template <typename Body>
void TokenMatrix::forEachStored(Eigen::Index first, Eigen::Index count, const Body& body) const
{
    forEachBlock(count, tokenMatrixPerProduct, [&](Eigen::Index at, Eigen::Index some) {
        if (isReadAsStored())
            return body(first + at, m_stored(first + at, some));
        const auto vectors = block<double>(first + at, some);
        if (m_are == Vectors::Rows)
            body(first + at, vectors->transpose());
        else
            body(first + at, *vectors);
    });
}

template <typename Scalar>
const std::shared_ptr<const Matrix<Scalar>>& TokenMatrix::heldIn() const
{
    if constexpr (std::is_same_v<Scalar, float>)
        return m_rounded;
    else
        return m_exact;
}

template <typename Scalar>
Matrix<Scalar> TokenMatrix::read(Eigen::Index first, Eigen::Index count) const
{
    if (m_readExact)
        return m_readExact(first, count).template cast<Scalar>();
    assert(m_read);
    return m_read(first, count).template cast<Scalar>();
}

template <typename Scalar>
TokenBlock<Scalar> TokenMatrix::block(Eigen::Index first, Eigen::Index count) const
{
    const auto part = [&](const auto& held) {
        return m_are == Vectors::Rows ? held.block(first, 0, count, held.cols())
                                      : held.block(0, first, held.rows(), count);
    };
    if (const auto& held = heldIn<Scalar>()) {
        const auto view = part(*held);
        return TokenBlock<Scalar>(typename TokenBlock<Scalar>::View(
            view.data(), view.rows(), view.cols(), Eigen::OuterStride<>(view.outerStride())));
    }
    if (m_rounded)
        return TokenBlock<Scalar>(Matrix<Scalar>(part(*m_rounded).template cast<Scalar>()));
    return TokenBlock<Scalar>(read<Scalar>(first, count));
}

RowVector<double> TokenMatrix::vector(int token) const
{
    const auto one = block<double>(token, 1);
    return one->reshaped().transpose();
}

template <typename Scalar>
Matrix<Scalar> TokenMatrix::of(const std::vector<int>& ids) const
{
    const auto some = [&](const auto& held) -> Matrix<Scalar> {
        if (m_are == Vectors::Rows)
            return held(ids, Eigen::all).template cast<Scalar>();
        return held(Eigen::all, ids).template cast<Scalar>();
    };
    if (const auto& held = heldIn<Scalar>())
        return some(*held);
    if (m_rounded)
        return some(*m_rounded);
    Matrix<Scalar> out;
    for (std::size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
        for (end = begin + 1; end < ids.size() && ids[end] == ids[end - 1] + 1;)
            ++end;
        const auto at = static_cast<Eigen::Index>(begin), count = static_cast<Eigen::Index>(end - begin);
        const Matrix<Scalar> run = read<Scalar>(ids[begin], count);
        const auto size = static_cast<Eigen::Index>(ids.size());
        if (m_are == Vectors::Rows) {
            out.resize(size, run.cols()); // does nothing after the first time
            out.middleRows(at, count) = run;
        } else {
            out.resize(run.rows(), size);
            out.middleCols(at, count) = run;
        }
    }
    return out;
}

template <typename Scalar>
std::shared_ptr<const Matrix<Scalar>> TokenMatrix::whole() const
{
    if (const auto& held = heldIn<Scalar>(); held || isEmpty())
        return held ? held : std::make_shared<const Matrix<Scalar>>();
    if (m_rounded)
        return std::make_shared<const Matrix<Scalar>>(m_rounded->template cast<Scalar>());
    auto out = std::make_shared<Matrix<Scalar>>();
    forEachBlock(m_count, tokenMatrixPerReading, [&](Eigen::Index first, Eigen::Index count) {
        const Matrix<Scalar> part = read<Scalar>(first, count);
        if (m_are == Vectors::Rows) {
            out->resize(m_count, part.cols());
            out->middleRows(first, count) = part;
        } else {
            out->resize(part.rows(), m_count);
            out->middleCols(first, count) = part;
        }
    });
    return out;
}

template <typename Scalar>
std::shared_ptr<const Matrix<Scalar>> TokenMatrix::columns() const
{
    if (m_are == Vectors::Columns || isEmpty())
        return whole<Scalar>();
    auto out = std::make_shared<Matrix<Scalar>>();
    forEachBlock(m_count, perBlock(*this), [&](Eigen::Index first, Eigen::Index count) {
        const auto part = block<Scalar>(first, count);
        out->resize(part->cols(), m_count); // does nothing after the first time
        out->middleCols(first, count) = part->transpose();
    });
    return out;
}

std::shared_ptr<const Matrix<double>> TokenMatrix::exactColumns() const
{
    return isExact() ? columns<double>() : std::make_shared<const Matrix<double>>();
}

template <typename Scalar>
Result<TokenMatrix> TokenMatrix::readWhole(const Task& task, std::string_view step) const
{
    const Matrix<Scalar> one = read<Scalar>(0, std::min<Eigen::Index>(1, m_count));
    const bool areRows = m_are == Vectors::Rows;
    Matrix<Scalar> out(areRows ? m_count : one.rows(), areRows ? one.cols() : m_count);
    const auto blocks = static_cast<int>((m_count + tokenMatrixPerReading - 1) / tokenMatrixPerReading);
    const auto done = parallelFor(blocks, task, step, [&](int block) -> Result<Done> {
        const Eigen::Index first = block * tokenMatrixPerReading;
        const Eigen::Index count = std::min(tokenMatrixPerReading, m_count - first);
        if (areRows)
            out.middleRows(first, count) = read<Scalar>(first, count);
        else
            out.middleCols(first, count) = read<Scalar>(first, count);
        return Done{};
    });
    if (!done)
        return done.error();
    return TokenMatrix(m_are, std::move(out));
}

Result<TokenMatrix> TokenMatrix::held(const Task& task, std::string_view step) const
{
    if (isHeld() || isEmpty())
        return *this;
    return isExact() ? readWhole<double>(task, step) : readWhole<float>(task, step);
}

Result<std::shared_ptr<const TokenStatistics>> TokenMatrix::statistics(const Task& task,
                                                                       std::string_view step) const
{
    {
        const std::lock_guard lock(m_kept->mutex);
        if (m_kept->statistics)
            return m_kept->statistics;
    }
    // Outside the lock, so that nobody who is cancelled waits for another's pass.
    auto computed = computeStatistics(task, step);
    if (!computed)
        return computed.error();
    const std::lock_guard lock(m_kept->mutex);
    m_kept->statistics = std::make_shared<const TokenStatistics>(std::move(computed).value());
    return m_kept->statistics;
}

Result<TokenStatistics> TokenMatrix::computeStatistics(const Task& task, std::string_view step) const
{
    constexpr Eigen::Index size = tokenMatrixPerReading;
    const auto own = task.ownBlocks(static_cast<int>((m_count + size - 1) / size));
    const int blocks = own.second - own.first;
    std::vector<Eigen::VectorXd> sums(static_cast<std::size_t>(blocks)); // added in order below
    TokenStatistics out{RowVector<double>::Zero(isEmpty() ? 0 : vector(0).size()),
                        RowVector<double>::Zero(m_count)};
    const auto done = parallelFor(blocks, task, step, [&](int index) -> Result<Done> {
        const Eigen::Index begin = (own.first + index) * size, count = std::min(size, m_count - begin);
        Eigen::VectorXd& sum = sums[static_cast<std::size_t>(index)];
        forEachStored(begin, count, [&](Eigen::Index first, const auto& stored) {
            Matrix<double> vectors = stored;
            if (isReadAsStored() && !m_end.isStored()) {
                vectors.array().colwise() *= m_end.factors.array();
                vectors.colwise() -= m_end.mean;
            }
            out.lengths.segment(first, vectors.cols()) = vectors.colwise().norm();
            if (sum.size() == 0)
                sum = Eigen::VectorXd::Zero(vectors.rows());
            for (Eigen::Index i = 0; i < vectors.cols(); ++i)
                sum += vectors.col(i);
        });
        return Done{};
    });
    if (!done)
        return done.error();
    for (const Eigen::VectorXd& sum : sums)
        out.mean += sum.transpose();
    for (RowVector<double>* part : {&out.mean, &out.lengths})
        if (const auto summed = task.sumOverPeers({part->data(), static_cast<std::size_t>(part->size())});
            !summed)
            return summed.error();
    out.mean /= static_cast<double>(std::max<Eigen::Index>(m_count, 1));
    return out;
}

template <typename Scalar>
Matrix<Scalar> rowsTimes(const TokenMatrix& E, const Matrix<Scalar>& W)
{
    Matrix<Scalar> out(E.count(), W.cols());
    forEachBlock(E.count(), perBlock(E), [&](Eigen::Index first, Eigen::Index count) {
        out.middleRows(first, count).noalias() = *E.block<Scalar>(first, count) * W;
    });
    return out;
}

template <typename Scalar>
Matrix<Scalar> timesColumns(const Matrix<Scalar>& W, const TokenMatrix& W_U)
{
    Matrix<Scalar> out(W.rows(), W_U.count());
    forEachBlock(W_U.count(), perBlock(W_U), [&](Eigen::Index first, Eigen::Index count) {
        out.middleCols(first, count).noalias() = W * *W_U.block<Scalar>(first, count);
    });
    return out;
}

/// The rows W times the vectors of tokens, in double, through what the file has where that is known.
class TokenProduct {
public:
    /// \param W [n, d]
    TokenProduct(const Matrix<double>& W, const TokenMatrix& matrix)
        : m_matrix(matrix)
        , m_isStored(matrix.isReadAsStored())
        , m_left(m_isStored ? Matrix<double>(W * matrix.m_end.factors.asDiagonal()) : W)
    {
        if (m_isStored)
            m_shift = W * matrix.m_end.mean;
    }

    /// Whether a product of one row is made better from the rounded matrix, whose numbers are not copied.
    bool isOfRounded() const { return !m_isStored && !m_matrix.isExact(); }

    /// Writes the product to `out`, of the tokens from `first` on. \param out [n, tokens]
    void write(Eigen::Index first, Eigen::Ref<Matrix<double>> out) const
    {
        m_matrix.forEachStored(first, out.cols(), [&](Eigen::Index at, const auto& tokens) {
            auto part = out.middleCols(at - first, tokens.cols());
            if (m_left.rows() == 1)
                part.row(0).noalias() = m_left.row(0) * tokens; // by BLAS' product with a vector
            else
                part.noalias() = m_left * tokens;
            if (m_isStored)
                part.colwise() -= m_shift;
        });
    }

private:
    const TokenMatrix& m_matrix;
    bool m_isStored;
    Matrix<double> m_left;
    Eigen::VectorXd m_shift; // [n], of stored vectors
};

Result<RowVector<double>> dotTokens(const TokenMatrix& matrix, const RowVector<double>& x, const Task& task,
                                    std::string_view step)
{
    const Eigen::Index perStrip = perBlock(matrix); // tokens whose sums stay in the cache
    const TokenProduct product(x, matrix);
    Matrix<double> out(1, matrix.count());
    const auto strips = static_cast<int>((out.cols() + perStrip - 1) / perStrip);
    const auto done = parallelFor(strips, task, step, [&](int strip) -> Result<Done> {
        const Eigen::Index first = strip * perStrip, count = std::min(perStrip, out.cols() - first);
        if (!product.isOfRounded()) {
            product.write(first, out.middleCols(first, count));
            return Done{};
        }
        auto sums = out.reshaped().segment(first, count);
        const auto tokens = matrix.block<float>(first, count);
        if (matrix.vectors() == TokenMatrix::Vectors::Rows)
            dotRows(*tokens, x, sums);
        else
            dotColumns(*tokens, x, sums);
        return Done{};
    });
    if (!done)
        return done.error();
    return RowVector<double>(out);
}

Result<Matrix<double>> timesTokens(const Matrix<double>& W, const TokenMatrix& matrix, const Task& task)
{
    const TokenProduct product(W, matrix);
    Matrix<double> out(W.rows(), matrix.count());
    const auto strips = static_cast<int>((out.cols() + tokenMatrixPerReading - 1) / tokenMatrixPerReading);
    const auto done =
        parallelFor(strips, Task{task.stop, {}, task.threads}, {}, [&](int strip) -> Result<Done> {
            const Eigen::Index first = strip * tokenMatrixPerReading;
            product.write(first, out.middleCols(first, std::min(tokenMatrixPerReading, out.cols() - first)));
            return Done{};
        });
    if (!done)
        return done.error();
    return out;
}

template TokenBlock<float> TokenMatrix::block(Eigen::Index, Eigen::Index) const;
template TokenBlock<double> TokenMatrix::block(Eigen::Index, Eigen::Index) const;
template Matrix<float> TokenMatrix::of(const std::vector<int>&) const;
template Matrix<double> TokenMatrix::of(const std::vector<int>&) const;
template std::shared_ptr<const Matrix<float>> TokenMatrix::whole() const;
template std::shared_ptr<const Matrix<double>> TokenMatrix::whole() const;
template std::shared_ptr<const Matrix<float>> TokenMatrix::columns() const;
template std::shared_ptr<const Matrix<double>> TokenMatrix::columns() const;
template Matrix<float> rowsTimes(const TokenMatrix&, const Matrix<float>&);
template Matrix<double> rowsTimes(const TokenMatrix&, const Matrix<double>&);
template Matrix<float> timesColumns(const Matrix<float>&, const TokenMatrix&);
template Matrix<double> timesColumns(const Matrix<double>&, const TokenMatrix&);

} // namespace headwise
