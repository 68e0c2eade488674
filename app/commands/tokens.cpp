#include "app/commands/circuit_arguments.h"
#include "app/commands/session_command.h"
#include "app/commands/support.h"
#include "app/commands/token_arguments.h"
#include "app/commands/token_source.h"
#include "core/results/table_file.h"
#include "core/session/session_file.h"

#include <spdlog/fmt/fmt.h>

#include <array>

namespace headwise::app {
namespace {

constexpr std::string_view tokensFooter =
    "Rows of full-ov: outputs that a source token promotes and suppresses; columns: sources that promote an output token.\nRows of full-qk: the keys of a query token; columns: the queries of a key token. Values are without scale and bias.\nWithout --token: the tokens whose row (or column) has the largest and smallest norm, with that norm as the value.\n"
    "A session answers from its token tables, or for any token if it was made with analyze --self-contained; "
    "its tables\n"
    "hold no smallest entries of columns, so --direction column then prints only the top.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, 3 bad input or a session that lacks the entries.";

struct TokensOptions : CircuitArguments {
    std::optional<std::string> token;
    std::string direction = "row";
    int k = 10;
};

void printEnds(const TokenEnds& ends, const TokenSource& source, TableFormat format)
{
    constexpr std::array columns{TableColumn{"end", -7}, TableColumn{"rank", 4, true},
                                 TableColumn{"id", 7, true}, TableColumn{"token", -20},
                                 TableColumn{"value", 13, true}};
    const Tokenizer* tokenizer = source.tokenizer ? &*source.tokenizer : nullptr;
    std::vector<std::vector<std::string>> rows;
    const auto list = [&](const char* end, const std::vector<TokenEntry>& entries) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const auto [id, value] = entries[i];
            rows.push_back({end, std::to_string(i + 1), std::to_string(id), shownToken(tokenizer, id),
                            source.isDouble ? shortestText(value) : shortestText(static_cast<float>(value))});
        }
    };
    list("top", ends.top);
    list("bottom", ends.bottom);
    printTable(columns, rows, format);
}

Result<int> answer(const TokenSource& source, const TokensOptions& options)
{
    const auto head = options.oneHead(source.nLayers, source.nHeads);
    if (!head)
        return head.error();
    const auto token = tokenId(options.token, source.tokenizer);
    if (!token)
        return token.error();
    const TokenQuery query{
        options.kind(), *head,     options.direction == "column" ? TableSide::Column : TableSide::Row,
        *token,         options.k, options.offset};
    const auto ends = source.ask(query);
    if (!ends)
        return ends.error();
    printEnds(*ends, source, options.format);
    return 0;
}

/// Returns the switches that differ from `applied`; empty: none.
std::string otherSwitches(const ProcessingWish& wish, const Processing& applied)
{
    std::string switches;
    const auto add = [&](StepWish asked, bool isApplied, const char* name) {
        if (asked == StepWish::Required && !isApplied)
            switches += fmt::format(" --{}", name);
        if (asked == StepWish::Off && isApplied)
            switches += fmt::format(" --no-{}", name);
    };
    add(wish.foldLayerNorm, applied.foldLayerNorm, "fold-layer-norm");
    add(wish.centerWritingWeights, applied.centerWritingWeights, "center-writing-weights");
    add(wish.centerUnembed, applied.centerUnembed, "center-unembed");
    add(wish.foldValueBiases, applied.foldValueBiases, "fold-value-biases");
    if (wish.refactorAttention == StepWish::Required && !applied.refactorAttention)
        switches += " --refactor-factored-attention";
    if (!wish.headChanges.empty() && wish.headChanges != applied.headChanges)
        for (const HeadChange& change : wish.headChanges)
            switches += " --" + headChangeName(change);
    return switches;
}

