#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headwise {

/// Pairs of words (source, target) that a head may map from source to target: country and capital, a verb and its past tense.
struct Relation {
    std::string name;
    std::vector<std::pair<std::string, std::string>> pairs;

    bool operator==(const Relation&) const = default;
};

} // namespace headwise
