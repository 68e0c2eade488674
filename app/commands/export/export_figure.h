#pragma once

#include "core/results/figure_settings.h"
#include "core/series/figure_sessions.h"
#include "core/session/figure_description.h"
#include "core/session/views.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headwise::ui {
class FigureSource;
}

namespace headwise::app {

/// A file to write, and its format and look.
struct FigureFile {
    std::filesystem::path path;
    FigureSettings settings;
};

/// Key of the checkpoints of an animation in its metadata, beside those of a series.
inline constexpr auto stepsKey = "steps";

/// How a figure was made, as its metadata say.
struct FigureRecipe {
    std::string session; ///< Name of its session or series; empty: unknown.
    bool isOfSeries = false;
    std::string model;
    std::string sha256; ///< The model's.
    std::string view, head;
    std::vector<std::string> choices; ///< In the boxes over the picture, as --choice takes them.
    std::string step;     ///< The checkpoint of a series; empty: the figure is of a session, or of all steps.
    bool isSteps = false; ///< An animation of all steps of a series.
    FigureSettings settings;
    std::string description;   ///< JSON of a figure of several panels; empty: a single view.
    std::string sessionSha256; ///< Hash of the file of the session or series of several panels.
};

/// Reads the metadata of a PNG, SVG or PDF that Headwise exported.
/// Errors: Io; NotFound; InvalidArgument for a file without them.
Result<FigureRecipe> figureRecipe(const std::string& file);

/// Draws the view into each file without a display, as the window would. The only command that needs Qt.
/// \param files at least one; an error leaves those after it unwritten
/// \returns a sentence for each thing that had no room in the first file
/// Errors: InvalidArgument for a view with more dimensions than a picture has; NotFound where the head was not computed; Io.
Result<std::vector<std::string>> exportFigures(const Session& session, const View& view,
                                               std::span<const FigureFile> files);

/// Writes a drawn picture into each file, as a figure or as its numbers.
/// \returns a sentence for each thing that had no room in the first figure
Result<std::vector<std::string>> writeFigures(const ui::FigureSource& figure,
                                              std::span<const FigureFile> files);

/// A picture of an animation.
struct FigureFrame {
    Session session;
    View view;
    std::string name; ///< "step 512"
};

/// Draws the frames, on one scale, into each file, an animated SVG.
/// \param files at least one \returns a sentence for each thing that had no room in the last frame
/// Errors: those of exportFigures().
Result<std::vector<std::string>> exportAnimation(std::span<const FigureFrame> frames,
                                                 std::span<const FigureFile> files);

/// Qt's part of the program, without which no figure is drawn; at most one at a time.
class DrawingProgram {
public:
    DrawingProgram();
    ~DrawingProgram();
    DrawingProgram(const DrawingProgram&) = delete;
    DrawingProgram& operator=(const DrawingProgram&) = delete;

private:
    struct Parts;
    std::unique_ptr<Parts> m_parts;
};

/// A figure of several panels and what it is drawn from.
struct Composition {
    const FigureSessions& sessions;
    std::string sessionSha256;     ///< Hash of the file.
    FigureDescription description; ///< With the name of that file, without its folder.
};

/// Draws a figure of several panels into each file, or writes the numbers of all panels.
/// \param data folder for a CSV of each panel and the description; empty: none
/// \returns a sentence for each thing that had no room
/// Errors: those of ui::DescribedFigure::make(); InvalidArgument; Io.
Result<std::vector<std::string>> exportComposition(const DrawingProgram& program,
                                                   const Composition& composition,
                                                   std::span<const FigureFile> files,
                                                   const std::filesystem::path& data);

} // namespace headwise::app
