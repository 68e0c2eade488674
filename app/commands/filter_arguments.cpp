#include "app/commands/filter_arguments.h"

#include "app/commands/input_arguments.h"
#include "app/commands/token_arguments.h"

#include <algorithm>

namespace headwise::app {

namespace {

void addRanges(CLI::App& command, TokenFilter& filter)
{
    const auto add = [&command](const std::string& name, auto& value, const std::string& words) {
        command.add_option(name, value, words)
            ->check(CLI::NonNegativeNumber.description(""))
            ->type_name("N")
            ->group("Tokens");
    };
    add("--first-id", filter.firstId, "Leaves out tokens with lower ids");
    add("--last-id", filter.lastId, "Leaves out tokens with higher ids");
    add("--min-norm", filter.lowestNorm,
        "Leaves out tokens whose row of W_E (of the weights in use) has a norm below N");
    add("--max-norm", filter.highestNorm, "Leaves out tokens whose row of W_E has a norm above N");
}

} // namespace

std::shared_ptr<TokenFilter> addFilterArguments(CLI::App& command)
{
    auto filter = std::make_shared<TokenFilter>();
    command.add_flag("--ascii", filter->asciiOnly, "Leaves out tokens that are not printable ASCII")
        ->group("Tokens");
    command
        .add_flag("--words", filter->wordsOnly,
                  "Leaves out tokens that are not words (letters, with or without a leading space)")
        ->group("Tokens");
    command
        .add_flag(
            "--trained", filter->trainedOnly,
            "Leaves out untrained tokens: their embedding is much nearer to the mean row of W_E than most")
        ->group("Tokens");
    command
        .add_flag("--no-specials", filter->noSpecials, "Leaves out special tokens, which represent no text")
        ->group("Tokens");
    using Space = TokenFilter::LeadingSpace;
    command
        .add_option_function<std::string>(
            "--leading-space",
            [filter](const std::string& how) {
                filter->leadingSpace = how == "with" ? Space::With : Space::Without;
            },
            "Leaves out tokens that do not begin with a space, or those that do")
        ->check(CLI::IsMember({"with", "without"}).description(""))
        ->type_name("with|without")
        ->group("Tokens");
    addRanges(command, *filter);
    command
        .add_option("--min-count", filter->lowestCount,
                    "Leaves out tokens that occur fewer than N times in the text of --token-counts")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("N")
        ->group("Tokens");
    return filter;
}

Result<std::vector<bool>> leftOutTokens(const TokenFilter& filter, const std::optional<Tokenizer>& tokenizer,
                                        const ProcessedWeights& weights, int count, const Task& task)
{
    std::vector<bool> unused = unusedTokens(tokenizer, count);
    if (!filter.isOn())
        return unused;
    if (filter.lowestCount > 0 && !filter.counts) {
        return Error{ErrorCode::InvalidArgument,
                     "--min-count needs token counts; name a file with --token-counts FILE."};
    }
    if (!tokenizer && filter.asksForText()) {
        return Error{ErrorCode::NotFound,
                     "There is no tokenizer beside this model, so " + filterName(filter)
                         + " cannot classify its tokens; name one with --tokenizer FILE."};
    }
    // without a tokenizer nothing is known about tokens
    unused.resize(static_cast<std::size_t>(count), false);
    return headwise::leftOutTokens(filter, tokenizer ? &*tokenizer : nullptr, weights, std::move(unused),
                                   task);
}

Result<std::vector<bool>> leftOutTokens(TokenFilter filter, const std::optional<std::string>& countsFile,
                                        const std::optional<Tokenizer>& tokenizer,
                                        const ProcessedWeights& weights, const Task& task)
{
    const ModelConfig& config = weights.config();
    const auto counts = tokenCountsOf(countsFile, tokenizer, config);
    if (!counts)
        return counts.error();
    filter.counts = filter.lowestCount > 0 ? *counts : nullptr;
    return leftOutTokens(filter, tokenizer, weights, std::max(config.dVocab, config.dVocabOut), task);
}

} // namespace headwise::app
