#pragma once

#include "core/base/task.h"

#include <CLI/CLI.hpp>

#include <functional>

namespace headwise::app {

// Internal to app/commands: CLI11 does not leave this folder.
//
// Each sub-command is one file with one function below. The function adds its options to `root.add_subcommand(…)` and, in
// the sub-command's callback, sets `context.work`. `runCommandLine` runs the work after parsing, prints its error and
// turns it into the exit code.

class ProgressLine;

/// \returns the exit code of a successful answer: 0, or 1 for "no".
using CommandWork = std::function<Result<int>(const Task&)>;

/// State that the sub-commands share while the arguments are parsed.
struct CommandContext {
    CommandWork work;                 ///< Work of the chosen sub-command; empty until then.
    int threads = 0;                  ///< --threads, see addThreadsOption.
    ProgressLine* progress = nullptr; ///< There while the work runs.
};

// info.cpp, names.cpp
void addInfoCommand(CLI::App& root, CommandContext& context);
void addNamesCommand(CLI::App& root, CommandContext& context);
// process.cpp, verify.cpp, run.cpp
void addProcessCommand(CLI::App& root, CommandContext& context);
void addVerifyCommand(CLI::App& root, CommandContext& context);
void addRunCommand(CLI::App& root, CommandContext& context);
// list_models.cpp
void addListModelsCommand(CLI::App& root, CommandContext& context);
// analyze.cpp, merge.cpp, plan.cpp, list_analyses.cpp, tokens.cpp, top.cpp
void addAnalyzeCommand(CLI::App& root, CommandContext& context);
void addMergeCommand(CLI::App& root, CommandContext& context);
void addPlanCommand(CLI::App& root, CommandContext& context);
void addListAnalysesCommand(CLI::App& root, CommandContext& context);
void addTokensCommand(CLI::App& root, CommandContext& context);
void addTopCommand(CLI::App& root, CommandContext& context);
// analysis_run/series.cpp
void addSeriesCommand(CLI::App& root, CommandContext& context);
// findings.cpp
void addFindingsCommand(CLI::App& root, CommandContext& context);
// compare.cpp
void addCompareCommand(CLI::App& root, CommandContext& context);
// export.cpp
void addExportCommand(CLI::App& root, CommandContext& context);

} // namespace headwise::app
