#pragma once

#include "core/results/figure_settings.h"
#include "core/session/views.h"

#include <filesystem>
#include <span>

namespace headwise::app {

/// A file to write, and its format and look.
struct FigureFile {
    std::filesystem::path path;
    FigureSettings settings;
};

/// How a figure was made, as its metadata say.
struct FigureRecipe {
    std::string session; ///< Full path of its session; empty: unknown.
    std::string sha256;  ///< The model's.
    std::string view, head;
    FigureSettings settings;
};

/// Reads the metadata of a PNG, SVG or PDF that Headwise exported.
/// Errors: Io; NotFound; InvalidArgument for a file without them.
Result<FigureRecipe> figureRecipe(const std::string& file);

/// Draws the view into each file without a display, as the window would. The only command that needs Qt.
/// \param files at least one; an error leaves those after it unwritten
/// Errors: InvalidArgument for a view with more dimensions than a picture has; NotFound where the head was not computed; Io.
Result<Done> exportFigures(const Session& session, const View& view, std::span<const FigureFile> files);

} // namespace headwise::app
