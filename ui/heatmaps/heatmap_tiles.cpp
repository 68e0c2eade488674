// Pictures of circuits too large to form.

#include "ui/heatmaps/heatmap_painter.h"

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

/// Returns, for each pixel of an axis, the entry of `level` under its centre.
std::vector<int> entriesUnder(double from, double perPixel, int pixels, int level, Eigen::Index entries)
{
    std::vector<int> places;
    for (int i = 0; i < pixels; ++i) {
        const auto cell = static_cast<Eigen::Index>(from + (i + 0.5) * perPixel);
        places.push_back(static_cast<int>(std::clamp<Eigen::Index>(cell >> level, 0, entries - 1)));
    }
    return places;
}

/// Pixels [first, end) of an axis that show entries of one tile.
struct Run {
    int first, end, tile;
};

std::vector<Run> runsOf(const std::vector<int>& entries)
{
    std::vector<Run> runs;
    for (int i = 0; i < static_cast<int>(entries.size()); ++i) {
        const int tile = entries[static_cast<std::size_t>(i)] / tileSide;
        if (runs.empty() || runs.back().tile != tile)
            runs.push_back({i, i, tile});
        runs.back().end = i + 1;
    }
    return runs;
}

/// A picture in progress: the entry of the level that each of its pixels shows.
struct TiledPicture {
    QImage image;
    std::vector<int> rows;
    std::vector<int> columns;
    Colorizer color;

    void paint(const Run& down, const Run& across, const TileLoader::Source& source);
    void paintRow(QRgb* line, const Run& across, const TileLoader::Source& source, int entryRow) const;
};

void TiledPicture::paint(const Run& down, const Run& across, const TileLoader::Source& source)
{
    for (int y = down.first; y < down.end; ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        const int row = rows[static_cast<std::size_t>(y)];
        if (y == down.first || row != rows[static_cast<std::size_t>(y) - 1]) {
            paintRow(line, across, source, row);
            continue;
        }
        const auto* above = reinterpret_cast<const QRgb*>(image.constScanLine(y - 1));
        std::copy(above + across.first, above + across.end, line + across.first);
    }
}

void TiledPicture::paintRow(QRgb* line, const Run& across, const TileLoader::Source& source,
                            int entryRow) const
{
    const auto stride = source.values->outerStride();
    const float* row = source.values->data() + ((entryRow >> source.coarser) - source.row);
    int shown = -1;
    for (int x = across.first; x < across.end; ++x) {
        const int entry = columns[static_cast<std::size_t>(x)];
        line[x] =
            entry == shown ? line[x - 1] : color(row[((entry >> source.coarser) - source.column) * stride]);
        shown = entry;
    }
}

} // namespace

int tileLevel(const HeatmapScene& scene, const QSize& size)
{
    const double cells =
        std::max(scene.visible.width() / size.width(), scene.visible.height() / size.height());
    const int level = static_cast<int>(std::ceil(std::log2(std::max(1.0, cells)) - 1e-6));
    return std::min(level, scene.tiles->levelCount() - 1);
}

QImage tiledImage(const HeatmapScene& scene, TileLoader& loader, const QSize& size,
                  std::vector<TileKey>& visible)
{
    visible.clear();
    if (size.isEmpty() || scene.isEmpty())
        return {};
    const int level = tileLevel(scene, size);
    TiledPicture picture{QImage(size, QImage::Format_RGB32),
                         entriesUnder(scene.visible.top(), scene.visible.height() / size.height(),
                                      size.height(), level, scene.tiles->rowsAt(level)),
                         entriesUnder(scene.visible.left(), scene.visible.width() / size.width(),
                                      size.width(), level, scene.tiles->colsAt(level)),
                         Colorizer(scene.scale)};
    const std::vector<Run> acrossRuns = runsOf(picture.columns);
    for (const Run& down : runsOf(picture.rows)) {
        for (const Run& across : acrossRuns) {
            const TileKey key{scene.aggregate, level, down.tile, across.tile};
            if (level < scene.tiles->overviewLevel())
                visible.push_back(key);
            picture.paint(down, across, loader.sourceOf(key));
        }
    }
    return picture.image;
}

} // namespace headwise::ui
