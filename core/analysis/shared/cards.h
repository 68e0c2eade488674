#pragma once

#include "core/analysis/per_head.h"
#include "core/circuits/token_table.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
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

/// Returns rows of the E of a layer, [count, d].
Matrix<double> embeddingRows(const TokenSide& tokens, int layer, Eigen::Index first, Eigen::Index count);
/// Returns row `token` of the E of a layer, [d].
RowVector<double> embeddingRow(const TokenSide& tokens, int layer, int token);

/// Returns a sentence on why this model has no such token; empty if it has.
std::string whyNoToken(const ModelConfig& config, int token);

/// Ids and values of a list per head, [n_layers, n_heads, k]. Defaults: −1 and NaN.
class HeadLists {
public:
    HeadLists(const ModelConfig& config, int k);

    void put(HeadId head, const std::vector<TokenEntry>& entries);
    /// Stores the k largest entries of a line, and their expected values for Gaussian numbers, one per token in use.
    void putTop(HeadId head, const RowVector<double>& line, const AnalysisOptions& options);
    int size() const { return m_k; }

    /// Adds `path`_ids and `path`_values with the axes layer, head, rank.
    /// \param definition of the list: "the k largest of …"
    void addTo(ResultSet& results, Precision precision, const std::string& path, const std::string& title,
               const std::string& definition) const;
    /// Adds `path`_null, the expected values of the lists that `putTop` stored.
    void addNullTo(ResultSet& results, Precision precision, const std::string& path,
                   const std::string& line) const;

private:
    int m_nHeads, m_k;
    std::vector<std::int32_t> m_ids;
    PerHead m_values, m_null;
};

/// Returns the list size of option -k, limited to the number of tokens.
int listSize(const AnalysisOptions& options, int dVocab);

/// Returns options.unusedTokens for a side of `count` tokens. Ids past its end have no token.
std::vector<bool> unusedOf(const AnalysisOptions& options, Eigen::Index count);

} // namespace headwise
