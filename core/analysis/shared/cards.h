#pragma once

#include "core/analysis/entry_lists.h"
#include "core/analysis/selected_heads.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

// Shared code of the analyses that follow one vector through every head.

/// The token vectors that a vector of the residual stream is multiplied by.
enum class LineEnd {
    Tokens,  ///< x · Eᵀ, with the E of the head's layer
    Outputs, ///< x · W_U
};

struct LineRequest {
    std::string_view step; ///< Name of the step in progress reports.
    LineEnd end = LineEnd::Outputs;
    /// Returns x [d] of one head, such as e W_V W_O.
    std::function<RowVector<double>(HeadId head, const HeadWeights<double>& weights)> vector;
    /// Receives the line [V] of one head. Called from several threads at once.
    std::function<void(HeadId head, const RowVector<double>& line)> use;
};

/// Computes a line of numbers over the vocabulary for every selected head, in double.
/// Multiplies the vectors of a layer's heads together, so that E or W_U is read once per layer.
/// \returns a warning that names the heads left out because a number is not finite, or none
/// Errors: Cancelled.
Result<std::vector<std::string>> forEachLine(const AnalysisContext& context, const Task& task,
                                             const LineRequest& request);

/// Returns a sentence on why this model has no such token; empty if it has.
std::string whyNoToken(const ModelConfig& config, int token);

/// Specs of `path`_ids and `path`_values, a list per head. \param definition of the list: "the k largest of …"
std::vector<ArraySpec> headListSpecs(const std::string& path, const std::string& title,
                                     const std::string& definition, const std::string& condition = {});
/// The same for the largest entries of a line, and `path`_null, their expected values. \param line in definitions
std::vector<ArraySpec> topListSpecs(const std::string& path, const std::string& title,
                                    const std::string& line);

/// Stores the largest entries of a line, and in `null` their expected values for Gaussian numbers, one per token in use.
void putTop(EntryLists& lists, RealNumbers& null, HeadId head, const RowVector<double>& line,
            const AnalysisOptions& options);
/// Puts `path`_ids and `path`_values.
void putLists(Results& results, const std::string& path, const EntryLists& lists);

/// Returns the list size of option -k, limited to the number of tokens.
int listSize(const AnalysisOptions& options, int dVocab);

/// Returns options.unusedTokens for a side of `count` tokens. Ids past its end have no token.
std::vector<bool> unusedOf(const AnalysisOptions& options, Eigen::Index count);

} // namespace headwise
