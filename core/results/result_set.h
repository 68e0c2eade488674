#pragma once

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
    std::vector<std::size_t> shape;      // row-major
    Values values;                       // product of shape
    std::vector<std::string> axes;       // one per dimension: "layer", "head", "singular value", "token", …
    std::string definition;              // the formula, one line, plain text
    std::string title;                   // for people: "Copying"
    std::string unit;                    // "", "logits", "nats"
    std::optional<double> nullMean;      // what a head of random weights gets on average …
    std::optional<double> nullDeviation; // … and its standard deviation, where known
    std::optional<std::pair<double, double>>
        range; // the values' bounds where they have some: copying [−1, 1]
    std::map<std::string, AttributeValue> attributes;

    bool operator==(const ResultArray&) const = default;
};

/// What analyses return: named arrays. Session, CSV, JSON, list-analyses, the grid's metrics, the menu and the generic
/// page read only this.
struct ResultSet {
    std::vector<ResultArray> arrays;
    std::map<std::string, std::map<std::string, AttributeValue>>
        groupAttributes; ///< "tables/full_ov" → {heads: …}
    std::vector<std::string> warnings;

    const ResultArray* find(std::string_view path) const;
    /// Takes the arrays of `other` in, replacing those of the same path.
    void merge(ResultSet other);

    bool operator==(const ResultSet&) const = default;
};

} // namespace headwise
