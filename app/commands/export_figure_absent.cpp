#include "app/commands/export_figure.h"

namespace headwise::app {

/// Replaces export_figure.cpp in a build without the window.
Result<Done> exportFigure(const ViewData& /*view*/, const std::filesystem::path& file,
                          const FigureLook& /*look*/)
{
    return Error{ErrorCode::InvalidArgument,
                 "This headwise draws no figures like '" + file.string()
                     + "', being built without the window; it writes .csv, .tsv and .npy."};
}

} // namespace headwise::app
