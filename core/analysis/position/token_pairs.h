#pragma once

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace headwise {

class Tokenizer;

inline constexpr std::size_t rocPoints = 101;

/// How well scores tell right from wrong.
struct Roc {
    double area = 0; ///< The chance that a right one scores above a wrong one, equal scores counted half.
    Eigen::VectorXd
        curve; ///< [rocPoints], share of the right ones above what 0, 1, …, 100 % of the wrong ones exceed
};

/// \param right, wrong neither empty
Roc rocOf(std::vector<double> right, std::vector<double> wrong);

/// Pairs of tokens (prefix, suffix) whose texts together are a token of the same vocabulary: what stands in for bigrams where
/// there is no corpus.
class TokenPairs {
public:
    TokenPairs() = default;
    /// \param unused true: an id that is left out; empty: none. Special tokens and those without a text are left out too.
    TokenPairs(const Tokenizer& tokenizer, int dVocab, const std::vector<bool>& unused);

    /// The token that both form; −1: there is none.
    int merged(int prefix, int suffix) const;
    /// Up to `count` of those that are the suffix of some token, at random, rising.
    std::vector<int> someSuffixes(std::size_t count, std::uint64_t seed) const;
    /// Right prefixes of a suffix against all other tokens in use. \param scores [V]; `suffix` one that has prefixes
    Roc rocOf(int suffix, const Eigen::VectorXd& scores) const;
    /// Standard deviation of the mean AUROC over these suffixes where scores are random (Mann and Whitney 1947).
    double randomDeviation(const std::vector<int>& suffixes) const;

private:
    std::vector<std::string> m_texts; // [V], empty: left out
    std::unordered_map<std::string, int> m_ids;
    std::map<int, std::vector<int>> m_prefixes; // by suffix, rising
    std::size_t m_used = 0;
};

} // namespace headwise
