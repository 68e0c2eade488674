#include "app/commands/command.h"
#include "app/commands/support.h"
#include "core/files/file_write.h"
#include "core/files/json.h"
#include "core/model/names/names_library.h"
#include "core/model/names/names_proposal.h"

#include <iostream>

namespace headwise::app {
namespace {

constexpr std::string_view namesFooter =
    "A names map is JSON: rows that say which tensor (\"name\", with {layer} and {head} for their numbers) is which matrix\n"
    "(\"is\", TransformerLens' name, or a list for a fused tensor) on which axes (\"axes\", such as \"d_model, heads*d_head\" or\n"
    "\"transposed\"; PyTorch's nn.Linear is usual). Fix the rows that say \"?\" or have a \"comment\", then pass the map with\n"
    "--names, put it beside the weights as headwise-names.json, or let --keep store it for all models with these names and shapes.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, 3 bad model or map, 4 the file could not be written.";

struct NamesOptions {
    std::string path, output, keep;
};

Result<Done> writeText(const std::filesystem::path& path, const std::string& text)
{
    return replaceFile(path, std::span<const char>(text.data(), text.size()));
}

/// Stores a map that reads the model in the user's folder.
Result<int> keepMap(const NamesOptions& options, const WeightMap& file)
{
    const Result<std::string> text = readTextFile(options.keep, 4u << 20);
    if (!text)
        return text.error();
    if (const auto reads = tryNamesMap(*text, options.keep, file); !reads)
        return reads.error();
    const std::filesystem::path stored = userNamesFile(file);
    if (stored.empty())
        return Error{ErrorCode::Io,
                     "There is no folder for it, because neither HOME nor XDG_DATA_HOME is set."};
    std::error_code code;
    std::filesystem::create_directories(stored.parent_path(), code); // the writing says if that failed
    if (const auto written = writeText(stored, *text); !written)
        return written.error();
    std::cout << "Kept as " << stored.string() << '\n';
    return 0;
}

Result<int> proposeMap(const NamesOptions& options)
{
    const Result<WeightMap> file = WeightMap::open(options.path);
    if (!file)
        return file.error();
    if (!options.keep.empty())
        return keepMap(options, *file);
    const NamesProposal proposal = proposeNames(*file);
    if (options.output.empty())
        std::cout << proposal.map;
    else if (const auto written = writeText(options.output, proposal.map); !written)
        return written.error();
    printWarnings(proposal.questions);
    return 0;
}

} // namespace

void addNamesCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<NamesOptions>();
    CLI::App* command = root.add_subcommand(
        "names", "Proposes a names map for a model whose tensor names Headwise does not know");
    command->footer(std::string(namesFooter));
    command->add_option("MODEL", options->path, "A folder with weights, or one weights file")
        ->required()
        ->type_name("");
    CLI::Option* output =
        command
            ->add_option("-o,--output", options->output, "Writes the map to this file instead of printing it")
            ->type_name("MAP.json");
    command
        ->add_option("--keep", options->keep,
                     "Stores a map that reads this model, so that you need not pass --names again")
        ->type_name("MAP.json")
        ->excludes(output);
    command->callback(
        [options, &context] { context.work = [options](const Task&) { return proposeMap(*options); }; });
}

} // namespace headwise::app
