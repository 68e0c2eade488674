#include "app/commands/input_arguments.h"

#include "app/commands/support.h"
#include "app/commands/token_arguments.h"
#include "core/analysis/inputs/direction_source.h"
#include "core/analysis/inputs/relation_file.h"
#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/inputs/token_cycle.h"
#include "core/analysis/prompt/score_positions.h"
#include "core/analysis/residual_basis.h"
#include "core/checkpoint/npy.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

namespace headwise::app {
namespace {

Vocabulary vocabularyOf(const std::optional<Tokenizer>& tokenizer, const ModelConfig& config)
{
    return {tokenizer ? &*tokenizer : nullptr, config.dVocab};
}

void warnOf(const std::string& warning)
{
    if (!warning.empty())
        printWarnings({warning});
}

Result<std::optional<std::pair<HeadId, HeadId>>> headPair(const std::optional<std::string>& text,
                                                          const ModelConfig& config)
{
    if (!text)
        return std::optional<std::pair<HeadId, HeadId>>();
    const auto heads = parseHeads(*text, config.nLayers, config.nHeads);
    if (!heads)
        return heads.error();
    if (heads->size() != 2 || heads->front().layer >= heads->back().layer) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "--pair {} is not two heads of different layers; write the earlier and the later one, as in 0.1,1.5.",
                *text)};
    }
    return std::optional(std::pair(heads->front(), heads->back()));
}

Result<std::optional<int>> keyTokenId(const InputArguments& arguments,
                                      const std::optional<Tokenizer>& tokenizer)
{
    if (!arguments.keyToken)
        return std::optional<int>();
    if (!arguments.token)
        return Error{ErrorCode::InvalidArgument, "--key-token needs the query token; give it with --token."};
    if (arguments.keyToken->empty())
        return Error{ErrorCode::InvalidArgument,
                     "--key-token is empty; give a token's text, or its id as #ID."};
    return tokenId(arguments.keyToken, tokenizer);
}

Result<std::vector<int>> cycleOf(const InputArguments& arguments, const ModelConfig& config)
{
    if (!arguments.cycle)
        return std::vector<int>();
    AnalysisOptions options;
    auto ids = parseTokenCycle(*arguments.cycle);
    if (!ids)
        return ids;
    options.inputs.cycle = *ids;
    if (std::string why = whyNoTokenCycle(config, options); !why.empty())
        return Error{ErrorCode::InvalidArgument, std::move(why)};
    return ids;
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
                return Error{
                    ErrorCode::InvalidArgument,
                    fmt::format("There are two relations named '{}'; rename one of the files of --relation.",
                                relation.name)};
            }
            relations.push_back(relation);
        }
    }
    return relations;
}

/// Reads the user's counts and word lists.
Result<Done> readTexts(AnalysisInputs& inputs, const InputArguments& arguments,
                       const std::optional<Tokenizer>& tokenizer, const ModelConfig& config)
{
    if (arguments.names) {
        auto names = readWords(*arguments.names);
        if (!names)
            return names.error();
        inputs.names = std::move(names).value();
    }
    const auto counts = tokenCountsOf(arguments.tokenCounts, tokenizer, config);
    if (!counts)
        return counts.error();
    inputs.tokenCounts = *counts;
    if (arguments.bigramCounts) {
        const auto bigrams = readBigramCounts(*arguments.bigramCounts, vocabularyOf(tokenizer, config));
        if (!bigrams)
            return bigrams.error();
        warnOf(bigrams->warning);
        inputs.bigramCounts = bigrams->counts;
    }
    return Done{};
}

void addTextArguments(CLI::App& command, InputArguments& arguments)
{
    command
        .add_option("--name-list", arguments.names,
                    "Words for name copying, one per line, instead of the built-in first names")
        ->type_name("FILE");
    addTokenCountsOption(command, arguments.tokenCounts);
    command
        .add_option(
            "--bigram-counts", arguments.bigramCounts,
            "Bigram counts from your own text, how often a token directly follows another: CSV (first,second,count), or a JSON array of such triples")
        ->type_name("FILE");
}

} // namespace

void addTokenCountsOption(CLI::App& command, std::optional<std::string>& file)
{
    command
        .add_option(
            "--token-counts", file,
            "Token counts from your own text, how often each token occurs: CSV (token,count), a JSON object {token: count}, or a NumPy vector of one number per id")
        ->type_name("FILE");
}

Result<std::shared_ptr<const TokenCounts>> tokenCountsOf(const std::optional<std::string>& file,
                                                         const std::optional<Tokenizer>& tokenizer,
                                                         const ModelConfig& config)
{
    if (!file)
        return std::shared_ptr<const TokenCounts>();
    const auto read = readTokenCounts(*file, vocabularyOf(tokenizer, config));
    if (!read)
        return read.error();
    warnOf(read->warning);
    return read->counts;
}

