#include "app/commands/token_arguments.h"

#include "core/tokenizer/token_search.h"

namespace headwise::app {

Result<std::optional<Tokenizer>> findTokenizer(const ModelArguments& arguments, const ModelWeights& weights)
{
    const Result<Tokenizer> tokenizer = openTokenizer(arguments, weights);
    if (tokenizer)
        return std::optional(*tokenizer);
    if (tokenizer.error().code == ErrorCode::NotFound && arguments.tokenizerFile.empty())
        return std::optional<Tokenizer>();
    return tokenizer.error();
}

Result<OpenedModel> openWithTokenizer(const ModelArguments& arguments, const ProcessingArguments& switches,
                                      const Task& task)
{
    auto weights = openProcessed(arguments, switches, task);
    if (!weights)
        return weights.error();
    auto tokenizer = findTokenizer(arguments, (*weights)->original());
    if (!tokenizer)
        return tokenizer.error();
    return OpenedModel{*std::move(weights), *std::move(tokenizer)};
}

std::vector<bool> unusedTokens(const std::optional<Tokenizer>& tokenizer, int dVocab)
{
    return tokenizer ? unusedIds(*tokenizer, dVocab) : std::vector<bool>();
}

Result<std::optional<int>> tokenId(const std::optional<std::string>& given,
                                   const std::optional<Tokenizer>& tokenizer)
{
    if (!given)
        return std::optional<int>();
    const std::string& text = *given;
    if (text.empty())
        return Error{ErrorCode::InvalidArgument, "--token is empty; give a token's text, or its id as #ID."};
    const Result<int> id = tokenNamed(text, tokenizer ? &*tokenizer : nullptr);
    return id ? Result(std::optional<int>(*id)) : id.error();
}

} // namespace headwise::app
