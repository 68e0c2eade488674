#pragma once

#include "core/base/task.h"

#include <optional>
#include <string>

namespace headwise::app {

/// Options of `export --list`.
struct ListOptions {
    std::string session;     ///< Empty: the views of any session, and the pictures of pages.
    std::optional<int> step; ///< A step of a series; none: the last one.
    bool json = false;
};

/// Prints the views that `export` draws, with what each needs. \returns 0. Errors: those of readExported().
Result<int> listViews(const ListOptions& options, const Task& task);

} // namespace headwise::app
