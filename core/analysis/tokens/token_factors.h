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

// Shared code of the analyses that apply heads to chosen tokens.
// Everything is in double, from the unrounded token side if there is one.

/// Returns `unused` resized to the number of ids on a side of a circuit. Empty stays empty.
std::vector<bool> sizedMarks(const std::vector<bool>& unused, Eigen::Index count);
/// Returns whether `id` is unused.
bool isUnusedToken(const std::vector<bool>& unused, int id);

/// Returns at most `limit` of the ids below `count` that are in use, rising. Returns all if there are no more.
/// Otherwise draws them without replacement. A seed gives the same draw on every machine.
std::vector<int> sampledTokens(Eigen::Index count, const std::vector<bool>& unused, std::size_t limit,
                               std::uint64_t seed);

/// Draws such ids weighted by token counts: the chance of each next token is its count over the sum of the remaining counts.
/// Tokens without a count are drawn last, with equal chances.
/// Source: Efraimidis & Spirakis 2006, Information Processing Letters 97, algorithm A.
std::vector<int> tokensSampledByCount(Eigen::Index count, const std::vector<bool>& unused,
                                      const TokenCounts& counts, std::size_t limit, std::uint64_t seed);

/// The single tokens that spell a word, with a leading space (as inside a sentence) and without; empty if there is none.
struct WordTokens {
    std::optional<int> spaced, bare;
};

/// Finds the single tokens of a word. Ignores special tokens, such as the one for unknown words.
/// If the tokenizer has no encoder, searches for a token with exactly the word's bytes.
WordTokens wordTokens(const Tokenizer& tokenizer, std::string_view word);

} // namespace headwise
