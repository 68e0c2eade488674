#include "app/commands/filter_arguments.h"
#include "app/commands/head_arguments.h"
#include "app/commands/input_arguments.h"
#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "app/commands/token_source.h"
#include "core/io/hdf5.h"
#include "core/session/session_file.h"

#include <spdlog/fmt/fmt.h>

#include <iostream>

namespace headwise::app {
namespace {

constexpr std::string_view footer =
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

struct Options {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::string circuit, head;
    std::optional<std::string> token;
    std::string direction = "row";
    std::string embedding = "raw";
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

void print(const TokenEnds& ends, const std::optional<Tokenizer>& tokenizer, bool csv)
{
    std::cout << (csv ? "end,rank,id,token,value\r\n"
                      : fmt::format("{:<7} {:>4} {:>7}  {:>13}  {}\n", "end", "rank", "id", "value",
                                    "token"));
    const auto list = [&](const char* end, const std::vector<TokenEntry>& entries) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const std::string token = shownToken(tokenizer, entries[i].id);
            const std::string value = shortest(static_cast<float>(entries[i].value));
            if (csv)
                std::cout << end << ',' << i + 1 << ',' << entries[i].id << ',' << csvField(token) << ','
                          << value << "\r\n";
            else
                std::cout << fmt::format("{:<7} {:>4} {:>7}  {:>13}  {}\n", end, i + 1, entries[i].id, value,
                                         token);
        }
    };
    list("top", ends.top);
    list("bottom", ends.bottom);
}

Result<int> answer(const TokenSource& source, const Options& options)
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
    print(*ends, source.tokenizer, options.csv);
    return 0;
}

Result<int> tokens(const Options& options, const Task& task)
{
    const std::filesystem::path path = options.model->path;
    std::error_code code;
    if (isHdf5(path) || (path.extension() == ".h5" && std::filesystem::is_regular_file(path, code))) {
        if (options.filter->isOn())
            return Error{
                ErrorCode::InvalidArgument,
                fmt::format("{} cannot leave tokens out of the tables of a session, which are as they "
                            "were computed; name the model, or make a session with headwise analyze "
                            "MODEL -o SESSION.h5 {}.",
                            filterName(*options.filter), filterName(*options.filter))};
        const auto session = readSession(options.model->path, task);
        if (!session)
            return session.error();
        return answer(sessionTokens(std::make_shared<const Session>(*session), options.model->path), options);
    }
    const auto weights = openProcessed(*options.model, *options.processing, task);
    if (!weights)
        return weights.error();
    const auto tokenizer = tokenizerOf(*options.model, (*weights)->original());
    if (!tokenizer)
        return tokenizer.error();
    auto unused = leftOutTokens(*options.filter, options.tokenCounts, *tokenizer, **weights, task);
    if (!unused)
        return unused.error();
    return answer(modelTokens(Circuits(*weights), *tokenizer, *parseEmbedding(options.embedding),
                              std::move(unused).value(), task),
                  options);
}

} // namespace

void addTokensCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<Options>();
    CLI::App* command =
        root.add_subcommand("tokens", "The strongest entries of one row or column of a head's full circuit");
    command->footer(std::string(footer));
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
