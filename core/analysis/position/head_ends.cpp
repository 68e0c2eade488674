#include "core/analysis/position/head_ends.h"

namespace headwise {

void HeadEnds::set(HeadId head, const TokenEnds& found, std::size_t line)
{
    highest.set(head, found.top, line);
    lowest.set(head, found.bottom, line);
}

void HeadEnds::put(Results& results, const std::string& folder, const std::string& prefix) const
{
    for (const bool isLowest : {false, true}) {
        const EntryLists& lists = isLowest ? lowest : highest;
        const std::string path = folder + (isLowest ? "lowest_" : "") + prefix;
        results.put(path + "ids", lists.ids);
        results.put(path + "values", lists.values);
    }
}

std::vector<ArraySpec> headEndsArrays(const std::string& folder, ArraySpec spec)
{
    spec.axes.emplace_back(Axis::Rank);
    spec.axes = headAxes(std::move(spec.axes));
    std::vector<ArraySpec> all;
    for (const bool isLowest : {false, true}) {
        const std::string which = isLowest ? "Lowest" : "Highest";
        ArraySpec values = spec;
        const std::string path = folder + (isLowest ? "lowest_" : "") + spec.path;
        values.path = path + "values";
        values.title = which + " " + spec.title + ", values";
        values.definition = which + " of " + spec.definition;
        ArraySpec ids = values;
        ids.path = path + "ids";
        ids.title = which + " " + spec.title;
        ids.unit = "token";
        ids.type = NumberType::Whole;
        all.insert(all.end(), {std::move(ids), std::move(values)});
    }
    return all;
}

} // namespace headwise
