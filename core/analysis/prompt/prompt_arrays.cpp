#include "core/analysis/prompt/prompt_arrays.h"

#include "core/analysis/per_head.h"
#include "core/tokenizer/tokenizer.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace headwise {

int promptLength(const ModelConfig& config, const AnalysisOptions& options)
{
    constexpr int usual = 64;
    return options.inputs.prompt.empty() ? std::min(config.nCtx, usual)
                                         : static_cast<int>(options.inputs.prompt.size());
}

std::string tokenLabel(const AnalysisInputs& inputs, int id)
{
    return inputs.tokenizer ? inputs.tokenizer->shown(id) : "#" + std::to_string(id);
}

std::vector<std::string> promptLabels(const AnalysisInputs& inputs)
{
    std::vector<std::string> labels;
    labels.reserve(inputs.prompt.size());
    for (const int id : inputs.prompt)
        labels.push_back(tokenLabel(inputs, id));
    return labels;
}

ResultArray tokenArray(std::string path, std::vector<std::size_t> shape, std::vector<std::int32_t> ids,
                       std::vector<ArrayAxis> axes)
{
    ResultArray array;
    array.path = std::move(path);
    array.shape = std::move(shape);
    array.values = std::move(ids);
    array.axes = std::move(axes);
    array.unit = "token";
    return array;
}

HeadBlocks::HeadBlocks(const ModelConfig& config, std::vector<std::size_t> rest)
    : m_shape(std::move(rest))
    , m_block(std::accumulate(m_shape.begin(), m_shape.end(), std::size_t(1), std::multiplies<>()))
    , m_values(static_cast<std::size_t>(config.nLayers) * config.nHeads * m_block,
               std::numeric_limits<double>::quiet_NaN())
{
    m_shape.insert(m_shape.begin(),
                   {static_cast<std::size_t>(config.nLayers), static_cast<std::size_t>(config.nHeads)});
}

std::span<double> HeadBlocks::of(HeadId head)
{
    const std::size_t index = static_cast<std::size_t>(head.layer) * m_shape[1] + head.head;
    return std::span(m_values).subspan(index * m_block, m_block);
}

ResultArray HeadBlocks::array(Precision precision, std::string path, std::vector<ArrayAxis> axes) &&
{
    axes.insert(axes.begin(), {Axis::Layer, Axis::Head});
    return realArray(precision, std::move(path), std::move(m_shape), std::move(m_values), std::move(axes));
}

} // namespace headwise
