#pragma once

#include "core/results/axis.h"

#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace headwise {

using AttributeValue = std::variant<std::string, double, bool, std::vector<std::string>>;

/// One array of numbers with everything a reader needs to understand it.
///
/// `path` is its place in the session file ("spectra/qk/singular_values"); `analyses/NAME/ARRAY` for what FORMAT.md does
/// not name.
struct ResultArray {
    using Values = std::variant<std::vector<float>, std::vector<double>, std::vector<std::int32_t>,
                                std::vector<std::complex<float>>, std::vector<std::complex<double>>>;

    std::string path;
    std::vector<std::size_t> shape;           // row-major
    Values values;                            // product of shape
    std::vector<ArrayAxis> axes;              // one per dimension
    std::string definition;                   // the formula, one line, plain text
    std::string title;                        // for people: "Copying"
    std::string unit = {};                    // "", "logits", "nats"
    std::optional<double> nullMean = {};      // average of heads of random weights …
    std::optional<double> nullDeviation = {}; // … and its standard deviation, where known
    /// The values' bounds where they have some: copying [−1, 1].
    std::optional<std::pair<double, double>> range = {};
    std::map<std::string, AttributeValue> attributes = {};

    bool operator==(const ResultArray&) const = default;
};

/// Results of analyses: named arrays. Session, CSV, JSON, list-analyses, the grid's metrics, the menu and the generic page
/// read only this.
struct ResultSet {
    std::vector<ResultArray> arrays;
    std::map<std::string, std::map<std::string, AttributeValue>> groupAttributes =
        {}; ///< "tables/full_ov" → {heads: …}
    std::vector<std::string> warnings = {};

    const ResultArray* find(std::string_view path) const;
    /// Adds the arrays of `other`, replacing those of the same path.
    void merge(ResultSet other);

    bool operator==(const ResultSet&) const = default;
};

} // namespace headwise
