#pragma once

#include "app/commands/export/export_figure.h"
#include "app/commands/model_arguments.h"
#include "core/base/task.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headwise::app {

/// Options of `export` that only a picture of a page takes.
struct PageOptions {
    ModelArguments model; ///< Its path is that of a model, a session or a series.
    std::string reference, token;
    std::vector<std::string> choices; ///< "prompt=The cat", as a session keeps the choices of a page.

    bool areGiven() const;
};

/// Adds them, except MODEL.
void addPageOptions(CLI::App& command, PageOptions& options);

/// A picture of a page, and what the page shows.
struct PageRequest {
    PageOptions options;
    std::string view; ///< The name of a PagePicture, as findPagePicture() takes it.
    std::optional<HeadId> head;
    std::optional<int> step; ///< The checkpoint of a series; none: the last.
};

/// Writes the command for a request, "headwise export demo --view 'matrix: Matrix of the circuit' --head 1.5 -o figure.svg".
std::string exportCommandLine(const PageRequest& request);

/// Opens the model, session or series without a display, lets the page compute its picture and writes it as a figure or as
/// numbers. A session is shown as it was saved, with its selection and the choices of its pages.
/// \returns a sentence for each thing that had no room in the first figure
/// Errors: InvalidArgument for a head, token or choice that the page does not have; NotFound for a picture that is empty; those
/// of opening; Io.
Result<std::vector<std::string>> exportPagePicture(const PageRequest& request,
                                                   std::span<const FigureFile> files, const Task& task);

} // namespace headwise::app
