#pragma once

#include "core/analysis/catalogue.h"

#include <string>
#include <vector>

namespace headwise {

// Shared code of the analyses of a prompt.

/// Returns the number of prompt tokens. Without a prompt, returns the length that cost estimates assume: min(64, n_ctx).
int promptLength(const ModelConfig& config, const AnalysisOptions& options);

/// Returns the shown form of a token, "#ID" without a tokenizer.
std::string tokenLabel(const AnalysisInputs& inputs, int id);
/// Returns the labels of the prompt tokens, for the axes.
std::vector<std::string> promptLabels(const AnalysisInputs& inputs);

/// Returns an array of token ids, which is shown as tokens; −1: none.
ResultArray tokenArray(std::string path, std::vector<std::size_t> shape, std::vector<std::int32_t> ids,
                       std::vector<ArrayAxis> axes);

/// Numbers [layers, heads, rest…]. Default: NaN.
class HeadBlocks {
public:
    HeadBlocks(const ModelConfig& config, std::vector<std::size_t> rest);

    /// Returns the numbers of one head, [rest…], row-major.
    std::span<double> of(HeadId head);
    /// \param axes names of the remaining axes
    ResultArray array(Precision precision, std::string path, std::vector<ArrayAxis> axes) &&;

private:
    std::vector<std::size_t> m_shape;
    std::size_t m_block;
    std::vector<double> m_values;
};

} // namespace headwise
