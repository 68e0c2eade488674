#pragma once

#include "core/analysis/per_head.h"
#include "core/circuits/token_table.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwise {

// What the analyses that follow one vector through every head have in common.

/// What a vector of the residual stream is held against.
enum class LineEnd {
    Tokens,  ///< x · Eᵀ, E that of the head's layer
    Outputs, ///< x · W_U
};

struct LineRequest {
    std::string_view step; ///< For people who wait.
    LineEnd end = LineEnd::Outputs;
    /// x [d] of one head, such as e W_V W_O.
    std::function<RowVector<double>(HeadId head, const HeadWeights<double>& weights)> vector;
    /// Is given the line [V] of one head, from several threads at once.
    std::function<void(HeadId head, const RowVector<double>& line)> use;
};

/// A line of numbers over the vocabulary for every selected head, in double: the vectors of a layer's heads are multiplied
/// together, so that E or W_U is read once a layer.
/// \returns a warning that names the heads left out because a number is not finite, or none
/// Errors: Cancelled.
Result<std::vector<std::string>> forEachLine(const AnalysisContext& context, const Task& task,
                                             const LineRequest& request);

/// Rows of the E of a layer, [count, d].
Matrix<double> embeddingRows(const TokenSide& tokens, int layer, Eigen::Index first, Eigen::Index count);
/// Row `token` of it, [d].
RowVector<double> embeddingRow(const TokenSide& tokens, int layer, int token);

/// Why there is no such token in this model, a sentence; empty if there is.
std::string whyNoToken(const ModelConfig& config, int token);

/// Ids and values of a list per head, [n_layers, n_heads, k]; −1 and NaN until they are set.
class HeadLists {
public:
    HeadLists(const ModelConfig& config, int k);

    void put(HeadId head, const std::vector<TokenEntry>& entries);
    /// The k largest of a line; beside them, where they would lie in a line of as many Gaussian numbers as tokens are in use.
    void putTop(HeadId head, const RowVector<double>& line, const AnalysisOptions& options);
    int size() const { return m_k; }

    /// `path`_ids and `path`_values over the axes layer, head, rank.
    /// \param definition of the list: "the k largest of …"
    void addTo(ResultSet& results, Precision precision, const std::string& path, const std::string& title,
               const std::string& definition) const;
    /// `path`_null, of what `putTop` was given.
    void addNullTo(ResultSet& results, Precision precision, const std::string& path,
                   const std::string& line) const;

private:
    int m_nHeads, m_k;
    std::vector<std::int32_t> m_ids;
    PerHead m_values, m_null;
};

/// -k, but no more than there are tokens.
int listSize(const AnalysisOptions& options, int dVocab);

/// options.unusedTokens for a side of `count` tokens: ids past its end have no token.
std::vector<bool> unusedOf(const AnalysisOptions& options, Eigen::Index count);

} // namespace headwise
