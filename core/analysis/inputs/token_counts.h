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

/// How often each token occurs in a text of the user's.
class TokenCounts {
public:
    /// \param source the file they are from, without its folder \param counts [V], none negative, all finite
    TokenCounts(std::string source, std::vector<double> counts);

    double of(int token) const; ///< 0 for an id that has none.
    const std::vector<double>& all() const { return m_counts; }
    double total() const { return m_total; }
    const std::string& source() const { return m_source; }
    std::uint64_t fingerprint() const { return m_fingerprint; } ///< Of name and numbers.

private:
    std::string m_source;
    std::vector<double> m_counts;
    double m_total = 0;
    std::uint64_t m_fingerprint = 0;
};

/// How often a token directly follows another in such a text.
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

    /// \param pairs ids not negative, counts neither negative nor infinite; the counts of a pair given twice are added, pairs
    /// that were never counted left out
    BigramCounts(std::string source, std::vector<Pair> pairs);

    /// What stands before `second`, by rising id; counts above 0.
    std::span<const Prefix> before(int second) const;
    double of(int first, int second) const; ///< 0: never seen.
    const std::vector<int>& seconds() const
    {
        return m_seconds;
    }                                                      ///< Those before which something stands, rising.
    std::size_t size() const { return m_prefixes.size(); } ///< Pairs with a count above 0.
    double total() const { return m_total; }
    const std::string& source() const { return m_source; }
    std::uint64_t fingerprint() const { return m_fingerprint; } ///< Of name and numbers.

private:
    std::string m_source;
    std::vector<int> m_seconds;
    std::vector<std::size_t> m_begin; // [seconds + 1], into the prefixes
    std::vector<Prefix> m_prefixes;
    double m_total = 0;
    std::uint64_t m_fingerprint = 0;
};

/// Who says which token a word of a file is.
struct Vocabulary {
    const Tokenizer* tokenizer = nullptr; ///< Null: words are #ID alone.
    int size = 0;                         ///< Ids are below it.
};

/// \tparam Counts TokenCounts or BigramCounts
template <typename Counts>
struct ReadCounts {
    std::shared_ptr<const Counts> counts; ///< Never null.
    std::string warning; ///< How many words are no token here, and so count for nothing; else empty.
};

/// Reads how often tokens occur: *.json is an object {token: count}, *.npy a vector of one number per id, everything else CSV
/// (RFC 4180, UTF-8) with two columns; a first line "token,count" is a header, empty lines count for nothing.
///
/// A token is named as everywhere: #ID, its text as shown or its raw text. What is given twice is added up.
/// Errors: NotFound (also where no word is a token of this model); Io; Unsupported beyond 32 MiB; Corrupt naming the file and the
/// line or entry (another number of columns, an empty word, a count that is no number from 0 to 10¹⁸, none above 0, no UTF-8);
/// those of readNpyVector.
Result<ReadCounts<TokenCounts>> readTokenCounts(const std::filesystem::path& path,
                                                const Vocabulary& vocabulary);

/// Reads how often a token directly follows another: *.json is an array of [first, second, count], everything else CSV with
/// three columns, a first line "first,second,count" a header. Otherwise as readTokenCounts.
Result<ReadCounts<BigramCounts>> readBigramCounts(const std::filesystem::path& path,
                                                  const Vocabulary& vocabulary);

/// Words, one per line; a file *.csv is CSV of one column, where "name" or "word" in the first line is a header. Spaces around them
/// and empty lines count for nothing; what is there twice is taken once.
/// Errors: NotFound; Io; Unsupported beyond 32 MiB; Corrupt naming the file and the line (several columns, a word longer than 200
/// bytes, no words, no UTF-8).
Result<std::vector<std::string>> readWords(const std::filesystem::path& path);

} // namespace headwise
