#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headwise {

class Tokenizer;

/// Counts of each token in a text that the user provides.
class TokenCounts {
public:
    /// \param source the file they are from, without its folder \param counts [V], none negative, all finite
    TokenCounts(std::string source, std::vector<double> counts);

    double of(int token) const; ///< Count of a token; 0 for an id without one.
    const std::vector<double>& all() const { return m_counts; }
    double total() const { return m_total; }
    const std::string& source() const { return m_source; }
    std::uint64_t fingerprint() const { return m_fingerprint; } ///< Hash of the name and the counts.

private:
    std::string m_source;
    std::vector<double> m_counts;
    double m_total = 0;
    std::uint64_t m_fingerprint = 0;
};

/// Counts of each pair of adjacent tokens in a text that the user provides.
class BigramCounts {
public:
    struct Pair {
        int first = 0, second = 0;
        double count = 0;
    };
    struct Prefix {
        int token = 0;
        double count = 0;
    };

    /// Adds up the counts of a repeated pair. Drops pairs with count 0.
    /// \param pairs ids not negative, counts neither negative nor infinite
    BigramCounts(std::string source, std::vector<Pair> pairs);

    /// Returns the tokens that precede `second`, by rising id, with counts above 0.
    std::span<const Prefix> before(int second) const;
    double of(int first, int second) const;                       ///< Count of a pair; 0 if unseen.
    const std::vector<int>& seconds() const { return m_seconds; } ///< Tokens that follow some token, rising.
    std::size_t size() const { return m_prefixes.size(); }        ///< Number of pairs with a count above 0.
    double total() const { return m_total; }
    const std::string& source() const { return m_source; }
    std::uint64_t fingerprint() const { return m_fingerprint; } ///< Hash of the name and the counts.

private:
    std::string m_source;
    std::vector<int> m_seconds;
    std::vector<std::size_t> m_begin; // [seconds + 1], into the prefixes
    std::vector<Prefix> m_prefixes;
    double m_total = 0;
    std::uint64_t m_fingerprint = 0;
};

/// Maps a word in a counts file to a token id.
struct Vocabulary {
    const Tokenizer* tokenizer = nullptr; ///< Null: a word can only be #ID.
    int size = 0;                         ///< Number of ids.
};

/// \tparam Counts TokenCounts or BigramCounts
template <typename Counts>
struct ReadCounts {
    std::shared_ptr<const Counts> counts; ///< Never null.
    std::string warning; ///< Says how many words are not tokens and were ignored; empty if none.
};

/// Reads token counts from a file. *.json holds an object {token: count}, *.npy a vector with one number per id.
/// Any other file is CSV (RFC 4180, UTF-8) with two columns. A first line "token,count" is a header; empty lines are ignored.
///
/// A token is named by #ID, its text as shown or its raw text. The counts of a repeated token add up.
/// Errors: NotFound (also where no word is a token of this model); Io; Unsupported beyond 32 MiB; Corrupt naming the file and the
/// line or entry (another number of columns, an empty word, a count that is no number from 0 to 10¹⁸, none above 0, no UTF-8);
/// those of readNpyVector.
Result<ReadCounts<TokenCounts>> readTokenCounts(const std::filesystem::path& path,
                                                const Vocabulary& vocabulary);

/// Reads bigram counts from a file. *.json holds an array of [first, second, count]; any other file is CSV with three columns.
/// A first line "first,second,count" is a header. Otherwise as readTokenCounts.
Result<ReadCounts<BigramCounts>> readBigramCounts(const std::filesystem::path& path,
                                                  const Vocabulary& vocabulary);

/// Reads words, one per line. A *.csv file has one column; "name" or "word" in its first line is a header.
/// Ignores surrounding spaces, empty lines and repeated words.
/// Errors: NotFound; Io; Unsupported beyond 32 MiB; Corrupt naming the file and the line (several columns, a word longer than 200
/// bytes, no words, no UTF-8).
Result<std::vector<std::string>> readWords(const std::filesystem::path& path);

} // namespace headwise
