#include "core/checkpoint/low_rank.h"

#include "core/checkpoint/weight_map.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace headwise {
namespace {

/// Rows row, row + rowStep, … and a run of columns of a stored matrix.
struct MatrixBlock {
    std::int64_t row = 0, rowStep = 1, rows = 0;
    std::int64_t col = 0, cols = 0;
};

std::int64_t widthOf(const LowRankChange& change)
{
    return change.isTransposed ? change.outputs : change.inputs;
}

/// The rows and columns that a view reads one to one; nothing if it reads any other numbers.
std::optional<MatrixBlock> blockOf(const TensorView& view, std::int64_t width)
{
    const std::int64_t col = view.offset % width;
    const bool isLine = view.cols == 1 || view.colStride == 1;
    const bool areRows = view.rows == 1 || (view.rowStride > 0 && view.rowStride % width == 0);
    if (!isLine || !areRows || col + view.cols > width)
        return std::nullopt;
    return MatrixBlock{view.offset / width, view.rows == 1 ? 1 : view.rowStride / width, view.rows, col,
                       view.cols};
}

/// A block of B A, as W is stored, in two factors.
struct BlockFactors {
    Matrix<double> left;  // [rows, rank]
    Matrix<double> right; // [rank, cols]
};

BlockFactors blockFactorsOf(const LowRankChange& change, const MatrixBlock& block)
{
    // B's entry (output, k) is element output · rank + k, and A's (k, input) is element k · inputs + input.
    BlockFactors factors;
    const std::int64_t rank = change.rank;
    if (change.isTransposed) {
        change.adapter->read({change.a, block.row, block.rowStep, change.inputs, block.rows, rank},
                             factors.left);
        change.adapter->read({change.b, block.col * rank, 1, rank, rank, block.cols}, factors.right);
    } else {
        change.adapter->read({change.b, block.row * rank, block.rowStep * rank, 1, block.rows, rank},
                             factors.left);
        change.adapter->read({change.a, block.col, change.inputs, 1, rank, block.cols}, factors.right);
    }
    return factors;
}

/// Adds scale · B A. The order of the sum does not depend on the block, so that a number is the same in every block.
void addProduct(const BlockFactors& factors, double scale, Matrix<double>& numbers)
{
    Matrix<double> sum(numbers.rows(), 1);
    for (Eigen::Index col = 0; col < numbers.cols(); ++col) {
        sum.setZero();
        for (Eigen::Index k = 0; k < factors.right.rows(); ++k)
            sum.col(0) += factors.right(k, col) * factors.left.col(k);
        numbers.col(col) += scale * sum.col(0);
    }
}

/// The changed matrix at a view's tensor.
class ChangedMatrix {
public:
    ChangedMatrix(const LowRankChange& change, int tensor, const ReadBase& readBase)
        : m_change(change)
        , m_tensor(tensor)
        , m_readBase(readBase)
    {
    }

    Matrix<double> block(const MatrixBlock& block) const
    {
        const BlockFactors factors = blockFactorsOf(m_change, block);
        Matrix<double> numbers = base(block);
        if (m_change.magnitude < 0) {
            addProduct(factors, m_change.strength * m_change.scale, numbers);
            return numbers;
        }
        OutputFactors& outputs = *m_change.factors;
        std::call_once(outputs.made, [&] { makeOutputFactors(outputs.values); });
        Matrix<double> adapted = numbers;
        addProduct(factors, m_change.scale, adapted);
        const double strength = m_change.strength;
        for (Eigen::Index c = 0; c < numbers.cols(); ++c)
            for (Eigen::Index r = 0; r < numbers.rows(); ++r) {
                const std::int64_t output =
                    m_change.isTransposed ? block.col + c : block.row + r * block.rowStep;
                numbers(r, c) = (1 - strength) * numbers(r, c)
                    + strength * outputs.values[static_cast<std::size_t>(output)] * adapted(r, c);
            }
        return numbers;
    }

private:
    Matrix<double> base(const MatrixBlock& block) const
    {
        const std::int64_t width = widthOf(m_change);
        Matrix<double> numbers;
        m_readBase(
            {m_tensor, block.row * width + block.col, block.rowStep * width, 1, block.rows, block.cols},
            numbers);
        return numbers;
    }

