#pragma once

#include "core/session/views.h"

namespace headwise::app {

struct FigureSize {
    double width = 120; // mm
    double height = 80; // mm
    int dpi = 300;      ///< Of PNG.
};

/// Draws the view into FILE.png, .svg or .pdf without a display. The only command that needs Qt.
/// Errors: InvalidArgument for a view with more dimensions than a picture has; Io.
Result<Done> exportFigure(const ViewData& view, const std::filesystem::path& file, const FigureSize& size);

} // namespace headwise::app
