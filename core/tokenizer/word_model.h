#pragma once

#include "core/tokenizer/tokenizer_file.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headwise {

/// Encodes word by word. WordLevel looks a word up. WordPiece splits it from the left into the longest known parts; all
/// but the first have a prefix. A word that cannot be split becomes one unknown token.
/// Source: Devlin et al. 2018, arXiv:1810.04805; BERT's tokenization.py, WordpieceTokenizer.
class WordModel {
public:
    explicit WordModel(const TokenizerFile& file);

    /// Appends the ids of one word. \param word well-formed UTF-8
    void encode(std::string_view word, std::vector<int>& ids) const;

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::optional<std::vector<int>> parts(std::string_view word) const;

    std::unordered_map<std::string, int, Hash, std::equal_to<>> m_ids;
    std::optional<int> m_unknown;
    bool m_inParts = false;
    std::string m_continuingPrefix;
    int m_maxCharacters = 0;
};

} // namespace headwise
