#include "app/commands/export/export_page.h"

namespace headwise::app {

struct DrawingProgram::Parts { };

DrawingProgram::DrawingProgram() = default;
DrawingProgram::~DrawingProgram() = default;

/// In place of export_figure.cpp where the window is not built.
Result<FigureRecipe> figureRecipe(const std::string& file)
{
    return Error{ErrorCode::InvalidArgument,
                 "This headwise cannot read figures such as '" + file
                     + "' because it was built without the window."};
}

Result<std::vector<std::string>> exportFigures(const Session& /*session*/, const View& /*view*/,
                                               std::span<const FigureFile> files)
{
    return Error{ErrorCode::InvalidArgument,
                 "This headwise cannot draw figures such as '" + files.front().path.string()
                     + "' because it was built without the window; it writes .csv, .tsv and .npy."};
}

Result<std::vector<std::string>>
exportPagePicture(const PageRequest& request, std::span<const FigureFile> /*files*/, const Task& /*task*/)
{
    return Error{ErrorCode::InvalidArgument,
                 "This headwise cannot draw '" + request.view + "' because it was built without the window."};
}

Result<std::vector<std::string>> exportAnimation(std::span<const FigureFrame> /*frames*/,
                                                 std::span<const FigureFile> files)
{
    return Error{ErrorCode::InvalidArgument,
                 "This headwise cannot draw figures such as '" + files.front().path.string()
                     + "' because it was built without the window."};
}

Result<std::vector<std::string>> exportComposition(const DrawingProgram& /*program*/,
                                                   const Composition& /*composition*/,
                                                   std::span<const FigureFile> /*files*/,
                                                   const std::filesystem::path& /*data*/)
{
    return Error{
        ErrorCode::InvalidArgument,
        "This headwise cannot draw figures of several panels because it was built without the window."};
}

} // namespace headwise::app
