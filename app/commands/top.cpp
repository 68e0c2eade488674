#include "app/commands/circuit_arguments.h"
#include "app/commands/support.h"
#include "app/commands/token_arguments.h"
#include "core/circuits/head_at_offset.h"
#include "core/circuits/largest_entries.h"
#include "core/results/table_file.h"

#include <array>

namespace headwise::app {
namespace {

constexpr std::string_view topFooter =
    "The exact largest entries of the whole matrix, in descending order. Ties go to the lower row id, then the lower column id.\n"
    "Rows of full-ov are source tokens, columns output tokens; rows of full-qk are query tokens, columns key tokens.\n"
    "Values are without scale and bias. Ids without a token are left out as rows and as columns;\nthe options under Tokens leave out more tokens. If there are fewer than N entries, all are printed.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, 3 bad model.";

struct TopOptions : CircuitArguments {
    std::size_t count = 0;
};

void printTop(const std::vector<MatrixEntry>& entries, const Tokenizer* tokenizer, TableFormat format)
{
    constexpr std::array columns{TableColumn{"rank", 6, true},     TableColumn{"row_id", 7, true},
                                 TableColumn{"row_token", -20},    TableColumn{"column_id", 9, true},
                                 TableColumn{"column_token", -20}, TableColumn{"value", 13, true}};
    std::vector<std::vector<std::string>> rows;
    rows.reserve(entries.size());
    for (const MatrixEntry& entry : entries)
        rows.push_back({std::to_string(rows.size() + 1), std::to_string(entry.row),
                        shownToken(tokenizer, entry.row), std::to_string(entry.col),
                        shownToken(tokenizer, entry.col), shortestText(static_cast<float>(entry.value))});
    printTable(columns, rows, format);
}

Result<int> top(const TopOptions& options, const Task& task)
{
    const auto opened = openWithTokenizer(*options.model, *options.processing, task);
    if (!opened)
        return opened.error();
    const Circuits circuits(opened->weights);
    const ModelConfig& config = circuits.config();
    const auto head = options.oneHead(config.nLayers, config.nHeads);
    if (!head)
        return head.error();
    const auto tokens =
        tokenSide(circuits, options.embeddingKind(), task, Precision::F32, TokenParts::MatricesAlone);
    if (!tokens)
        return tokens.error();
    const auto unused =
        leftOutTokens(*options.filter, options.tokenCounts, opened->tokenizer, *opened->weights, task);
    if (!unused)
        return unused.error();
    const auto circuit =
        circuitAtOffset(circuits, {options.kind(), *head, {.offset = options.offset}}, tokens->get());
    if (!circuit)
        return circuit.error();
    const auto entries = checkedAnswer(largestEntries(*circuit, {options.count, *unused, *unused}, task),
                                       opened->weights->original().file());
    if (!entries)
        return entries.error();
    printTop(*entries, opened->words(), options.format);
    return 0;
}

} // namespace

void addTopCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<TopOptions>();
    CLI::App* command =
        root.add_subcommand("top", "Prints the largest entries of a head's whole full circuit, exactly");
    command->footer(std::string(topFooter));
    addCircuitArguments(*command, *options, "rank,row_id,row_token,column_id,column_token,value");
    command->add_option("-n", options->count, "Number of entries")
        ->required()
        ->check(CLI::Range(1, 2000000000).description(""))
        ->type_name("N");
    addThreadsOption(*command, context);
    command->callback(
        [options, &context] { context.work = [options](const Task& task) { return top(*options, task); }; });
}

} // namespace headwise::app
