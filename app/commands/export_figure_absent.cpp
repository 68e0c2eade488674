#include "app/commands/export_figure.h"

namespace headwise::app {

/// In place of export_figure.cpp where the window is not built.
Result<FigureRecipe> figureRecipe(const std::string& file)
{
    return Error{ErrorCode::InvalidArgument,
                 "This headwise reads no figures like '" + file + "': it was built without the window."};
}

Result<Done> exportFigures(const Session& /*session*/, const View& /*view*/,
                           std::span<const FigureFile> files)
{
    return Error{ErrorCode::InvalidArgument,
                 "This headwise cannot draw figures such as '" + files.front().path.string()
                     + "' because it was built without the window; it writes .csv, .tsv and .npy."};
}

} // namespace headwise::app
