#pragma once

#include "core/session/figure_description.h"

#include <optional>

namespace headwise {

// Internal to figure_description.

/// "'fig.json': page.width is 3, expected 10 to 5000 mm." \param key empty: the whole description
Error keyError(std::string_view file, const std::string& key, const std::string& sentence);

/// Gives every panel its place and checks what the types of the fields leave open: ranges, heads, presets, the grid.
/// \returns the first problem
std::optional<Error> completeFigure(FigureDescription& figure, std::string_view file);

} // namespace headwise
