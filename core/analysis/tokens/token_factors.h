#pragma once

#include "core/circuits/circuits.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

class TokenCounts;
class Tokenizer;

// What the analyses of what heads do with chosen tokens have in common; everything in double, from the unrounded token side
// where there is one.

/// Rows `ids` of E as heads of `layer` read it, [ids, d].
Matrix<double> embeddingRows(const TokenSide& tokens, int layer, const std::vector<int>& ids);
/// Columns `ids` of W_U, transposed: [ids, d].
Matrix<double> unembeddingRows(const TokenSide& tokens, const std::vector<int>& ids);
/// (E W)ᵀ, [r, V], block by block. \param W [d, r]
Matrix<double> throughEmbedding(const TokenSide& tokens, int layer, const Matrix<double>& W);
/// W W_U, [r, V out], likewise. \param W [r, d]
Matrix<double> throughUnembedding(const Matrix<double>& W, const TokenSide& tokens);

/// `unused` for as many ids as a side of a circuit has; empty stays empty.
std::vector<bool> sizedMarks(const std::vector<bool>& unused, Eigen::Index count);
/// Whether `id` is one of those.
bool isUnusedToken(const std::vector<bool>& unused, int id);

/// At most `limit` of the ids below `count` that are not unused, rising: all where there are no more, else drawn without
/// replacement, the same for the same seed on every machine.
std::vector<int> sampledTokens(Eigen::Index count, const std::vector<bool>& unused, std::size_t limit,
                               std::uint64_t seed);

/// The same drawn by how often tokens occur: each next one with a chance of its count by the counts of those that are left; tokens
/// without a count, each as likely as another, only once no other is left.
/// Source: Efraimidis & Spirakis 2006, Information Processing Letters 97, algorithm A.
std::vector<int> tokensSampledByCount(Eigen::Index count, const std::vector<bool>& unused,
                                      const TokenCounts& counts, std::size_t limit, std::uint64_t seed);

/// The single tokens that a word is, if it is one: with a leading space, as inside a sentence, and without.
struct WordTokens {
    std::optional<int> spaced, bare;
};

/// Special tokens (an unknown word's) count as none. A tokenizer without its encoder is searched for the word's very bytes.
WordTokens wordTokens(const Tokenizer& tokenizer, std::string_view word);

} // namespace headwise
