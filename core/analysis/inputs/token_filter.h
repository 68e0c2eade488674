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

/// Which tokens are looked at: all filters that are on must let a token pass.
struct TokenFilter {
    bool asciiOnly = false; ///< Printable ASCII alone.
    bool wordsOnly = false; ///< A space or none, then letters of any script alone.
    /// No token whose embedding was hardly trained: ‖e − ē‖ more than 4 robust deviations below the median, ē the mean row of
    /// W_E. Such rows stay near their starting point, where they extend every table of extremes ("glitch tokens").
    bool trainedOnly = false;
    bool noSpecials = false; ///< No token that stands for no text.
    enum class LeadingSpace { Either, With, Without };
    LeadingSpace leadingSpace = LeadingSpace::Either;
    int firstId = 0, lastId = std::numeric_limits<int>::max(); ///< Both included.
    /// ‖row of W_E‖₂ of the weights in use, both included.
    double lowestNorm = 0, highestNorm = std::numeric_limits<double>::infinity();

    /// How often a token must occur in a text; what `counts` are for. Without counts no token is left out by it.
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

/// "--ascii --words": the flags of the command line that make it; empty while it is off.
std::string filterName(const TokenFilter& filter);

/// Whether an array is about the tokens that are looked at: tables, what analyses with `Analysis::followsFilter` give, and lengths
/// that the covariance of the embedding measures. Of an analysis that is not in the catalogue: yes.
bool followsFilter(const ResultArray& array);
/// Writes the filter on such arrays: the attribute "token_filter".
void markFilter(ResultSet& results, const TokenFilter& filter);
/// The filter that an array was computed with; empty: none.
std::string filterOf(const ResultArray& array);

/// Whether the text of a token passes the filters that look at it.
bool passes(const TokenFilter& filter, const std::string& bytes);

/// true: a row of W_E that was hardly trained, [d_vocab].
/// The robust deviation is 1.4826 · the median of |‖e − ē‖ − median|. Ids of `unused` are not asked, and not marked.
/// Errors: Cancelled. Source: Land & Bartolo 2024, arXiv 2405.05417 (rows near the untrained ones' common place).
Result<std::vector<bool>> hardlyTrained(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                        const Task& task);

/// `unused` with the tokens that the filters leave out; special tokens are no words.
/// \param tokenizer null: what a filter asks of the text is passed \param unused true: an id without a token, of all that are asked
/// about
/// Errors: Cancelled.
Result<std::vector<bool>> leftOutTokens(const TokenFilter& filter, const Tokenizer* tokenizer,
                                        const ProcessedWeights& weights, std::vector<bool> unused,
                                        const Task& task);

} // namespace headwise
