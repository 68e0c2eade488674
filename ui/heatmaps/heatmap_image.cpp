#include "ui/heatmaps/heatmap_painter.h"

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

// NaN compares false with everything, so it stays once met; infinity is the largest magnitude.
float heatmapImageStronger(float a, float b)
{
    return (std::abs(b) > std::abs(a)) | (b != b) ? b : a; // | instead of ||, to avoid a branch.
}

/// The entries of a level under each pixel of one axis: [first[i], end[i]).
struct Spans {
    std::vector<Eigen::Index> first;
    std::vector<Eigen::Index> end;
    int longest = 1;
};

Spans spansOf(double from, double cellsPerPixel, int pixels, double cellsPerEntry, Eigen::Index entries)
{
    Spans spans;
    for (int i = 0; i < pixels; ++i) {
        const double begin = (from + i * cellsPerPixel) / cellsPerEntry;
        // A pixel inside a cell takes the cell at its centre.
        const bool magnified = cellsPerPixel <= 1;
        const double end = (from + (i + 1) * cellsPerPixel) / cellsPerEntry;
        const double at = magnified ? (begin + end) / 2 : begin;
        const Eigen::Index first = std::clamp(static_cast<Eigen::Index>(at), Eigen::Index{0}, entries - 1);
        const auto last = magnified ? first + 1 : static_cast<Eigen::Index>(std::ceil(end));
        spans.first.push_back(first);
        spans.end.push_back(std::clamp(last, first + 1, entries));
        spans.longest = std::max(spans.longest, static_cast<int>(spans.end.back() - first));
    }
    return spans;
}

/// Finds the strongest entry under each pixel, [pixel rows, pixel columns]: first down the columns, which are contiguous
/// in memory, then across them.
Eigen::MatrixXf strongestUnder(const Eigen::MatrixXf& level, const Spans& rows, const Spans& columns)
{
    const auto height = static_cast<Eigen::Index>(rows.first.size());
    const auto width = static_cast<Eigen::Index>(columns.first.size());
    const Eigen::Index firstColumn = columns.first.front();
    const Eigen::Index firstRow = rows.first.front();
    Eigen::MatrixXf down(height, columns.end.back() - firstColumn);
    // Every pixel reads as many entries as the busiest one, repeating its last: loops of fixed length are several times
    // faster.
    std::vector<int> offsets(static_cast<std::size_t>(height * rows.longest));
    for (std::size_t y = 0; y < rows.first.size(); ++y)
        for (int k = 0; k < rows.longest; ++k)
            offsets[static_cast<std::size_t>(k) * rows.first.size() + y] =
                static_cast<int>(std::min(rows.first[y] + k, rows.end[y] - 1) - firstRow);
    for (Eigen::Index column = 0; column < down.cols(); ++column) {
        const float* from = &level.coeffRef(firstRow, firstColumn + column);
        float* to = &down.coeffRef(0, column);
        for (Eigen::Index y = 0; y < height; ++y)
            to[y] = from[offsets[static_cast<std::size_t>(y)]];
        for (int k = 1; k < rows.longest; ++k) {
            const int* offset = offsets.data() + k * height;
            for (Eigen::Index y = 0; y < height; ++y)
                to[y] = heatmapImageStronger(to[y], from[offset[y]]);
        }
    }
    Eigen::MatrixXf result(height, width);
    for (Eigen::Index x = 0; x < width; ++x) {
        const Eigen::Index first = columns.first[static_cast<std::size_t>(x)] - firstColumn;
        result.col(x) = down.col(first);
        float* to = &result.coeffRef(0, x);
        for (Eigen::Index column = first + 1; column < columns.end[static_cast<std::size_t>(x)] - firstColumn;
             ++column) {
            const float* from = &down.coeffRef(0, column);
            for (Eigen::Index y = 0; y < height; ++y)
                to[y] = heatmapImageStronger(to[y], from[y]);
        }
    }
    return result;
}

/// Computes the mean under each pixel: sums down the columns, then across them.
Eigen::MatrixXf meanUnder(const Eigen::MatrixXf& level, const Spans& rows, const Spans& columns)
{
    const auto height = static_cast<Eigen::Index>(rows.first.size());
    const auto width = static_cast<Eigen::Index>(columns.first.size());
    const Eigen::Index firstColumn = columns.first.front();
    Eigen::MatrixXf down(height, columns.end.back() - firstColumn);
    for (Eigen::Index column = 0; column < down.cols(); ++column) {
        for (Eigen::Index y = 0; y < height; ++y) {
            const Eigen::Index first = rows.first[static_cast<std::size_t>(y)];
            const Eigen::Index count = rows.end[static_cast<std::size_t>(y)] - first;
            down(y, column) =
                level.col(firstColumn + column).segment(first, count).sum() / static_cast<float>(count);
        }
    }
    Eigen::MatrixXf result(height, width);
    for (Eigen::Index x = 0; x < width; ++x) {
        const Eigen::Index first = columns.first[static_cast<std::size_t>(x)];
        const Eigen::Index count = columns.end[static_cast<std::size_t>(x)] - first;
        result.col(x) = down.col(first - firstColumn);
        for (Eigen::Index k = 1; k < count; ++k)
            result.col(x) += down.col(first - firstColumn + k);
        result.col(x) /= static_cast<float>(count);
    }
    return result;
}

