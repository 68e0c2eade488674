#pragma once

#include "app/commands/command.h"
#include "core/checkpoint/file_change.h"
#include "core/circuits/circuits.h"
#include "core/model/architecture.h"
#include "core/model/processing.h"
#include "core/tokenizer/tokenizer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// MODEL, --revision, --config, --names, --tokenizer, --set, --ignore, --base and --adapter-scale, the same for every
/// sub-command that reads a model.
struct ModelArguments {
    std::string path; ///< As given: a path, or the name of a model in the Hugging Face cache.
    std::string revision;
    std::string configFile;
    std::string tokenizerFile;
    std::vector<std::string> sets;
    std::vector<std::string> ignored; ///< Each a list, as given.
    std::string namesFile;
    std::string base; ///< The base of an adapter, given like MODEL.
    double adapterStrength = 1;

    /// Whether anything but MODEL says how to read it.
    bool areGiven() const;

    /// Looks for a name in the cache.
    /// Errors: InvalidArgument if a --set is not KEY=VALUE; those of modelPath.
    Result<ModelSource> source() const;
};
std::shared_ptr<ModelArguments> addModelArguments(CLI::App& command);
/// Adds all of them except MODEL.
void addModelFiles(CLI::App& command, ModelArguments& arguments);

/// The processing switches (CONTRACTS.md §10).
struct ProcessingArguments {
    /// Returns the user's choices: a step's positive name requires it, its negation drops it, and the later one wins.
    ProcessingWish wish() const;

    struct Switch {
        CLI::Option* option = nullptr;
        bool isOn = false;
    };
    Switch foldLayerNorm;
    Switch centerWritingWeights;
    Switch centerUnembed;
    Switch foldValueBiases;
    Switch refactorAttention;
    std::vector<HeadChange> headChanges;
};
std::shared_ptr<ProcessingArguments> addProcessingArguments(CLI::App& command);
/// Adds --virtual-head and --without-component, for commands that may analyse a changed model.
void addHeadChangeArguments(CLI::App& command, const std::shared_ptr<ProcessingArguments>& arguments);

/// Opens the model that the arguments name and prints its warnings.
/// Errors: those of ModelArguments::source and loadModel.
Result<std::shared_ptr<const ModelWeights>> openModel(const ModelArguments& arguments, const Task& task);
/// The same, processed according to the switches; prints the plan's warnings too.
/// Errors: also those of planProcessing and process.
Result<std::shared_ptr<const ProcessedWeights>> openProcessed(const ModelArguments& arguments,
                                                              const ProcessingArguments& switches,
                                                              const Task& task,
                                                              BiasHomes biasHomes = BiasHomes::Anywhere);

/// Opens the tokenizer of --tokenizer, else the model's own.
/// Errors: those of Tokenizer::open and openModelTokenizer.
Result<Tokenizer> openTokenizer(const ModelArguments& arguments, const ModelWeights& weights);

/// Adds --precision f32|f64.
std::shared_ptr<Precision> addPrecisionOption(CLI::App& command);

/// Adds --threads N, which is passed to the work's Task.
void addThreadsOption(CLI::App& command, CommandContext& context);

/// --tokens 1,2,3 or --prompt TEXT; some commands allow neither.
struct PromptArguments {
    std::vector<int> tokens;
    std::optional<std::string> prompt;
    bool parseSpecials = true;
};
std::shared_ptr<PromptArguments> addPromptArguments(CLI::App& command);

/// Formats "1,2,3", as --tokens takes it.
std::string tokenList(const std::vector<int>& tokens);

/// Returns the ids of --tokens unchanged, or those of --prompt from the model's tokenizer; empty if neither was given.
/// An empty text to which the tokenizer adds nothing is the model's beginning-of-sequence token, if it has one.
/// Errors: NotFound without a tokenizer; Unsupported, Corrupt, InvalidArgument as Tokenizer::encode.
Result<std::vector<int>> promptIds(const PromptArguments& arguments, const ModelArguments& model,
                                   const ModelWeights& weights);

} // namespace headwise::app
