#pragma once

#include "app/commands/export/export_figure.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headwise::app {

/// A session as `export` draws it, from its own file or from a step of a series.
struct ExportedSession {
    Session session;
    std::optional<std::int32_t> step; ///< The step in a series.
};

/// Reads a session; none: the file is a series. Asking first would start the process that reads HDF5 twice.
/// Errors: those of readSession().
Result<std::optional<Session>> sessionUnlessSeries(const std::filesystem::path& file, const Task& task);

/// Reads a session, or a step of a series. \param step none: the last one
/// Errors: those of readSession() and readSeriesSteps(); InvalidArgument for a step that is not in the file.
Result<ExportedSession> readExported(const std::string& file, std::optional<int> step, const Task& task);

/// Reads the session, or the step of a series, from which a figure was drawn; the last step for an animation of all.
/// \param path of the session or series, wherever it is now
/// Errors: those of readExported(); InvalidArgument if it is of another model or kind.
Result<ExportedSession> readSource(const FigureRecipe& recipe, const std::string& figure,
                                   const std::string& path, const Task& task);

/// Finds a view. Its subtitle names the step, and its metadata the file, whose folder stays private: `--again` finds a session by it.
/// Errors: those of viewOf().
Result<View> exportedView(const ExportedSession& from, const std::string& file, std::string_view name,
                          std::optional<HeadId> head);

/// Draws a view of a series at each step into animated SVGs.
/// \returns a sentence for each thing that had no room
/// Errors: InvalidArgument for another file or format; those of exportedView() and exportFigures().
Result<std::vector<std::string>> exportAnimated(const std::string& series, const std::string& view,
                                                std::optional<HeadId> head, std::span<const FigureFile> files,
                                                const Task& task);

} // namespace headwise::app