/// The up to four entries that form one entry of the next level. At the far edges they stand for fewer cells.
struct Four {
    Eigen::Index row, column;         // the first of them
    Eigen::Index nextRow, nextColumn; // equal to the first if there is no other
    float rowShare, columnShare;      // fractions of the cells that belong to the next row and column
};

float strongestOf(const Eigen::MatrixXf& below, const Four& four)
{
    return heatmapImageStronger(
        heatmapImageStronger(below(four.row, four.column), below(four.nextRow, four.column)),
        heatmapImageStronger(below(four.row, four.nextColumn), below(four.nextRow, four.nextColumn)));
}

float meanOf(const Eigen::MatrixXf& below, const Four& four)
{
    const auto down = [&](Eigen::Index column) {
        return (1 - four.rowShare) * below(four.row, column) + four.rowShare * below(four.nextRow, column);
    };
    return (1 - four.columnShare) * down(four.column) + four.columnShare * down(four.nextColumn);
}

// Returns the second entry's fraction of the cells of two neighbours that cover `under` cells each; the last may cover
// fewer.
float shareOfNext(Eigen::Index first, Eigen::Index under, Eigen::Index cells)
{
    const Eigen::Index second = std::clamp<Eigen::Index>(cells - (first + 1) * under, 0, under);
    return static_cast<float>(second) / static_cast<float>(under + second);
}

// Works in blocks, because values are stored by columns and pictures by rows.
void colorInto(QImage& image, const Eigen::MatrixXf& values, const Colorizer& color, QRgb hatch,
               const ThemeColors& colors)
{
    constexpr int block = 32;
    const QRgb ground = colors.base.rgb();
    for (int left = 0; left < image.width(); left += block) {
        const int right = std::min(left + block, image.width());
        for (int y = 0; y < image.height(); ++y) {
            auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
            for (int x = left; x < right; ++x) {
                const float value = values(y, x);
                line[x] = std::isfinite(value) ? color(value) : (x + y) % 8 < 2 ? hatch : ground;
            }
        }
    }
}

} // namespace

MatrixPyramid::MatrixPyramid(std::shared_ptr<const Eigen::MatrixXf> matrix, Aggregate aggregate)
    : m_matrix(std::move(matrix))
    , m_aggregate(aggregate)
{
}

const Eigen::MatrixXf& MatrixPyramid::level(int index)
{
    while (static_cast<int>(m_levels.size()) < index) {
        const Eigen::MatrixXf& below = m_levels.empty() ? *m_matrix : m_levels.back();
        const Eigen::Index under = Eigen::Index{1} << m_levels.size();
        Eigen::MatrixXf above((below.rows() + 1) / 2, (below.cols() + 1) / 2);
        for (Eigen::Index column = 0; column < above.cols(); ++column)
            for (Eigen::Index row = 0; row < above.rows(); ++row) {
                const Four four{2 * row,
                                2 * column,
                                std::min(2 * row + 1, below.rows() - 1),
                                std::min(2 * column + 1, below.cols() - 1),
                                shareOfNext(2 * row, under, m_matrix->rows()),
                                shareOfNext(2 * column, under, m_matrix->cols())};
                above(row, column) =
                    m_aggregate == Aggregate::Mean ? meanOf(below, four) : strongestOf(below, four);
            }
        m_levels.push_back(std::move(above));
    }
    return index == 0 ? *m_matrix : m_levels[static_cast<std::size_t>(index) - 1];
}

QImage heatmapImage(const HeatmapScene& scene, MatrixPyramid& pyramid, const QSize& size,
                    const ThemeColors& colors)
{
    if (size.isEmpty() || !scene.matrix || scene.matrix->size() == 0)
        return {};
    const double acrossPixel = scene.visible.width() / size.width();
    const double downPixel = scene.visible.height() / size.height();
    const int index = std::max(0, static_cast<int>(std::floor(std::log2(std::min(acrossPixel, downPixel)))));
    const Eigen::MatrixXf& level = pyramid.level(index);
    const double cellsPerEntry = std::exp2(index);
    const Spans columns =
        spansOf(scene.visible.left(), acrossPixel, size.width(), cellsPerEntry, level.cols());
    const Spans rows = spansOf(scene.visible.top(), downPixel, size.height(), cellsPerEntry, level.rows());

    QImage image(size, QImage::Format_RGB32);
    colorInto(image,
              scene.aggregate == Aggregate::Mean ? meanUnder(level, rows, columns)
                                                 : strongestUnder(level, rows, columns),
              Colorizer(scene.scale), (scene.nanIsAbsent ? colors.base : colors.muted).rgb(), colors);
    return image;
}

} // namespace headwise::ui
