#include "core/results/result_set.h"

#include <algorithm>

namespace headwise {

const ResultArray* ResultSet::find(std::string_view path) const
{
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const ResultArray& array) { return array.path == path; });
    return found == arrays.end() ? nullptr : &*found;
}

void ResultSet::merge(ResultSet other)
{
    for (ResultArray& array : other.arrays) {
        const auto old = std::find_if(arrays.begin(), arrays.end(),
                                      [&](const ResultArray& mine) { return mine.path == array.path; });
        if (old == arrays.end())
            arrays.push_back(std::move(array));
        else
            *old = std::move(array);
    }
    for (auto& [group, attributes] : other.groupAttributes)
        groupAttributes[group] = std::move(attributes);
    for (std::string& warning : other.warnings) {
        if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
            warnings.push_back(std::move(warning));
    }
}

} // namespace headwise
