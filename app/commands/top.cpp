#include "app/commands/filter_arguments.h"
#include "app/commands/head_arguments.h"
#include "app/commands/input_arguments.h"
#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "core/circuits/head_at_offset.h"
#include "core/circuits/largest_entries.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>

namespace headwise::app {
namespace {

constexpr std::string_view topFooter =
    "The largest entries of the whole matrix, exactly, falling; ties to the lower row id, then the lower column id.\n"
    "Rows of full-ov are source tokens, columns output tokens; rows of full-qk are query tokens, columns key tokens.\n"
    "Values are without scale and bias. Ids without a token are left out, and with the options\nunder Tokens other tokens too, as rows and as columns. Where there are fewer than N entries all are\n"
    "printed.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, 3 bad model.";

struct TopOptions {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::shared_ptr<TokenFilter> filter;
    std::optional<std::string> tokenCounts;
    std::string circuit, head;
    std::string embedding = "raw";
    std::size_t count = 0;
    int offset = 0;
    bool csv = false;
};

void printTop(const std::vector<MatrixEntry>& entries, const std::optional<Tokenizer>& tokenizer, bool csv)
{
    const auto shown = [&](int id) { return tokenizer ? tokenizer->shown(id) : "#" + std::to_string(id); };
    constexpr std::string_view line = "{:>6} {:>7} {:<20} {:>9} {:<20} {:>13}\n";
    std::cout << (csv ? "rank,row_id,row_token,column_id,column_token,value\r\n"
                      : fmt::format(line, "rank", "row_id", "row_token", "column_id", "column_token",
                                    "value"));
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const MatrixEntry& entry = entries[i];
        const std::string value = shortest(static_cast<float>(entry.value));
        if (csv)
            std::cout << i + 1 << ',' << entry.row << ',' << csvField(shown(entry.row)) << ',' << entry.col
                      << ',' << csvField(shown(entry.col)) << ',' << value << "\r\n";
        else
            std::cout << fmt::format(line, i + 1, entry.row, shown(entry.row), entry.col, shown(entry.col),
                                     value);
    }
}

Result<int> top(const TopOptions& options, const Task& task)
{
    const auto weights = openProcessed(*options.model, *options.processing, task);
    if (!weights)
        return weights.error();
    const Circuits circuits(*weights);
    const ModelConfig& config = circuits.config();
    const auto tokenizer = tokenizerOf(*options.model, (*weights)->original());
    if (!tokenizer)
        return tokenizer.error();
    if (auto error = wrongOffset(options.offset, options.circuit))
        return *std::move(error);
    const auto heads = parseHeads(options.head, config.nLayers, config.nHeads);
    if (!heads)
        return heads.error();
    if (heads->size() != 1)
        return Error{ErrorCode::InvalidArgument,
                     "'" + options.head + "' is more than one head; top answers for one."};
    const auto tokens = tokenSide(circuits, *parseEmbedding(options.embedding), task, Precision::F32,
                                  TokenParts::MatricesAlone);
    if (!tokens)
        return tokens.error();
    const auto unused = leftOutTokens(*options.filter, options.tokenCounts, *tokenizer, **weights, task);
    if (!unused)
        return unused.error();
    const auto circuit = circuitAtOffset(
        circuits, {*parseFullCircuit(options.circuit), heads->front(), {.offset = options.offset}},
        tokens->get());
    if (!circuit)
        return circuit.error();
    const auto entries = checkedAnswer(largestEntries(*circuit, {options.count, *unused, *unused}, task),
                                       (*weights)->original().file());
    if (!entries)
        return entries.error();
    printTop(*entries, *tokenizer, options.csv);
    return 0;
}

} // namespace

void addTopCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<TopOptions>();
    CLI::App* command =
        root.add_subcommand("top", "The largest entries of a head's whole full circuit, exactly");
    command->footer(std::string(topFooter));
    options->model = addModelArguments(*command);
    command->add_option("--circuit", options->circuit, "full-ov or full-qk")
        ->required()
        ->check(CLI::IsMember({"full-ov", "full-qk"}).description(""))
        ->type_name("full-ov|full-qk");
    command->add_option("--head", options->head, "The head, as in 1.5")->required()->type_name("L.H");
    command->add_option("-n", options->count, "How many entries")
        ->required()
        ->check(CLI::Range(1, 2000000000).description(""))
        ->type_name("N");
    command->add_flag("--csv", options->csv,
                      "RFC 4180 with the header rank,row_id,row_token,column_id,column_token,value");
    command
        ->add_option("--embedding", options->embedding,
                     "The token vectors E: raw (the default), effective, mlp0 or unembed")
        ->check(CLI::IsMember({"raw", "effective", "mlp0", "unembed"}).description(""))
        ->type_name("raw|effective|mlp0|unembed");
    addOffsetOption(*command, options->offset);
    options->filter = addFilterArguments(*command);
    addTokenCountsOption(*command, options->tokenCounts);
    options->processing = addProcessingArguments(*command);
    addHeadChangeArguments(*command, options->processing);
    addThreadsOption(*command, context);
    command->callback(
        [options, &context] { context.work = [options](const Task& task) { return top(*options, task); }; });
}

} // namespace headwise::app