std::shared_ptr<InputArguments> addInputArguments(CLI::App& command)
{
    auto arguments = std::make_shared<InputArguments>();
    arguments->prompt = addPromptArguments(command);
    command
        .add_option("--token", arguments->token, "The token of the token card: its text, or its id as #ID")
        ->type_name("TEXT|#ID");
    command
        .add_option(
            "--key-token", arguments->keyToken,
            "Key token for the query of --token: computes their score by offset under rotary positions")
        ->type_name("TEXT|#ID");
    command
        .add_option(
            "--cycle", arguments->cycle,
            "The token ids of a cycle in order, for spectra over it: FIRST-LAST, or a list of ids and ranges, as in 0-112 (all ids of a small vocabulary)")
        ->type_name("IDS");
    command
        .add_option("--pair", arguments->pair,
                    "The two heads for analyses of a pair, the earlier and the later, as in 0.1,1.5")
        ->type_name("L.H,L.H");
    command
        .add_option("--query-position", arguments->queryPosition,
                    "Query position for score_sources, counted from 0. Default: the last token")
        ->type_name("N");
    command
        .add_option("--key-position", arguments->keyPosition,
                    "Key position for score_sources. Default: the key each head attends to most")
        ->type_name("N");
    command
        .add_option(
            "--previous-token-heads", arguments->previousTokenHeads,
            "Known previous-token heads. The ranking of induction circuits treats them as certain, whatever their score from weights")
        ->type_name("L.H,...");
    command
        .add_option(
            "--relation", arguments->relationFiles,
            "Pairs of words for the relation scores, instead of the built-in lists: two columns of CSV, or JSON; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    addTextArguments(command, *arguments);
    command
        .add_option(
            "--direction", arguments->direction,
            "The direction for the direction card: a NumPy file with d_model numbers, or a token's row of W_E, minus another's if two are given, as in \" he --  she\"; unembed:TOKEN is its column of W_U; neuron:L.N:out is what neuron N of layer L writes, :in what it reads; "
            "singular:L.H:ov:out:K is the K-th (from 1) right singular vector of a head's W_V W_O, in the left one, qk those of W_Q W_K^T")
        ->type_name("FILE.npy|TOKEN[ -- TOKEN]|neuron:...|singular:...");
    command
        .add_option(
            "--metric", arguments->metric,
            "Metric for norms in the residual stream: identity (the default), or embedding, the covariance of the rows of --embedding")
        ->check(CLI::IsMember({"identity", "embedding"}).description(""))
        ->type_name("METRIC");
    command.add_option("--seed", arguments->seed, "Seed for random baselines and sequences (default 0)")
        ->type_name("N");
    return arguments;
}

Result<AnalysisInputs> analysisInputs(const InputArguments& arguments, const ModelArguments& model,
                                      const ProcessedWeights& weights,
                                      const std::optional<Tokenizer>& tokenizer)
{
    AnalysisInputs inputs;
    const auto prompt = promptIds(*arguments.prompt, model, weights.original());
    if (!prompt)
        return prompt.error();
    inputs.prompt = *prompt;
    inputs.queryPosition = arguments.queryPosition;
    inputs.keyPosition = arguments.keyPosition;
    if (const auto checked = checkScorePositions(inputs); !checked)
        return checked.error();
    const auto token = tokenId(arguments.token, tokenizer);
    if (!token)
        return token.error();
    inputs.token = *token;
    const auto keyToken = keyTokenId(arguments, tokenizer);
    if (!keyToken)
        return keyToken.error();
    inputs.keyToken = *keyToken;
    const auto cycle = cycleOf(arguments, weights.config());
    if (!cycle)
        return cycle.error();
    inputs.cycle = *cycle;
    const auto pair = headPair(arguments.pair, weights.config());
    if (!pair)
        return pair.error();
    inputs.pair = *pair;
    if (arguments.previousTokenHeads) {
        const auto heads =
            parseHeads(*arguments.previousTokenHeads, weights.config().nLayers, weights.config().nHeads);
        if (!heads)
            return heads.error();
        inputs.previousTokenHeads = *heads;
    }
    auto relations = relationsFrom(arguments.relationFiles);
    if (!relations)
        return relations.error();
    inputs.relations = std::move(relations).value();
    if (const auto read = readTexts(inputs, arguments, tokenizer, weights.config()); !read)
        return read.error();
    if (arguments.direction) {
        const Circuits circuits(std::make_shared<const ProcessedWeights>(weights));
        auto numbers = readDirection(*arguments.direction, circuits, tokenizer ? &*tokenizer : nullptr);
        if (!numbers)
            return numbers.error();
        inputs.direction = std::move(numbers).value();
        inputs.directionName = *arguments.direction;
    }
    if (tokenizer)
        inputs.tokenizer = std::make_shared<const Tokenizer>(*tokenizer);
    inputs.metric = *parseMetric(arguments.metric);
    inputs.seed = arguments.seed;
    return inputs;
}

} // namespace headwise::app
