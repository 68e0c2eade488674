#pragma once

#include "core/session/figure_description.h"
#include "core/session/session.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace headwise {

/// Figures that a session keeps for its user: composed ones, and how each view was exported.
struct KeptFigures {
    std::map<std::string, FigureDescription> composed; ///< By name; drawn from the session that keeps them.
    std::map<std::string, std::string>
        views; ///< Settings of the export dialog, a JSON object, by title of the picture.

    bool operator==(const KeptFigures&) const = default;
};

inline constexpr std::size_t mostKeptFigures = 1000; ///< A limit for each of the two kinds.

/// Writes the JSON text of a session's /figures; empty if there is nothing to keep. Settings that are no JSON object are left
/// out.
std::string text(const KeptFigures& figures);

/// Reads the text of a session's /figures; none for an empty one.
/// \param holder  of the text, in messages: "this session"
/// Errors: Corrupt in one sentence, for a text that is damaged or was not written by Headwise.
Result<KeptFigures> parseKeptFigures(std::string_view json, std::string_view holder);

/// Returns a composed figure that the session keeps.
/// \param file  the session's, named in messages
/// Errors: those of parseKeptFigures(); NotFound, saying which figures there are.
Result<FigureDescription> keptFigure(const Session& session, const std::string& name,
                                     const std::filesystem::path& file);

} // namespace headwise
