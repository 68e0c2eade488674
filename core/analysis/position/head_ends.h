#pragma once

#include "core/analysis/entry_lists.h"
#include "core/results/results.h"

#include <string>
#include <utility>
#include <vector>

namespace headwise {

/// The highest and the lowest tokens of every head, for one or several lines of scores.
struct HeadEnds {
    EntryLists highest, lowest; ///< [layer, head, rank], or [layer, head, line, rank].

    explicit HeadEnds(EntryLists lists)
        : highest(std::move(lists))
        , lowest(highest)
    {
    }

    void set(HeadId head, const TokenEnds& found, std::size_t line = 0);
    /// Puts the arrays of `headEndsArrays`.
    void put(Results& results, const std::string& folder, const std::string& prefix) const;
};

/// Specs of the arrays PREFIXids, PREFIXvalues, lowest_PREFIXids and lowest_PREFIXvalues in a folder.
/// \param spec its path is the prefix, its axes those of the lines, if there are several, its title a noun and its
/// definition the score
std::vector<ArraySpec> headEndsArrays(const std::string& folder, ArraySpec spec);

} // namespace headwise
