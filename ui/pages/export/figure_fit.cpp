#include "ui/pages/export/figure_fit.h"

#include "ui/figures/figure_export_formats.h"
#include "ui/figures/figure_presets.h"

#include <QImage>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double measuredDpi = 50;          // enough to see the extent
constexpr double exportDialogFitMargin = 1; // mm, below the content
constexpr double leastHeight = 15;          // mm
constexpr double worthIt = 0.9;             // of the preset's height; smaller savings are ignored
constexpr double sameWidth = 0.985;         // of the content's width; a smaller result was too low

/// Returns the extent of the part that is not blank, mm from the top left corner.
QSizeF drawnSize(const FigureSource& source, const FigureSettings& settings)
{
    FigureSettings onWhite = settings;
    onWhite.transparent = false;
    const QImage image = figureImage(source, onWhite, measuredDpi);
    int right = -1, bottom = -1;
    for (int y = 0; y < image.height(); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(image.constScanLine(y));
        for (int x = image.width() - 1; x >= 0; --x)
            if ((line[x] & 0xFFFFFFU) != 0xFFFFFFU) {
                right = std::max(right, x);
                bottom = y;
                break;
            }
    }
    return QSizeF(right + 1, bottom + 1) * (millimetresPerInch / measuredDpi);
}

} // namespace

int presetOf(const FigureSettings& settings)
{
    const auto found = std::ranges::find_if(figurePresets, [&settings](const FigurePreset& preset) {
        return std::abs(preset.width - settings.width) < sameLength
            && std::abs(preset.height - settings.height) < sameLength;
    });
    return found == figurePresets.end() ? -1 : static_cast<int>(found - figurePresets.begin());
}

FigureSettings fittedToView(const FigureSource& source, FigureSettings settings)
{
    const bool isPreset = presetOf(settings) >= 0;
    if (isPreset && !isData(settings.format)) {
        const double least = source.leastHeight(paintedSize(settings).width(), settings.style);
        const double height = (least + 2 * pageMargin) * millimetresPerInch / pointsPerInch;
        if (least > 0 && height > settings.height) {
            settings.height = std::ceil(2 * height) / 2;
            return settings;
        }
    }
    const QSizeF whole = isPreset && !isData(settings.format) ? drawnSize(source, settings) : QSizeF();
    if (whole.height() <= 0)
        return settings;
    const double most = settings.height;
    for (double height = std::max(whole.height() + exportDialogFitMargin, leastHeight);
         height < worthIt * most; height *= 1.15) {
        FigureSettings tried = settings;
        tried.height = std::round(2 * height) / 2;
        const QSizeF drawn = drawnSize(source, tried);
        if (drawn.width() >= sameWidth * whole.width()) // names that were cut off would need more height
            return tried;
    }
    return settings;
}

} // namespace headwise::ui
