#pragma once

#include "core/results/figure_settings.h"
#include "core/session/views.h"

#include <filesystem>

namespace headwise::app {

/// Draws the view into the file, in the format of the settings, without a display, as the window would. The only command that needs Qt.
/// Errors: InvalidArgument for a view with more dimensions than a picture has; NotFound where the head was not computed; Io.
Result<Done> exportFigure(const Session& session, const View& view, const std::filesystem::path& file,
                          const FigureSettings& settings);

} // namespace headwise::app
