#include "ui/base/text.h"
#include "ui/heatmaps/heatmap_figure.h"
#include "ui/heatmaps/heatmap_view.h"

#include <algorithm>

// The numbers behind a heatmap on paper.

namespace headwise::ui {

std::optional<FigureArray> heatmapArray(const HeatmapContent& content)
{
    const HeatmapScene& scene = content.scene();
    if (scene.isEmpty() || content.level() > 0)
        return std::nullopt;
    const QRect part = scene.visibleCells();
    FigureArray array{{static_cast<std::size_t>(part.height()), static_cast<std::size_t>(part.width())}, {}};
    array.values.reserve(array.shape[0] * array.shape[1]);
    for (int row = part.top(); row <= part.bottom(); ++row)
        for (int column = part.left(); column <= part.right(); ++column)
            array.values.push_back(scene.at(row, column));
    return array;
}

DataRows heatmapRows(const HeatmapContent& content)
{
    const HeatmapScene& scene = content.scene();
    if (scene.isEmpty())
        return [](const std::function<void(const QStringList&)>& /*writeRow*/) {};
    const int level = std::max(0, content.level());
    const QRect part = scene.visibleCells();
    const QRect entries(QPoint(part.left() >> level, part.top() >> level),
                        QPoint(part.right() >> level, part.bottom() >> level));
    const auto name = [level](const HeatmapAxis& axis, int entry, Eigen::Index count) {
        const int first = entry << level;
        const int last = std::min(static_cast<int>(count), (entry + 1) << level) - 1;
        return first == last ? axisLabel(axis, first) : QStringLiteral("%1–%2").arg(first).arg(last);
    };
    QStringList header{scene.rows.title};
    for (int column = entries.left(); column <= entries.right(); ++column)
        header << name(scene.columns, column, scene.columnCount());
    QStringList names;
    for (int row = entries.top(); row <= entries.bottom(); ++row)
        names << name(scene.rows, row, scene.rowCount());
    std::function<float(int, int)> valueAt; // value of an entry; for tiles, only those in memory
    if (level == 0) {
        valueAt = [matrix = scene.matrix, tiles = scene.tiles](int row, int column) {
            return matrix ? (*matrix)(row, column) : tiles->at(row, column);
        };
    } else {
        Eigen::MatrixXf values(entries.height(), entries.width());
        for (int row = 0; row < entries.height(); ++row)
            for (int column = 0; column < entries.width(); ++column)
                values(row, column) = content.loadedTiles()->best(scene.aggregate, level, entries.top() + row,
                                                                  entries.left() + column);
        valueAt = [values = std::move(values), corner = entries.topLeft()](int row, int column) {
            return values(row - corner.y(), column - corner.x());
        };
    }
    return [=](const std::function<void(const QStringList&)>& writeRow) {
        writeRow(header);
        for (int row = entries.top(); row <= entries.bottom(); ++row) {
            QStringList cells{names[row - entries.top()]};
            for (int column = entries.left(); column <= entries.right(); ++column)
                cells << exactNumber(valueAt(row, column));
            writeRow(cells);
        }
    };
}

} // namespace headwise::ui
