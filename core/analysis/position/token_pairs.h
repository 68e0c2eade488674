#pragma once

#include "core/base/matrix.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace headwise {

class BigramCounts;
class Tokenizer;

inline constexpr std::size_t rocPoints = 101;

/// ROC curve of scores that separate right from wrong tokens.
struct Roc {
    double area = 0; ///< Probability that a right one scores above a wrong one; ties count half.
    Eigen::VectorXd
        curve; ///< [rocPoints], share of the right ones above what 0, 1, …, 100 % of the wrong ones exceed
};

struct Weighted {
    double score = 0, weight = 1; ///< Weight above 0.
};

/// Returns the ROC curve of right against wrong scores. \param right, wrong not empty
Roc rocOf(const std::vector<double>& right, std::vector<double> wrong);
/// Returns the ROC curve in which each right score counts by its weight.
Roc weightedRoc(std::vector<Weighted> right, std::vector<double> wrong);

/// Pairs of tokens (prefix, suffix) that belong together.
/// With the bigrams of a text: adjacent tokens, weighted by count.
/// Without a text: tokens whose joined text is a token of the same vocabulary, with weight 1.
class TokenPairs {
public:
    TokenPairs() = default;
    /// Collects the pairs that form a token. Skips special tokens and tokens without a text.
    /// \param unused true: an id to skip; empty: none
    TokenPairs(const Tokenizer& tokenizer, int dVocab, const std::vector<bool>& unused);
    /// Collects the pairs of a text. Skips only the tokens in `unused`.
    /// \param tokenizer null: no pair is known to form a token
    TokenPairs(const BigramCounts& bigrams, const Tokenizer* tokenizer, int dVocab,
               const std::vector<bool>& unused);

    /// Returns the token that both form, or −1 if there is none.
    int merged(int prefix, int suffix) const;
    /// Returns up to `count` random tokens that are the suffix of a pair, rising.
    std::vector<int> someSuffixes(std::size_t count, std::uint64_t seed) const;
    /// Returns the ROC of the right prefixes of a suffix, by weight, against all other tokens in use.
    /// \param suffix must have prefixes \param scores [V]
    Roc rocOf(int suffix, const Eigen::VectorXd& scores) const;
    /// Returns the standard deviation of the mean AUROC over these suffixes for random scores.
    /// For one suffix it is √((S (N + 1) + 1)/(12 N)) (Mann and Whitney 1947), with N the number of other tokens.
    /// S is the sum of the squared shares of the right prefixes, 1/P for P equal shares.
    double randomDeviation(const std::vector<int>& suffixes) const;

private:
    struct Prefix {
        int id = 0;
        double weight = 1;
    };
    /// Reads the texts of the tokens that have one.
    void readTexts(const Tokenizer& tokenizer, int dVocab, const std::vector<bool>& unused);

    std::vector<std::string> m_texts; // [V], empty: never merged
    std::unordered_map<std::string, int> m_ids;
    std::vector<bool> m_isUsed;                    // [V]: can be a prefix
    std::map<int, std::vector<Prefix>> m_prefixes; // by suffix, rising
    std::size_t m_used = 0;
};

} // namespace headwise
