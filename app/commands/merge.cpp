#include "app/commands/analysis_run/series_json.h"
#include "app/commands/command.h"
#include "app/commands/support.h"
#include "core/series/series_run.h"
#include "core/session/session_file.h"
#include "core/session/session_merge.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <iostream>
#include <memory>

namespace headwise::app {
namespace {

constexpr std::string_view mergeFooter =
    "The parts must come from one run: headwise analyze MODEL -o PART.h5 --shard i/n for every i from 1 to n, with the same\n"
    "model, options and version of Headwise. The whole session holds the same arrays and attributes as that of one\n"
    "process, bit for bit on one kind of processor. Warnings about heads appear once for each part, and /created is that\nof the oldest part. A missing part, a duplicate or a part of another run is refused by name, and nothing is written.\n"
    "SESSION.h5 must not exist; --replace overwrites it, including its notes. Notes and bookmarks of the parts are kept.\n"
    "The parts of headwise series FOLDER -o PART.h5 --shard i/n are joined likewise into one series.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage or parts that do not belong together, 3 a damaged part, 4 input/output or memory,\n"
    "130 cancelled.";

struct MergeOptions {
    std::string output;
    std::vector<std::string> parts;
    bool replace = false, json = false;
};

Result<Done> checkMergeOutput(const MergeOptions& options)
{
    std::error_code code;
    if (!options.replace && std::filesystem::exists(options.output, code)
        && std::filesystem::file_size(options.output, code) > 0)
        return Error{ErrorCode::InvalidArgument,
                     "'" + options.output
                         + "' already exists; name another output file, or pass --replace to overwrite it."};
    for (const std::string& part : options.parts)
        if (std::filesystem::equivalent(part, options.output, code))
            return Error{ErrorCode::InvalidArgument,
                         "'" + part + "' is one of the parts, so it cannot be the output file."};
    return checkSessionPath(options.output);
}

/// Prints the written file and the number of parts, followed by the contents.
void printMergeJson(const MergeOptions& options, const nlohmann::ordered_json& contents)
{
    nlohmann::ordered_json json{{"output", options.output}, {"parts", options.parts.size()}};
    json.update(contents);
    printJson(json);
}

Result<int> mergeParts(const MergeOptions& options, const Task& task)
{
    const Result<Session> session = mergedParts(options.parts, task);
    if (!session)
        return session.error();
    if (const auto written = writeSession(options.output, *session, task); !written)
        return written.error();
    const std::size_t arrays = session->results.arrays.size();
    if (options.json)
        printMergeJson(options, {{"model", session->model.name}, {"arrays", arrays}});
    else
        std::cout << "Wrote " << options.output << " with " << arrays << " arrays about "
                  << session->model.name << ", of " << options.parts.size()
                  << (options.parts.size() == 1 ? " part.\n" : " parts.\n");
    return 0;
}

Result<int> mergeSeriesParts(const MergeOptions& options, const Task& task)
{
    const Result<Series> series = mergeSeries(options.parts, options.output, task);
    if (!series)
        return series.error();
    if (options.json) {
        printMergeJson(options, seriesJson(*series));
        return 0;
    }
    for (const SeriesChange& change : series->changes)
        std::cout << change.text << "\n";
    std::cout << "Wrote " << options.output << " with " << series->scores.size() << " scores at "
              << series->steps.size() << " steps of " << series->modelName << ".\n";
    return 0;
}

Result<int> merge(const MergeOptions& options, const Task& task)
{
    if (const auto writable = checkMergeOutput(options); !writable)
        return writable.error();
    return isSeries(options.parts.front()) ? mergeSeriesParts(options, task) : mergeParts(options, task);
}

} // namespace

void addMergeCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<MergeOptions>();
    CLI::App* command = root.add_subcommand(
        "merge", "Joins the parts of a sharded run into the session or series of the whole run");
    command->footer(std::string(mergeFooter));
    command->add_option("-o,--output", options->output, "The session file to write (HDF5)")
        ->required()
        ->type_name("SESSION.h5");
    command->add_flag("--replace", options->replace, "Overwrites an existing SESSION.h5");
    command->add_flag(
        "--json", options->json,
        "Prints one JSON object: output, parts, model and arrays; for a series steps and changes");
    command->add_option("PART", options->parts, "The parts, in any order: PART.h5 …")
        ->required()
        ->type_name("");
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return merge(*options, task); };
    });
}

} // namespace headwise::app
