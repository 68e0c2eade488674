#pragma once

#include "core/base/task.h"

#include <CLI/CLI.hpp>

#include <functional>

namespace headwise::app {

// Inside app/commands only: CLI11 does not leave this folder.
//
// One sub-command is one file with one function below. It adds its options to `root.add_subcommand(…)` and, in the
// sub-command's callback, sets `context.work`; `runCommandLine` runs the work after everything was parsed, prints its
// error and turns it into the exit code.

/// \returns the exit code of an answer that was given: 0, or 1 for "no".
using CommandWork = std::function<Result<int>(const Task&)>;

/// What the sub-commands share while the arguments are parsed.
struct CommandContext {
    CommandWork work; ///< Of the sub-command that was chosen; empty until then.
    int threads = 0;  ///< --threads, see addThreadsOption.
};

// info.cpp
void addInfoCommand(CLI::App& root, CommandContext& context);
// process.cpp, verify.cpp, run.cpp
void addProcessCommand(CLI::App& root, CommandContext& context);
void addVerifyCommand(CLI::App& root, CommandContext& context);
void addRunCommand(CLI::App& root, CommandContext& context);
// analyze.cpp, list_analyses.cpp, tokens.cpp, top.cpp
void addAnalyzeCommand(CLI::App& root, CommandContext& context);
void addListAnalysesCommand(CLI::App& root, CommandContext& context);
void addTokensCommand(CLI::App& root, CommandContext& context);
void addTopCommand(CLI::App& root, CommandContext& context);
// compare.cpp
void addCompareCommand(CLI::App& root, CommandContext& context);
// export.cpp
void addExportCommand(CLI::App& root, CommandContext& context);

} // namespace headwise::app
