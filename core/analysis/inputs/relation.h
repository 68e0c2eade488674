#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headwise {

/// Pairs of words (source, target) of which a head may turn the one into the other: country and capital, a verb and its past.
struct Relation {
    std::string name;
    std::vector<std::pair<std::string, std::string>> pairs;

    bool operator==(const Relation&) const = default;
};

} // namespace headwise
