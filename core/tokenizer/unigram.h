#pragma once

#include "core/base/result.h"
#include "core/tokenizer/tokenizer_file.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwise {

/// Finds the segmentation of a text into pieces with the largest sum of log probabilities.
/// Source: Kudo 2018, arXiv:1804.10959; unknown characters and user-defined pieces as in sentencepiece
/// `unigram_model.cc`, EncodeOptimized.
class Unigram {
public:
    /// Errors: Corrupt naming the file and a piece whose score is not finite.
    static Result<Unigram> create(const TokenizerFile& file);

    /// Appends the ids of one piece of pre-tokenized text. A run of unknown characters becomes one unknown token, or
    /// bytes.
    /// \param piece well-formed UTF-8 in the vocabulary's spelling
    /// Cost: O(n · the longest match · log of the vocabulary).
    void encode(std::string_view piece, std::vector<int>& ids) const;

private:
    struct Piece {
        std::string text;
        int id;
        double score;
    };
    struct Step {
        std::size_t begin = 0; // bytes
        int id = 0;
        double score = 0;
        bool reached = false;
    };
    Unigram() = default;
    std::vector<Step> bestPath(std::string_view text) const;
    void appendUnknown(std::string_view text, std::vector<int>& ids) const;

    std::vector<Piece> m_pieces; // by text
    double m_unknownScore = 0;
    bool m_sumsAreFloats = false;
    std::optional<int> m_unknown;
    std::vector<int> m_byteTokens; // [256], empty without byte fallback
};

} // namespace headwise
