#include "core/analysis/position/head_ends.h"

#include <utility>

namespace headwise {

HeadEnds::HeadEnds(const ModelConfig& config, std::size_t lines, int k)
    : m_nHeads(config.nHeads)
    , m_lines(lines)
    , m_k(static_cast<std::size_t>(k))
    , m_ids(static_cast<std::size_t>(config.nLayers) * config.nHeads * lines * m_k, -1)
    , m_lowestIds(m_ids)
    , m_values(config, static_cast<int>(lines) * k)
    , m_lowestValues(m_values)
{
}

void HeadEnds::set(HeadId head, std::size_t line, const TokenEnds& found)
{
    const std::size_t at =
        (static_cast<std::size_t>(head.layer) * m_nHeads + head.head) * m_lines * m_k + line * m_k;
    for (std::size_t rank = 0; rank < found.top.size(); ++rank) {
        m_ids[at + rank] = found.top[rank].id;
        m_values.row(head)[line * m_k + rank] = found.top[rank].value;
        m_lowestIds[at + rank] = found.bottom[rank].id;
        m_lowestValues.row(head)[line * m_k + rank] = found.bottom[rank].value;
    }
}

void HeadEnds::addTo(ResultSet& results, Precision precision, const ArrayName& name,
                     std::optional<Axis> lineAxis) const
{
    const std::size_t slash = name.path.rfind('/') + 1;
    const auto add = [&](const std::vector<std::int32_t>& ids, const PerHead& values,
                         const std::string& which) {
        const std::string path =
            name.path.substr(0, slash) + (which == "Lowest" ? "lowest_" : "") + name.path.substr(slash);
        const std::string definition = which + " of " + name.definition;
        ResultArray array;
        if (lineAxis)
            array = gridArray(
                values, precision, {path + "values", which + " " + name.title + ", values", definition},
                {static_cast<Eigen::Index>(m_lines), static_cast<Eigen::Index>(m_k)}, {*lineAxis, Axis::Rank});
        else
            array = values.array(precision, path + "values", which + " " + name.title + ", values",
                                 definition, Axis::Rank);
        ResultArray idArray = array;
        idArray.path = path + "ids";
        idArray.title = which + " " + name.title;
        idArray.values = ids;
        idArray.unit = "token";
        results.arrays.push_back(std::move(idArray));
        results.arrays.push_back(std::move(array));
    };
    add(m_ids, m_values, "Highest");
    add(m_lowestIds, m_lowestValues, "Lowest");
}

} // namespace headwise
