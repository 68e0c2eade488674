#pragma once

#include "core/base/task.h"
#include "core/files/hdf5.h"

#include <string>
#include <vector>

namespace headwise {

/// A picture or table that the window showed when a session was saved: its numbers and labels, to be shown without the
/// model's files.
struct ScreenPicture {
    std::string page;                     ///< As --goto calls it: "matrix".
    std::string title;                    ///< Head, quantity and model: "L1H5 full OV, demo".
    std::string head;                     ///< Selected when it was shown, "1.5"; empty: a picture of no head.
    std::string note;                     ///< Left-out parts; empty: it is complete.
    bool isMatrix = false;                ///< A heatmap rather than a table.
    std::string rowAxis, columnAxis;      ///< Titles.
    std::vector<std::string> columnNames; ///< [columns]
    std::vector<std::string> rowNames;    ///< [rows] of a matrix; empty for a table.
    std::vector<double> values;           ///< [rows, columns]; NaN: no number.
    std::vector<std::string> words; ///< [rows, columns]: cells without a number; empty if there are none.

    std::size_t columns() const { return columnNames.size(); }
    std::size_t rows() const { return columnNames.empty() ? 0 : values.size() / columns(); }

    bool operator==(const ScreenPicture& other) const; ///< NaN equals NaN.
};

/// Limits of what a session keeps of the screen.
inline constexpr std::size_t mostScreenSide = 1024;                         ///< Rows, columns of one picture.
inline constexpr std::size_t mostScreenValues = std::size_t(64) << 17;      ///< Numbers in all: 64 MiB.
inline constexpr std::size_t mostScreenPages = 64, mostScreenPictures = 64; ///< Pictures of one page.

/// Writes the group /screen; nothing for an empty list.
Result<Done> writeScreen(Hdf5Writer& file, const std::vector<ScreenPicture>& screen, const Task& task);

/// Reads the group /screen; empty if there is none. Foreign groups in it are ignored.
/// Errors: Corrupt for shapes that contradict each other; those of Hdf5Reader.
Result<std::vector<ScreenPicture>> readScreen(const Hdf5Reader& file, const Task& task);

} // namespace headwise
