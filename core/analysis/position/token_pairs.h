#pragma once

#include <Eigen/Core>

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

/// How well scores tell right from wrong.
struct Roc {
    double area = 0; ///< The chance that a right one scores above a wrong one, equal scores counted half.
    Eigen::VectorXd
        curve; ///< [rocPoints], share of the right ones above what 0, 1, …, 100 % of the wrong ones exceed
};

struct Weighted {
    double score = 0, weight = 1; ///< The weight above 0.
};

/// \param right, wrong neither empty
Roc rocOf(const std::vector<double>& right, std::vector<double> wrong);
/// Right ones count by their weight, as if there were as many of each.
Roc weightedRoc(std::vector<Weighted> right, std::vector<double> wrong);

/// Pairs of tokens (prefix, suffix) that belong together: those that follow each other in a text, each as often as it does, or
/// where there is no text those whose texts together are a token of the same vocabulary, each once.
class TokenPairs {
public:
    TokenPairs() = default;
    /// Those that form a token.
    /// \param unused true: an id that is left out; empty: none. Special tokens and those without a text are left out too.
    TokenPairs(const Tokenizer& tokenizer, int dVocab, const std::vector<bool>& unused);
    /// Those of a text. \param tokenizer null: no pair is known to form a token \param unused likewise; no other token is left out
    TokenPairs(const BigramCounts& bigrams, const Tokenizer* tokenizer, int dVocab,
               const std::vector<bool>& unused);

    /// The token that both form; −1: there is none.
    int merged(int prefix, int suffix) const;
    /// Up to `count` of those that are the suffix of some token, at random, rising.
    std::vector<int> someSuffixes(std::size_t count, std::uint64_t seed) const;
    /// Right prefixes of a suffix, by their weight, against all other tokens in use. \param scores [V]; `suffix` one that has prefixes
    Roc rocOf(int suffix, const Eigen::VectorXd& scores) const;
    /// Standard deviation of the mean AUROC over these suffixes where scores are random: of one, √((S (N + 1) + 1)/(12 N)), S the
    /// sum of the squared shares of the right prefixes, 1/P of equal ones (Mann and Whitney 1947), N how many others.
    double randomDeviation(const std::vector<int>& suffixes) const;

private:
    struct Prefix {
        int id = 0;
        double weight = 1;
    };
    /// Texts of tokens that have one of their own.
    void readTexts(const Tokenizer& tokenizer, int dVocab, const std::vector<bool>& unused);

    std::vector<std::string> m_texts; // [V], empty: left out of what is merged
    std::unordered_map<std::string, int> m_ids;
    std::vector<bool> m_isUsed;                    // [V]: can be a prefix
    std::map<int, std::vector<Prefix>> m_prefixes; // by suffix, rising
    std::size_t m_used = 0;
};

} // namespace headwise
