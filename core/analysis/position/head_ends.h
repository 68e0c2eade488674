#pragma once

#include "core/analysis/per_head.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/circuits/token_table.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headwise {

/// The highest and the lowest tokens of every head, of one line of scores or of several: ids −1 and values NaN until set.
class HeadEnds {
public:
    /// \param lines 1, or how many lines a head has \param k entries of each
    HeadEnds(const ModelConfig& config, std::size_t lines, int k);

    void set(HeadId head, std::size_t line, const TokenEnds& found);

    /// Arrays "…ids", "…values", "lowest_…ids" and "lowest_…values" behind `name.path`, which ends in what stands before
    /// "ids"; [layer, head, rank], or [layer, head, lineAxis, rank] with an axis.
    /// \param name its path's last part is a prefix ("analyses/rotary/key_"), its title a noun, its definition the score
    void addTo(ResultSet& results, Precision precision, const ArrayName& name, const char* lineAxis) const;

private:
    int m_nHeads;
    std::size_t m_lines, m_k;
    std::vector<std::int32_t> m_ids, m_lowestIds;
    PerHead m_values, m_lowestValues;
};

} // namespace headwise
