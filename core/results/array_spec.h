#pragma once

#include "core/results/axis.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headwise {

/// Type of an array's numbers. `--precision f64` stores Real and Complex in twice the bits.
enum class NumberType {
    Real,    ///< f32; NaN where nothing was computed.
    Complex, ///< complex64; NaN likewise.
    Whole,   ///< i32; −1 likewise.
    Double,  ///< f64 whatever the precision, for counts that a float32 cannot hold.
};

/// Contract of one array of an analysis: everything about it but its numbers. `list-analyses --json` and the tables of
/// FORMAT.md are made from these.
struct ArraySpec {
    std::string path; ///< Place in the session file: "scores/copying".
    std::vector<ArrayAxis> axes;
    std::string title;      ///< For people: "Copying".
    std::string definition; ///< Formula, one line. An array may append what depends on the run.
    std::string unit = {};  ///< "logits", "nats"; "token" for token ids; empty: none.
    std::optional<std::pair<double, double>> range = {}; ///< Bounds of the values, if they have some.
    NumberType type = NumberType::Real;
    std::string condition = {}; ///< "with --token", "gated MLPs"; empty: the analysis always makes it.

    bool operator==(const ArraySpec&) const = default;
};

/// [n_layers, n_heads], followed by `rest`.
std::vector<ArrayAxis> headAxes(std::vector<ArrayAxis> rest = {});
/// [n_layers, n_heads, n_layers, n_heads], the earlier head first.
std::vector<ArrayAxis> pairAxes();

} // namespace headwise
