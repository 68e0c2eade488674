#pragma once

#include "core/session/views.h"

#include <filesystem>
#include <string>

namespace headwise::app {

/// How a figure looks; ui's FigureSettings for those that know no Qt.
struct FigureLook {
    double width = 120;     // mm
    double height = 80;     // mm
    int dpi = 300;          ///< Of PNG.
    std::string fontFamily; ///< Empty: the program's.
    double fontSize = 8;    // points
    double lineWidth = 1;   // points
    bool title = true;
    bool colorBar = true;
    bool axes = true;
    bool transparent = false;
};

/// Draws the view into FILE.png, .svg or .pdf without a display, as the window would. The only command that needs Qt.
/// Errors: InvalidArgument for a view with more dimensions than a picture has; NotFound where the head was not computed; Io.
Result<Done> exportFigure(const Session& session, const View& view, const std::filesystem::path& file,
                          const FigureLook& look);

} // namespace headwise::app
