#include "app/commands/export_figure.h"

namespace headwise::app {

/// In place of export_figure.cpp where the window is not built.
Result<Done> exportFigure(const Session& /*session*/, const View& /*view*/, const std::filesystem::path& file,
                          const FigureSettings& /*settings*/)
{
    return Error{ErrorCode::InvalidArgument,
                 "This headwise draws no figures like '" + file.string()
                     + "', being built without the window; it writes .csv, .tsv and .npy."};
}

} // namespace headwise::app
