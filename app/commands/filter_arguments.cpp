#include "app/commands/filter_arguments.h"

#include "app/commands/head_arguments.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace headwise::app {

std::shared_ptr<TokenFilter> addFilterArguments(CLI::App& command)
{
    auto filter = std::make_shared<TokenFilter>();
    command.add_flag("--ascii", filter->asciiOnly, "Leave out tokens that are not printable ASCII")
        ->group("Tokens");
    command
        .add_flag("--words", filter->wordsOnly,
                  "Leave out tokens that are no words: letters, perhaps after a space")
        ->group("Tokens");
    command
        .add_flag("--trained", filter->trainedOnly,
                  "Leave out tokens whose embedding was hardly trained: much nearer to the mean row of W_E "
                  "than most")
        ->group("Tokens");
    command
        .add_option("--min-count", filter->lowestCount,
                    "Leave out tokens that occur less often than N times in the text of --token-counts")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("N")
        ->group("Tokens");
    return filter;
}

std::string filterName(const TokenFilter& filter)
{
    std::string name;
    const auto add = [&](bool isOn, const char* option) {
        if (isOn)
            name += (name.empty() ? "" : " ") + std::string(option);
    };
    add(filter.asciiOnly, "--ascii");
    add(filter.wordsOnly, "--words");
    add(filter.trainedOnly, "--trained");
    const std::string least = fmt::format("--min-count {}", filter.lowestCount);
    add(filter.lowestCount > 0, least.c_str());
    return name;
}

Result<std::vector<bool>> leftOutTokens(const TokenFilter& filter, const std::optional<Tokenizer>& tokenizer,
                                        const ProcessedWeights& weights, int count, const Task& task)
{
    std::vector<bool> unused = unusedTokens(tokenizer, count);
    if (!filter.isOn())
        return unused;
    if (filter.lowestCount > 0 && !filter.counts) {
        return Error{
            ErrorCode::InvalidArgument,
            "--min-count needs to know how often tokens occur; name a file with --token-counts FILE."};
    }
    if (!tokenizer && filter.asksForText()) {
        return Error{ErrorCode::NotFound,
                     "There is no tokenizer beside this model, so " + filterName(filter)
                         + " cannot tell its tokens apart; name one with --tokenizer FILE."};
    }
    unused.resize(static_cast<std::size_t>(count), false); // nothing is known without a tokenizer
    return headwise::leftOutTokens(filter, tokenizer ? &*tokenizer : nullptr, weights, std::move(unused),
                                   task);
}

} // namespace headwise::app
