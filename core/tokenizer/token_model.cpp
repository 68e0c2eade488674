#include "core/tokenizer/token_model.h"

#include <utility>

namespace headwise {

Result<TokenModel> TokenModel::create(const TokenizerFile& file)
{
    if (file.model == TokenizerFile::Model::Bpe) {
        Result<Bpe> made = Bpe::create(file);
        if (!made)
            return made.error();
        return TokenModel(std::move(made).value());
    }
    if (file.model == TokenizerFile::Model::Unigram) {
        Result<Unigram> made = Unigram::create(file);
        if (!made)
            return made.error();
        return TokenModel(std::move(made).value());
    }
    return TokenModel(WordModel(file));
}

} // namespace headwise
