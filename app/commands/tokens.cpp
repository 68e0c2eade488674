#include "app/commands/filter_arguments.h"
#include "app/commands/head_arguments.h"
#include "app/commands/input_arguments.h"
#include "app/commands/model_arguments.h"
#include "app/commands/session_command.h"
#include "app/commands/support.h"
#include "app/commands/token_source.h"
#include "core/files/hdf5.h"
#include "core/session/session_file.h"

#include <spdlog/fmt/fmt.h>

#include <iostream>

namespace headwise::app {
namespace {

constexpr std::string_view tokensFooter =
    "Rows of full-ov: what a source token raises and lowers; columns: which sources raise an output token.\n"
    "Rows of full-qk: the keys of a query token; columns: the queries of a key token. Values are without "
    "scale and bias.\n"
    "Without --token: the tokens whose whole row (or column) is longest and shortest, the value being its "
    "length.\n"
    "A session answers from its token tables, or for any token if it was made with analyze --self-contained; "
    "its tables\n"
    "hold no smallest entries of columns, so --direction column then prints the top alone.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, 3 bad input or a session without what is asked.";

struct TokensOptions {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::string circuit, head;
    std::optional<std::string> token;
    std::string direction = "row";
    std::optional<std::string> embedding; // default: raw
    int k = 10;
    int offset = 0;
    std::shared_ptr<TokenFilter> filter;
    std::optional<std::string> tokenCounts;
    bool csv = false;
};

std::string shownToken(const std::optional<Tokenizer>& tokenizer, int id)
{
    return tokenizer ? tokenizer->shown(id) : "#" + std::to_string(id);
}

void printTokens(const TokenEnds& ends, const TokenSource& source, bool csv)
{
    constexpr std::string_view line = "{:<7} {:>4} {:>7}  {:<20} {:>13}\n";
    std::cout << (csv ? "end,rank,id,token,value\r\n"
                      : fmt::format(line, "end", "rank", "id", "token", "value"));
    const auto list = [&](const char* end, const std::vector<TokenEntry>& entries) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const std::string token = shownToken(source.tokenizer, entries[i].id);
            const std::string value =
                source.isDouble ? shortest(entries[i].value) : shortest(static_cast<float>(entries[i].value));
            if (csv)
                std::cout << end << ',' << i + 1 << ',' << entries[i].id << ',' << csvField(token) << ','
                          << value << "\r\n";
            else
                std::cout << fmt::format(line, end, i + 1, entries[i].id, token, value);
        }
    };
    list("top", ends.top);
    list("bottom", ends.bottom);
}

Result<int> answer(const TokenSource& source, const TokensOptions& options)
{
    if (auto error = wrongOffset(options.offset, options.circuit))
        return *std::move(error);
    const auto heads = parseHeads(options.head, source.nLayers, source.nHeads);
    if (!heads)
        return heads.error();
    if (heads->size() != 1)
        return Error{ErrorCode::InvalidArgument,
                     "'" + options.head + "' is more than one head; tokens answers for one."};
    const auto token = tokenId(options.token, source.tokenizer);
    if (!token)
        return token.error();
    const TokenQuery query{*parseFullCircuit(options.circuit),
                           heads->front(),
                           options.direction == "column" ? TableSide::Column : TableSide::Row,
                           *token,
                           options.k,
                           options.offset};
    const auto ends = source.ask(query);
    if (!ends)
        return ends.error();
    printTokens(*ends, source, options.csv);
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
            "The session '{}' was made otherwise than with{}; headwise analyze {} -o SESSION.h5 -k {} --analyses tables --heads {}{} makes one as asked.",
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
                "{} cannot leave tokens out of the tables of a session, which are as they were computed; name the model, or make a session with headwise analyze MODEL -o SESSION.h5 {}.",
                filterName(*options.filter), filterName(*options.filter))};
    if (!model.configFile.empty() || !model.tokenizerFile.empty() || !model.sets.empty())
        return Error{ErrorCode::InvalidArgument,
                     "--config, --set and --tokenizer say how to read a model, and '" + model.path
                         + "' is a session; name the model, or leave them out."};
    const auto session = readSession(model.path, task);
    if (!session)
        return session.error();
    if (auto error = askedOfAnother(*session, options))
        return *std::move(error);
    return answer(sessionTokens(std::make_shared<const Session>(*session), model.path), options);
}

Result<int> tokens(const TokensOptions& options, const Task& task)
{
    const std::filesystem::path path = options.model->path;
    std::error_code code;
    if (isHdf5(path) || (path.extension() == ".h5" && std::filesystem::is_regular_file(path, code)))
        return answerOfSession(options, task);
    const auto weights = openProcessed(*options.model, *options.processing, task);
    if (!weights)
        return weights.error();
    const auto tokenizer = tokenizerOf(*options.model, (*weights)->original());
    if (!tokenizer)
        return tokenizer.error();
    auto unused = leftOutTokens(*options.filter, options.tokenCounts, *tokenizer, **weights, task);
    if (!unused)
        return unused.error();
    TokenSource source =
        modelTokens(Circuits(*weights), *tokenizer, *parseEmbedding(options.embedding.value_or("raw")),
                    std::move(unused).value(), task);
    source.ask = [ask = std::move(source.ask), weights = *weights](const TokenQuery& query) {
        return checkedAnswer(ask(query), weights->original().file());
    };
    return answer(source, options);
}

} // namespace

void addTokensCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<TokensOptions>();
    CLI::App* command =
        root.add_subcommand("tokens", "The strongest entries of one row or column of a head's full circuit");
    command->footer(std::string(tokensFooter));
    options->model = addModelArguments(*command);
    command->get_option("MODEL")->description("A model, or a session (.h5) written by analyze");
    command->add_option("--circuit", options->circuit, "full-ov or full-qk")
        ->required()
        ->check(CLI::IsMember({"full-ov", "full-qk"}).description(""))
        ->type_name("full-ov|full-qk");
    command->add_option("--head", options->head, "The head, as in 1.5")->required()->type_name("L.H");
    command->add_option("--token", options->token, "The token as shown, as raw text, or by id as in #42")
        ->type_name("TEXT|#ID");
    command->add_option("--direction", options->direction, "row (the default) or column")
        ->check(CLI::IsMember({"row", "column"}).description(""))
        ->type_name("row|column");
    command->add_option("-k", options->k, "How many from each end (10)")
        ->check(CLI::Range(1, 100000000).description(""))
        ->type_name("N");
    command->add_flag("--csv", options->csv, "RFC 4180 with the header end,rank,id,token,value");
    command
        ->add_option("--embedding", options->embedding,
                     "The token vectors E of a model: raw (the default), effective, mlp0 or unembed")
        ->check(CLI::IsMember({"raw", "effective", "mlp0", "unembed"}).description(""))
        ->type_name("raw|effective|mlp0|unembed");
    addOffsetOption(*command, options->offset);
    options->filter = addFilterArguments(*command);
    addTokenCountsOption(*command, options->tokenCounts);
    options->processing = addProcessingArguments(*command);
    addHeadChangeArguments(*command, options->processing);
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return tokens(*options, task); };
    });
}

} // namespace headwise::app