    void makeOutputFactors(std::vector<double>& values) const
    {
        constexpr std::int64_t numbersAtOnce = 1 << 18;
        const bool isTransposed = m_change.isTransposed;
        const std::int64_t rows = isTransposed ? m_change.inputs : m_change.outputs;
        const std::int64_t step = std::max<std::int64_t>(1, numbersAtOnce / widthOf(m_change));
        std::vector<double> squares(static_cast<std::size_t>(m_change.outputs));
        for (std::int64_t row = 0; row < rows; row += step) {
            const MatrixBlock block{row, 1, std::min(step, rows - row), 0, widthOf(m_change)};
            Matrix<double> numbers = base(block);
            addProduct(blockFactorsOf(m_change, block), m_change.scale, numbers);
            for (Eigen::Index c = 0; c < numbers.cols(); ++c)
                for (Eigen::Index r = 0; r < numbers.rows(); ++r)
                    squares[static_cast<std::size_t>(isTransposed ? c : row + r)] +=
                        numbers(r, c) * numbers(r, c);
        }
        values.resize(squares.size());
        m_change.adapter->readNumbers(m_change.magnitude, 0, m_change.outputs, values.data());
        for (std::size_t output = 0; output < values.size(); ++output)
            values[output] /= std::sqrt(squares[output]);
    }

    const LowRankChange& m_change;
    int m_tensor;
    const ReadBase& m_readBase;
};

/// Reads a view that is no block, run by run along the side whose numbers are neighbours.
template <typename Scalar>
void readByRuns(const ChangedMatrix& matrix, const TensorView& view, std::int64_t width, Matrix<Scalar>& out)
{
    const bool isDown = view.rowStride == 1;
    const std::int64_t lines = isDown ? view.cols : view.rows, length = isDown ? view.rows : view.cols;
    const std::int64_t along = isDown ? view.rowStride : view.colStride;
    const std::int64_t apart = isDown ? view.colStride : view.rowStride;
    for (std::int64_t line = 0; line < lines; ++line)
        for (std::int64_t done = 0; done < length;) {
            const std::int64_t at = view.offset + line * apart + done * along;
            const std::int64_t count = along == 1 ? std::min(length - done, width - at % width) : 1;
            const Matrix<double> numbers = matrix.block({at / width, 1, 1, at % width, count});
            for (std::int64_t i = 0; i < count; ++i, ++done)
                (isDown ? out(done, line) : out(line, done)) = static_cast<Scalar>(numbers(0, i));
        }
}

} // namespace

template <typename Scalar>
void readChanged(const LowRankChange& change, const TensorView& view, const ReadBase& readBase,
                 Matrix<Scalar>& out)
{
    out.resize(view.rows, view.cols);
    if (view.rows == 0 || view.cols == 0)
        return;
    const ChangedMatrix matrix(change, view.tensor, readBase);
    const std::int64_t width = widthOf(change);
    const TensorView across{view.tensor, view.offset, view.colStride, view.rowStride, view.cols, view.rows};
    constexpr std::int64_t numbersAtOnce = 1 << 20;
    const auto block = blockOf(view, width), transposed = block ? std::nullopt : blockOf(across, width);
    if (!block && !transposed)
        return readByRuns(matrix, view, width, out);
    MatrixBlock part = block ? *block : *transposed;
    const std::int64_t cols = part.cols, step = std::max<std::int64_t>(1, numbersAtOnce / part.rows);
    for (std::int64_t done = 0; done < cols; done += part.cols, part.col += part.cols) {
        part.cols = std::min(step, cols - done);
        if (block)
            out.middleCols(done, part.cols) = matrix.block(part).template cast<Scalar>();
        else
            out.middleRows(done, part.cols) = matrix.block(part).transpose().template cast<Scalar>();
    }
}

template void readChanged(const LowRankChange&, const TensorView&, const ReadBase&, Matrix<float>&);
template void readChanged(const LowRankChange&, const TensorView&, const ReadBase&, Matrix<double>&);

} // namespace headwise
