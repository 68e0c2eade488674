#include "app/commands/input_arguments.h"

#include "app/commands/head_arguments.h"
#include "core/analysis/relation_file.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

namespace headwise::app {
namespace {

Result<std::optional<std::pair<HeadId, HeadId>>> headPair(const std::optional<std::string>& text,
                                                          const ModelConfig& config)
{
    if (!text)
        return std::optional<std::pair<HeadId, HeadId>>();
    const auto heads = parseHeads(*text, config.nLayers, config.nHeads);
    if (!heads)
        return heads.error();
    if (heads->size() != 2 || heads->front().layer >= heads->back().layer) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("--pair {} is not two heads of different layers; write the earlier and the "
                                 "later one, as in 0.1,1.5.",
                                 *text)};
    }
    return std::optional(std::pair(heads->front(), heads->back()));
}

Result<std::vector<Relation>> relationsFrom(const std::vector<std::string>& files)
{
    std::vector<Relation> relations;
    for (const std::string& file : files) {
        const auto read = readRelations(file);
        if (!read)
            return read.error();
        for (const Relation& relation : *read) {
            const auto isSame = [&](const Relation& other) { return other.name == relation.name; };
            if (std::any_of(relations.begin(), relations.end(), isSame)) {
                return Error{ErrorCode::InvalidArgument,
                             fmt::format("There are two relations named '{}'; rename one of the files of "
                                         "--relation.",
                                         relation.name)};
            }
            relations.push_back(relation);
        }
    }
    return relations;
}

} // namespace

std::shared_ptr<InputArguments> addInputArguments(CLI::App& command)
{
    auto arguments = std::make_shared<InputArguments>();
    arguments->prompt = addPromptArguments(command);
    command
        .add_option("--token", arguments->token, "The token of the token card: its text, or its id as #ID")
        ->type_name("TEXT|#ID");
    command
        .add_option("--pair", arguments->pair,
                    "The two heads of the analyses of a pair, the earlier and the later, as in 0.1,1.5")
        ->type_name("L.H,L.H");
    command
        .add_option(
            "--relation", arguments->relationFiles,
            "Pairs of words for the relation scores, instead of the built-in lists: two columns of CSV, "
            "or JSON; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command.add_option("--seed", arguments->seed, "Of random baselines and random sequences (0)")
        ->type_name("N");
    return arguments;
}

Result<AnalysisInputs> analysisInputs(const InputArguments& arguments, const ModelArguments& model,
                                      const ModelWeights& weights, const std::optional<Tokenizer>& tokenizer)
{
    AnalysisInputs inputs;
    const auto prompt = promptIds(*arguments.prompt, model, weights);
    if (!prompt)
        return prompt.error();
    inputs.prompt = *prompt;
    const auto token = tokenId(arguments.token, tokenizer);
    if (!token)
        return token.error();
    inputs.token = *token;
    const auto pair = headPair(arguments.pair, weights.config());
    if (!pair)
        return pair.error();
    inputs.pair = *pair;
    auto relations = relationsFrom(arguments.relationFiles);
    if (!relations)
        return relations.error();
    inputs.relations = std::move(relations).value();
    if (tokenizer)
        inputs.tokenizer = std::make_shared<const Tokenizer>(*tokenizer);
    inputs.seed = arguments.seed;
    return inputs;
}

} // namespace headwise::app
