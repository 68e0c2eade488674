#pragma once

#include "core/analysis/per_head.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/circuits/token_table.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headwise {

/// The highest and the lowest tokens of every head, for one or several lines of scores. Defaults: ids −1, values NaN.
class HeadEnds {
public:
    /// \param lines number of lines per head \param k number of entries per list
    HeadEnds(const ModelConfig& config, std::size_t lines, int k);

    void set(HeadId head, std::size_t line, const TokenEnds& found);

    /// Adds the arrays "…ids", "…values", "lowest_…ids" and "lowest_…values", with the prefix at the end of `name.path`.
    /// The shape is [layer, head, rank], or [layer, head, lineAxis, rank] with an axis.
    /// \param name the last part of its path is the prefix ("analyses/rotary/key_"), its title a noun, its definition the score
    void addTo(ResultSet& results, Precision precision, const ArrayName& name, std::optional<Axis> lineAxis) const;

private:
    int m_nHeads;
    std::size_t m_lines, m_k;
    std::vector<std::int32_t> m_ids, m_lowestIds;
    PerHead m_values, m_lowestValues;
};

} // namespace headwise
