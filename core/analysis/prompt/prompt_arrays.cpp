#include "core/analysis/prompt/prompt_arrays.h"

#include "core/tokenizer/tokenizer.h"

#include <algorithm>

namespace headwise {

int promptLength(const ModelConfig& config, const AnalysisOptions& options)
{
    constexpr int usual = 64;
    return options.inputs.prompt.empty() ? std::min(config.nCtx, usual)
                                         : static_cast<int>(options.inputs.prompt.size());
}

std::vector<std::string> promptLabels(const AnalysisInputs& inputs)
{
    std::vector<std::string> labels;
    labels.reserve(inputs.prompt.size());
    for (const int id : inputs.prompt)
        labels.push_back(shownToken(inputs.tokenizer.get(), id));
    return labels;
}

} // namespace headwise
