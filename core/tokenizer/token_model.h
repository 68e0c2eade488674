#pragma once

#include "core/base/result.h"
#include "core/tokenizer/bpe.h"
#include "core/tokenizer/tokenizer_file.h"
#include "core/tokenizer/unigram.h"
#include "core/tokenizer/word_model.h"

#include <string_view>
#include <variant>
#include <vector>

namespace headwise {

/// Splits a pre-tokenized piece of text into tokens, for every kind of tokenizer file.
class TokenModel {
public:
    /// Errors: Corrupt naming the file if its tokens contradict each other.
    static Result<TokenModel> create(const TokenizerFile& file);

    /// Appends the ids of one piece. \param piece well-formed UTF-8 in the vocabulary's spelling
    void encode(std::string_view piece, std::vector<int>& ids) const
    {
        std::visit([&](const auto& model) { model.encode(piece, ids); }, m_model);
    }

private:
    using Model = std::variant<Bpe, Unigram, WordModel>;
    explicit TokenModel(Model model)
        : m_model(std::move(model))
    {
    }

    Model m_model;
};

} // namespace headwise
