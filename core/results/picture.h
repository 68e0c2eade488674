#pragma once

#include <string>
#include <vector>

namespace headwise {

/// One way to look at arrays of a ResultSet, by their paths; a page draws it from the arrays alone.
///
/// Arrays that begin with the axes (layer, head) are cut at the selected head, those that begin with (earlier layer, earlier
/// head, later layer, later head) at the reference and the selected head, but where the kind shows all heads. An array whose
/// axis is called "token" is labelled by tokens; integers of the unit "token" are token ids and shown as tokens.
struct Picture {
    enum class Kind {
        HeadGrid,  ///< Each array [layer, head] as cells, layers down; several side by side.
        Lines,     ///< Each array, cut to one dimension, as a line over its axis; cut to two, a line per row.
        Bars,      ///< The same as bars.
        Points,    ///< Two arrays cut to one dimension: x against y, a point per entry.
        HeadPlane, ///< Two arrays [layer, head]: x against y, a point per head; a third colours it.
        Histogram, ///< Each array [layer, head]: how many heads have which value.
        Matrix,    ///< One array cut to two dimensions as cells.
        HeadPairs, ///< One array [layer, head, layer, head] as cells, heads × heads.
        Table,     ///< Each array, cut to one or two dimensions, as columns; rows are the first dimension.
        Diagram, ///< One array [layer, head, layer, head]: heads as nodes by layer, its largest entries as edges.
        HeadMap, ///< One array [layer, head, 2]: a point per head.
    };

    Kind kind = Kind::HeadGrid;
    std::string title;
    std::vector<std::string> arrays; ///< Paths; missing arrays are skipped.
    bool logX = false, logY = false; ///< Log axes of Lines, Bars, Points, HeadPlane.
    bool signedColors = true;        ///< Zero-centred colours; false: from the smallest value up.
    std::string note = {};           ///< A sentence that helps to read it; may be empty.
    bool overFirst = false; ///< Lines: each divided by its first value, so that their shapes compare.
    bool polar = false;     ///< Points of complex numbers: by angle and logarithm of the modulus.

    bool operator==(const Picture&) const = default;
};

} // namespace headwise
