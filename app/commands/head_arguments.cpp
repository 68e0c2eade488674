#include "app/commands/head_arguments.h"

#include "core/tokenizer/token_search.h"

namespace headwise::app {

std::optional<CircuitKind> parseFullCircuit(const std::string& name)
{
    if (name == "full-ov")
        return CircuitKind::FullOv;
    if (name == "full-qk")
        return CircuitKind::FullQk;
    return std::nullopt;
}

void addOffsetOption(CLI::App& command, int& offset)
{
    command
        .add_option(
            "--offset", offset,
            "For full-qk with rotary positions: W_Q R(N) W_K^T, the key N positions before the query (default 0)")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("N");
}

std::optional<Error> wrongOffset(int offset, const std::string& circuit)
{
    if (offset == 0 || parseFullCircuit(circuit) == CircuitKind::FullQk)
        return std::nullopt;
    return Error{ErrorCode::InvalidArgument,
                 "--offset is about the scores of --circuit full-qk; what " + circuit
                     + " writes does not depend on where the token stands."};
}

Result<std::optional<Tokenizer>> tokenizerOf(const ModelArguments& arguments, const ModelWeights& weights)
{
    const Result<Tokenizer> tokenizer = openTokenizer(arguments, weights);
    if (tokenizer)
        return std::optional(*tokenizer);
    if (tokenizer.error().code == ErrorCode::NotFound && arguments.tokenizerFile.empty())
        return std::optional<Tokenizer>();
    return tokenizer.error();
}

std::vector<bool> unusedTokens(const std::optional<Tokenizer>& tokenizer, int dVocab)
{
    std::vector<bool> unused;
    if (!tokenizer)
        return unused;
    for (int id = 0; id < dVocab; ++id)
        unused.push_back(!tokenizer->hasToken(id));
    return unused;
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
