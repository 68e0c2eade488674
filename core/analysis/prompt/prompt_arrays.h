#pragma once

#include "core/analysis/catalogue.h"

#include <string>
#include <vector>

namespace headwise {

// What the analyses of a prompt have in common.

/// Tokens of the prompt; where none is given yet, of one to reckon costs with: 64, or n_ctx if that is less.
int promptLength(const ModelConfig& config, const AnalysisOptions& options);

/// A token as shown, "#ID" without a tokenizer.
std::string tokenLabel(const AnalysisInputs& inputs, int id);
/// Those of the prompt, the labels of its axes.
std::vector<std::string> promptLabels(const AnalysisInputs& inputs);

/// Token ids, shown as tokens; −1: none.
ResultArray tokenArray(std::string path, std::vector<std::size_t> shape, std::vector<std::int32_t> ids,
                       std::vector<std::string> axes);

/// [layers, heads, rest…], NaN until a head's numbers are set.
class HeadBlocks {
public:
    HeadBlocks(const ModelConfig& config, std::vector<std::size_t> rest);

    /// [rest…] of one head, row-major.
    std::span<double> of(HeadId head);
    /// \param axes of the rest
    ResultArray array(Precision precision, std::string path, std::vector<std::string> axes) &&;

private:
    std::vector<std::size_t> m_shape;
    std::size_t m_block;
    std::vector<double> m_values;
};

} // namespace headwise
