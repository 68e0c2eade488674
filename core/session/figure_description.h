#pragma once

#include "core/base/result.h"
#include "core/results/figure_settings.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwise {

/// A head that a scatter plot names.
struct HeadLabel {
    std::string head = {}; ///< "1.5"
    std::string text = {}; ///< Empty: the head's own name.

    bool operator==(const HeadLabel&) const = default;
};

/// One panel of a figure: a view of the session, or of a checkpoint of the series, and its place on the page.
struct FigurePanel {
    static constexpr int lastStep = -1;

    std::string view = {}; ///< As `export --view` takes it, or "ANALYSIS: PICTURE" of an analysis's page.
    std::string head = {}, reference = {}; ///< "1.5"; empty: none. `reference`: the earlier head of a pair.
    int step = lastStep;                   ///< Checkpoint of a series.
    std::string label = {};                ///< Empty: its letter, by the order of the panels.
    std::string title = {};                ///< Empty: the view's own.
    std::string valueTitle = {};           ///< Beside the colour bar; empty: the view's own.
    std::string xTitle = {}, yTitle = {};  ///< Axis titles; empty: the view's own.
    std::string scale = {}; ///< Panels of the same name share colours, or the range of y; empty: its own.
    std::vector<std::string> series =
        {};                            ///< Names of the series of a chart to draw, in this order; empty: all.
    std::vector<HeadLabel> heads = {}; ///< Heads named in a scatter plot; empty: those that stand out.
    int row = 0, column = 0;           ///< From 1; 0: right of the panel before it. Known after parsing.
    int rowSpan = 1, columnSpan = 1;

    bool operator==(const FigurePanel&) const = default;
};

/// The page of a figure and its type.
struct FigurePage {
    std::string preset = "double"; ///< Gives the sizes that are 0.
    double width = 0, height = 0;  // mm
    double fontSize = 0;           // points
    double lineWidth = 1;          // points
    std::string font = {};         ///< Family; empty: the program's.
    int dpi = 300;                 ///< For PNG only.

    bool operator==(const FigurePage&) const = default;
};

/// A figure of several panels as a JSON file describes it.
struct FigureDescription {
    int version = 1;
    std::string session = {}; ///< A session or a series; path from the folder of the description.
    FigurePage page = {};
    std::string title = {}, caption = {};          ///< Drawn above and below the panels; empty: none.
    std::vector<std::string> formats{"pdf"};       ///< Files that `export --figures` writes: pdf, svg, png.
    std::vector<double> widths = {}, heights = {}; ///< Shares of the columns and rows; empty: equal ones.
    std::vector<FigurePanel> panels = {};

    bool operator==(const FigureDescription&) const = default;
};

inline constexpr std::size_t mostPanels = 26;         ///< As many as there are letters.
inline constexpr int mostPanelRows = 12;              ///< Rows, and columns, of the grid of panels.
inline constexpr FigureRange composedFontSize{6, 96}; ///< Points: smaller type cannot be read in print.

/// Reads a description and gives every panel its place. Strict: a key that is unknown, a value of another type or outside
/// its range, or two panels in one place is refused.
/// \param file named in messages
/// Errors: Corrupt (no JSON); InvalidArgument, naming file, key and what is allowed.
Result<FigureDescription> parseFigureDescription(std::string_view json, std::string_view file);
/// Reads a description from a file.
/// \param given   a session in place of the session that the description names; empty: that one
/// Errors: those of parseFigureDescription(); InvalidArgument without a session; NotFound, Io; NotFound where the session does
/// not exist.
Result<FigureDescription> readFigureDescription(const std::filesystem::path& file,
                                                const std::filesystem::path& given = {});

/// Writes the description as JSON, without what has its default. parseFigureDescription() reads it back as an equal value.
/// \param indent spaces per level; −1: one line
std::string text(const FigureDescription& figure, int indent = -1);

/// The description as the metadata have it: the name of the session without its folder, which stays private.
FigureDescription asPublished(FigureDescription figure);
/// The session of a description that stands in `file`.
std::filesystem::path sessionPath(const FigureDescription& figure, const std::filesystem::path& file);
/// Size, resolution and style of the page.
FigureSettings figureSettings(const FigureDescription& figure, FigureFormat format);
/// "a", "b", … or the panel's own label.
std::string panelLabel(const FigureDescription& figure, std::size_t panel);
/// Rows and columns of the grid that the panels fill.
std::pair<int, int> panelGrid(const FigureDescription& figure);

} // namespace headwise
