#pragma once

#include "ui/figures/figure_export.h"

namespace headwise::ui {

/// Names of the metadata that make a figure again, beside those of the view.
inline constexpr auto figureSettingsKey = "figure_settings"; ///< The line of text(FigureSettings).
inline constexpr auto choiceKey =
    "choice"; ///< A choice in the boxes over the picture, as in "heads=2"; one line each.
inline constexpr auto sessionFileKey = "session_file"; ///< Name of the session file it was drawn from.
inline constexpr auto sessionSha256Key =
    "session_sha256"; ///< Hash of that file, of figures of several panels.
inline constexpr auto figureDescriptionKey =
    "figure_description"; ///< The JSON of a figure of several panels.

/// Reads the metadata of a PNG, SVG or PDF that renderFigure() made; the order of lines may differ.
/// Errors: Io; InvalidArgument for a file without them, naming it.
Result<Provenance> figureMetadata(const QString& fileName);

} // namespace headwise::ui
