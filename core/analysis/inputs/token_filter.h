#pragma once

#include "core/base/task.h"
#include "core/model/processing.h"
#include "core/results/result_set.h"
#include "core/tokenizer/tokenizer.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace headwise {

class TokenCounts;

/// Filters that select tokens. A token must pass every filter that is on.
struct TokenFilter {
    bool asciiOnly = false; ///< Only printable ASCII.
    bool wordsOnly = false; ///< An optional space, then only letters of any script.
    /// No untrained tokens: ‖e − ē‖ is more than 4 robust deviations below the median, ē the mean row of W_E.
    /// Such embeddings stay near their initial values and crowd every table of extremes ("glitch tokens").
    bool trainedOnly = false;
    bool noSpecials = false; ///< Removes tokens that represent no text.
    enum class LeadingSpace { Either, With, Without };
    LeadingSpace leadingSpace = LeadingSpace::Either;
    int firstId = 0, lastId = std::numeric_limits<int>::max(); ///< Both included.
    /// Range of ‖row of W_E‖₂ in the weights in use, both ends included.
    double lowestNorm = 0, highestNorm = std::numeric_limits<double>::infinity();

    /// Minimum count of a token in the text of `counts`. Without counts this filter passes every token.
    double lowestCount = 0;
    std::shared_ptr<const TokenCounts> counts = {};

    bool asksForText() const
    {
        return asciiOnly || wordsOnly || noSpecials || leadingSpace != LeadingSpace::Either;
    }
    bool asksForNorms() const { return lowestNorm > 0 || std::isfinite(highestNorm); }
    bool isOn() const { return *this != TokenFilter(); }
    bool operator==(const TokenFilter&) const = default;
};

/// Returns the command-line flags that produce the filter: "--ascii --words". Empty if the filter is off.
std::string filterName(const TokenFilter& filter);

/// Returns whether an array depends on the token filter.
/// True for tables, for analyses with `Analysis::followsFilter`, and for norms in the metric of the embedding covariance.
/// Also true for an analysis that is not in the catalogue.
bool followsFilter(const ResultArray& array);
/// Writes the filter to such arrays as the attribute "token_filter".
void markFilter(ResultSet& results, const TokenFilter& filter);
/// Returns the filter that an array was computed with; empty if none.
std::string filterOf(const ResultArray& array);

/// Returns whether the text of a token passes the filters on text.
bool passes(const TokenFilter& filter, const std::string& bytes);

/// Returns true for each untrained row of W_E, [d_vocab].
/// The robust deviation is 1.4826 · the median of |‖e − ē‖ − median|. Ids in `unused` are skipped and never marked.
/// Errors: Cancelled. Source: Land & Bartolo 2024, arXiv 2405.05417 (rows close to the point that untrained ones share).
Result<std::vector<bool>> hardlyTrained(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                        const Task& task);

/// Returns `unused` plus the tokens that the filters remove. Special tokens are not words.
/// \param tokenizer null: filters on text pass every token \param unused true: an id without a token, for all ids to filter
/// Errors: Cancelled.
Result<std::vector<bool>> leftOutTokens(const TokenFilter& filter, const Tokenizer* tokenizer,
                                        const ProcessedWeights& weights, std::vector<bool> unused,
                                        const Task& task);

} // namespace headwise
