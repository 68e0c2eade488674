#include "core/results/color_scale.h"
#include "tests/fuzz/text_input.h"
#include "ui/figures/figure_export.h"

using namespace headwise;

/// A figure's settings and colour scale, as in sessions, settings and the clipboard.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view line = fuzz::textOf(data, size);
    const QString words = QString::fromUtf8(line.data(), static_cast<qsizetype>(line.size()));
    const FigureSettings settings = ui::parseFigureSettings(words);
    fuzz::require(ui::parseFigureSettings(ui::text(settings)) == settings);
    static_cast<void>(ui::isFigureSettings(words));
    if (const auto scale = parseColorScale(line); fuzz::isAnswered(scale)) {
        const auto again = parseColorScale(text(*scale));
        fuzz::require(again && text(*again) == text(*scale)); // the percentile only where it is used
    }
    return 0;
}