/// Returns `applied` changed by the given switches.
Processing asAsked(const ProcessingWish& wish, Processing applied)
{
    const auto set = [](StepWish asked, bool& isApplied) {
        if (asked != StepWish::Default)
            isApplied = asked == StepWish::Required;
    };
    set(wish.foldLayerNorm, applied.foldLayerNorm);
    set(wish.centerWritingWeights, applied.centerWritingWeights);
    set(wish.centerUnembed, applied.centerUnembed);
    set(wish.foldValueBiases, applied.foldValueBiases);
    applied.refactorAttention = applied.refactorAttention || wish.refactorAttention == StepWish::Required;
    if (!wish.headChanges.empty())
        applied.headChanges = wish.headChanges;
    return applied;
}

/// Explains why a session with other processing or another embedding cannot answer; nothing if it can.
std::optional<Error> askedOfAnother(const Session& session, const TokensOptions& options)
{
    std::string switches = otherSwitches(options.processing->wish(), session.processing);
    if (options.embedding && *options.embedding != session.embedding)
        switches += " --embedding " + *options.embedding;
    if (switches.empty())
        return std::nullopt;
    return Error{
        ErrorCode::NotFound,
        fmt::format(
            "The session '{}' was not made with{}; headwise analyze {} -o SESSION.h5 -k {} --analyses tables --heads {}{} makes one that matches.",
            options.model->path, switches, shellWord(session.model.source), options.k, options.head,
            remakingOptions(session, asAsked(options.processing->wish(), session.processing),
                            options.embedding.value_or(session.embedding)))};
}

Result<int> answerOfSession(const TokensOptions& options, const Task& task)
{
    const ModelArguments& model = *options.model;
    if (options.filter->isOn())
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "{} cannot change a session's tables, which are already computed; name the model, or make a session with headwise analyze MODEL -o SESSION.h5 {}.",
                filterName(*options.filter), filterName(*options.filter))};
    if (model.areGiven())
        return Error{
            ErrorCode::InvalidArgument,
            "--config, --names, --set, --ignore, --tokenizer, --base and --adapter-scale control how a model is read, and '"
                + model.path + "' is a session; name the model, or leave these options out."};
    const auto session = readSession(model.path, task);
    if (!session)
        return session.error();
    if (auto error = askedOfAnother(*session, options))
        return *std::move(error);
    return answer(sessionTokens(std::make_shared<const Session>(*session), model.path), options);
}

Result<int> tokens(const TokensOptions& options, const Task& task)
{
    if (namesSession(options.model->path))
        return answerOfSession(options, task);
    const auto opened = openWithTokenizer(*options.model, *options.processing, task);
    if (!opened)
        return opened.error();
    auto unused =
        leftOutTokens(*options.filter, options.tokenCounts, opened->tokenizer, *opened->weights, task);
    if (!unused)
        return unused.error();
    TokenSource source = modelTokens(Circuits(opened->weights), opened->tokenizer, options.embeddingKind(),
                                     std::move(unused).value(), task);
    source.ask = [ask = std::move(source.ask), weights = opened->weights](const TokenQuery& query) {
        return checkedAnswer(ask(query), weights->original().file());
    };
    return answer(source, options);
}

} // namespace

void addTokensCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<TokensOptions>();
    CLI::App* command = root.add_subcommand(
        "tokens", "Prints the strongest entries of one row or column of a head's full circuit");
    command->footer(std::string(tokensFooter));
    addCircuitArguments(*command, *options, "end,rank,id,token,value");
    command->get_option("MODEL")->description("A model, or a session (.h5) written by analyze");
    command->add_option("--token", options->token, "The token as shown, as raw text, or by id as in #42")
        ->type_name("TEXT|#ID");
    command->add_option("--direction", options->direction, "row (the default) or column")
        ->check(CLI::IsMember({"row", "column"}).description(""))
        ->type_name("row|column");
    command->add_option("-k", options->k, "Number of entries from each end (default 10)")
        ->check(CLI::Range(1, 100000000).description(""))
        ->type_name("N");
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return tokens(*options, task); };
    });
}

} // namespace headwise::app
