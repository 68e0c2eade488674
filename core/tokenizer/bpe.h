#pragma once

#include "core/base/result.h"
#include "core/tokenizer/tokenizer_file.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headwise {

/// Byte-pair encoding. A piece starts as its characters; then the adjacent pair whose merge was learned first is merged,
/// the leftmost on ties, until none is left.
/// Source: Sennrich et al. 2016, arXiv:1508.07909; ties and unknown characters as in Hugging Face tokenizers.
class Bpe {
public:
    /// Errors: Corrupt naming the file and the merge whose parts or result are not in the vocabulary.
    static Result<Bpe> create(const TokenizerFile& file);

    /// Appends the ids of one piece of pre-tokenized text.
    /// \param piece well-formed UTF-8 in the vocabulary's spelling
    /// Cost: O(n log n) in its length.
    void encode(std::string_view piece, std::vector<int>& ids) const;

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    struct Merged {
        std::uint32_t rank;
        int id;
    };

    Bpe() = default;
    std::optional<int> idOf(std::string_view token) const;
    std::vector<int> characters(std::string_view piece) const;
    bool appendByteTokens(std::string_view character, std::vector<int>& ids) const;
    const Merged* mergeOf(int left, int right) const;

    std::unordered_map<std::string, int, Hash, std::equal_to<>> m_ids;
    std::unordered_map<std::uint64_t, Merged> m_merges; ///< by the ids of the pair
    std::optional<int> m_unknown;
    std::vector<std::optional<int>> m_byteTokens; // [256], empty without byte fallback
    bool m_fuseUnknown = false;
    bool m_ignoreMerges = false;
    std::string m_continuingPrefix;
    std::string m_endOfWordSuffix;
};

} // namespace headwise
