#pragma once

#include "core/base/result.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

enum class FigureFormat { Png, Svg, Pdf, Csv, Tsv, Npy, Latex, Markdown };

/// File endings, in the order of FigureFormat.
inline constexpr std::array<std::string_view, 8> figureEndings{"png", "svg", "pdf", "csv",
                                                               "tsv", "npy", "tex", "md"};

/// True for formats of numbers.
constexpr bool isData(FigureFormat format)
{
    return format != FigureFormat::Png && format != FigureFormat::Svg && format != FigureFormat::Pdf;
}

/// Returns the format for a file name's ending, in either case. Errors: InvalidArgument, listing the supported endings.
inline Result<FigureFormat> figureFormatOf(std::string_view file)
{
    std::string ending(file.substr(std::min(file.rfind('.'), file.size() - 1) + 1));
    std::ranges::transform(ending, ending.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto found = std::ranges::find(figureEndings, ending);
    if (found == figureEndings.end())
        return Error{ErrorCode::InvalidArgument,
                     "The file '" + std::string(file)
                         + "' does not end in .png, .svg, .pdf, .csv, .tsv, .npy, .tex or .md."};
    return static_cast<FigureFormat>(found - figureEndings.begin());
}

enum class LengthUnit { Millimetres, Inches };

/// Visibility of one series of a chart.
struct FigureSeriesChoice {
    std::string name;
    bool shown = true;

    bool operator==(const FigureSeriesChoice&) const = default;
};

/// Changes that belong to one figure and not to a preset: its words, its series and its marks.
struct FigureEdits {
    std::string title = {};      ///< Empty: the automatic one.
    std::string caption = {};    ///< Likewise.
    std::string valueTitle = {}; ///< Label of the colour bar, likewise.
    /// Series of a chart in the order in which they are drawn. Others follow in their own order.
    std::vector<FigureSeriesChoice> series = {};
    std::vector<std::string> labels = {}; ///< Names of the points to label; empty: as in the window.
    bool selection = false;               ///< Also draw the marks of the selection.

    bool operator==(const FigureEdits&) const = default;
};

/// Style of a figure on paper, where it differs from the view in the window.
struct FigureStyle {
    std::string fontFamily = {}; ///< Empty: the program's font.
    double fontSize = 8;         // points
    double lineWidth = 1;        // points; hairlines scale with it
    bool title = true;
    bool colorBar = true;
    bool axes = true; ///< Ticks, labels and titles of the axes.
    FigureEdits edits = {};

    bool operator==(const FigureStyle&) const = default;
};

/// Size, resolution and style of a figure, remembered as a whole.
struct FigureSettings {
    FigureFormat format = FigureFormat::Pdf;
    double width = 85;             // mm
    double height = 70;            // mm
    int dpi = 300;                 ///< For PNG only.
    bool dataBeside = false;       ///< Also write the numbers, as NAME.csv.
    bool provenanceInData = false; ///< Lines starting with "# " before the header; RFC 4180 has no comments.
    FigureStyle style = {};
    bool transparent = false;                  ///< No white background.
    LengthUnit unit = LengthUnit::Millimetres; ///< The unit in which the dialog shows sizes.

    bool operator==(const FigureSettings&) const = default;
};

/// Range of values that can be chosen.
struct FigureRange {
    double low, high;

    constexpr bool contains(double value) const { return value >= low && value <= high; }
};
inline constexpr FigureRange figureSide{10, 5000};     // mm
inline constexpr FigureRange figureDpi{18, 2400};      // dots per inch
inline constexpr FigureRange figureFontSize{3, 96};    // points
inline constexpr FigureRange figureLineWidth{0.1, 20}; // points

/// A standard figure size for paper or screen.
struct FigurePreset {
    std::string_view name; ///< On the command line.
    const char* title;     ///< In the dialog.
    double width;          // mm
    double height;         // mm
    double fontSize;       // points
};
inline constexpr std::array figurePresets{
    FigurePreset{"single", "Single column", 85, 70, 8}, FigurePreset{"double", "Double column", 178, 100, 8},
    FigurePreset{"slide", "Slide 16:9", 254, 142.9, 16}, FigurePreset{"poster", "Poster", 420, 300, 24}};

} // namespace headwise
