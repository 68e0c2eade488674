#pragma once

#include "app/commands/export/export_figure.h"
#include "core/base/task.h"

#include <string>
#include <vector>

namespace headwise::app {

/// Options of `export --figure` and `export --figures`.
struct ComposeOptions {
    std::string figure;             ///< A description, or the name of a figure that the session keeps; or
    std::string folder;             ///< a folder of them.
    std::string session;            ///< For `figure`, in place of the session that it names; empty: that one.
    std::string data;               ///< Folder for the numbers of the panels; empty: none.
    std::vector<std::string> files; ///< -o; of a folder of descriptions the folder to write to.
    bool check = false;             ///< Only says what is out of date.
};

/// Draws the figure of one description. Errors: those of readFigureDescription(), keptFigure(), readSession(),
/// exportComposition().
Result<int> exportComposed(const ComposeOptions& options, const Task& task);

/// Draws those figures of a folder of descriptions that are out of date and says which. With `check` it draws nothing.
/// \returns 1 if `check` found one that is out of date, else 0
Result<int> exportFolder(const ComposeOptions& options, const Task& task);

/// Draws a figure of several panels again from its metadata.
/// \param session of the same model
Result<int> composeAgain(const FigureRecipe& recipe, const std::string& figure, const std::string& session,
                         const std::string& file, const Task& task);

} // namespace headwise::app
