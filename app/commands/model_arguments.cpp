#include "app/commands/model_arguments.h"

#include "app/commands/support.h"
#include "core/checkpoint/model_cache.h"
#include "core/tokenizer/model_tokenizer.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>

namespace headwise::app {
namespace {

/// Splits "a=1,b=[2,3],c=\"x,y\"" at the commas outside brackets and quotes.
std::vector<std::string> splitAssignments(std::string_view text)
{
    std::vector<std::string> parts(1);
    int depth = 0;
    bool quoted = false;
    for (const char c : text) {
        if (c == '"')
            quoted = !quoted;
        if (!quoted && (c == '[' || c == '{'))
            ++depth;
        if (!quoted && (c == ']' || c == '}'))
            --depth;
        if (c == ',' && depth == 0 && !quoted)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

/// Parses "1,2, 3".
std::vector<int> parseIds(const std::string& text)
{
    std::vector<int> ids;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
        while (at != end && *at == ' ')
            ++at;
        const auto [next, code] = std::from_chars(at, end, ids.emplace_back());
        if (code != std::errc() || (next != end && *next != ','))
            throw CLI::ValidationError("--tokens", "'" + text + "' is not a list of token ids such as 1,2,3");
        if (next == end)
            return ids;
        at = next + 1;
    }
}

void addSwitch(CLI::App& command, const std::string& name, ProcessingArguments::Switch& target,
               const std::string& description)
{
    target.option = command.add_flag("--" + name + ",!--no-" + name, target.isOn, description)
                        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
                        ->group("Processing");
}

StepWish wishOf(const ProcessingArguments::Switch& given)
{
    if (given.option->count() == 0)
        return StepWish::Default;
    return given.isOn ? StepWish::Required : StepWish::Off;
}

} // namespace

bool ModelArguments::areGiven() const
{
    return !configFile.empty() || !tokenizerFile.empty() || !sets.empty() || !ignored.empty()
        || !namesFile.empty() || !base.empty() || adapterStrength != 1;
}

Result<ModelSource> ModelArguments::source() const
{
    const Result<std::filesystem::path> found = modelPath(path, revision);
    if (!found)
        return found.error();
    ModelSource source{*found, std::nullopt, {}};
    if (!configFile.empty())
        source.configFile = configFile;
    if (!namesFile.empty())
        source.namesFile = namesFile;
    if (!base.empty()) {
        const Result<std::filesystem::path> foundBase = modelPath(base, {});
        if (!foundBase)
            return foundBase.error();
        source.base = *foundBase;
    }
    source.adapterStrength = adapterStrength;
    for (const std::string& set : sets) {
        for (const std::string& assignment : splitAssignments(set)) {
            const auto equals = assignment.find('=');
            if (equals == 0 || equals == std::string::npos)
                return Error{ErrorCode::InvalidArgument,
                             "'--set " + assignment + "' is not KEY=VALUE, as in --set n_heads=12,eps=1e-5."};
            source.overrides[assignment.substr(0, equals)] = assignment.substr(equals + 1);
        }
    }
    for (const std::string& list : ignored)
        for (std::string& pattern : splitAssignments(list))
            if (!pattern.empty())
                source.ignored.push_back(std::move(pattern));
    return source;
}

std::shared_ptr<ModelArguments> addModelArguments(CLI::App& command)
{
    auto arguments = std::make_shared<ModelArguments>();
    command
        .add_option(
            "MODEL", arguments->path,
            "A folder with config.json and weights, one weights file with its config beside it, the folder of a LoRA adapter, or the name of a model in the Hugging Face cache: NAME, ORG/NAME or NAME@REVISION")
        ->required()
        ->type_name("");
    addModelFiles(command, *arguments);
    return arguments;
}

void addModelFiles(CLI::App& command, ModelArguments& arguments)
{
    command
        .add_option("--revision", arguments.revision,
                    "The commit, branch or tag of a model in the Hugging Face cache (default main)")
        ->type_name("REVISION");
    command.add_option("--config", arguments.configFile, "The config file, if it is not beside the weights")
        ->type_name("FILE");
    command
        .add_option(
            "--names", arguments.namesFile,
            "A map from the file's tensor names to matrices, if Headwise does not know the names; headwise names proposes one")
        ->type_name("MAP.json");
    command
        .add_option(
            "--tokenizer", arguments.tokenizerFile,
            "The tokenizer's file or folder, if the model has none: tokenizer.json, vocab.json, tokenizer.model, GGUF, ...")
        ->type_name("FILE");
    command
        .add_option(
            "--base", arguments.base,
            "The base model of an adapter, a path or a model in the Hugging Face cache; default: the one named in its adapter_config.json")
        ->type_name("MODEL");
    command
        .add_option("--adapter-scale", arguments.adapterStrength,
                    "The strength of an adapter: 0 is its base, 1 (the default) the adapted model")
        ->check(CLI::Range(0.0, 1.0).description(""))
        ->type_name("S");
    command
        .add_option(
            "--set", arguments.sets,
            "Config keys that are missing or wrong in the file, as in n_heads=12,eps=1e-5; may be repeated")
        ->type_name("KEY=VALUE,...")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command
        .add_option(
            "--ignore", arguments.ignored,
            "Tensors to ignore because they belong to no part of the model, as in visual.*,score.weight (* matches any text); may be repeated")
        ->type_name("NAME,PATTERN")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

ProcessingWish ProcessingArguments::wish() const
{
    ProcessingWish wish;
    wish.foldLayerNorm = wishOf(foldLayerNorm);
    wish.centerWritingWeights = wishOf(centerWritingWeights);
    wish.centerUnembed = wishOf(centerUnembed);
    wish.foldValueBiases = wishOf(foldValueBiases);
    wish.refactorAttention = wishOf(refactorAttention);
    if (wish.refactorAttention == StepWish::Default)
        wish.refactorAttention = StepWish::Off;
    wish.headChanges = headChanges;
    return wish;
}

std::shared_ptr<ProcessingArguments> addProcessingArguments(CLI::App& command)
{
    auto arguments = std::make_shared<ProcessingArguments>();
    addSwitch(command, "fold-layer-norm", arguments->foldLayerNorm,
              "Folds the norms into the weights that read from them; on unless negated");
    addSwitch(
        command, "center-writing-weights", arguments->centerWritingWeights,
        "Subtracts the mean over d_model from the weights that write to the residual stream; on unless negated");
    addSwitch(
        command, "center-unembed", arguments->centerUnembed,
        "Subtracts the mean over the vocabulary from W_U and b_U, over all d_vocab columns, including ids without a token; on unless negated");
    addSwitch(command, "fold-value-biases", arguments->foldValueBiases,
              "Moves b_V through W_O into b_O; on unless negated");
    addSwitch(command, "refactor-factored-attention", arguments->refactorAttention,
              "Rewrites each head's factors from the SVDs of its circuits; off unless given");
    return arguments;
}

void addHeadChangeArguments(CLI::App& command, const std::shared_ptr<ProcessingArguments>& arguments)
{
    const auto add = [&](const std::string& name, const char* form, const std::string& description) {
        command
            .add_option_function<std::vector<std::string>>(
                "--" + name,
                [arguments, name, form](const std::vector<std::string>& values) {
                    for (const std::string& value : values) {
                        const auto change = parseHeadChange(fmt::format("{} {}", name, value));
                        if (!change)
                            throw CLI::ValidationError("--" + name, "'" + value + "' is not " + form);
                        arguments->headChanges.push_back(*change);
                    }
                },
                description)
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->type_name(form)
            ->group("Processing");
    };
    add("virtual-head", "L.H,L.H",
        "Replaces a head with the virtual head W_OV W_OV of an earlier head and itself, as in 0.1,1.5: this changes the model's function; may be repeated");
    add("without-component", "L.H:K",
        "Removes the K-th singular component, from 0, from a head's W_OV, as in 0.1:3: this changes the model's function; may be repeated");
}

std::shared_ptr<Precision> addPrecisionOption(CLI::App& command)
{
    auto precision = std::make_shared<Precision>(Precision::F32);
    command
        .add_option_function<std::string>(
            "--precision",
            [precision](const std::string& name) {
                *precision = name == "f64" ? Precision::F64 : Precision::F32;
            },
            "Precision of computation and output: f32 (the default) or f64")
        ->check(CLI::IsMember({"f32", "f64"}).description(""))
        ->type_name("f32|f64");
    return precision;
}

void addThreadsOption(CLI::App& command, CommandContext& context)
{
    command
        .add_option("--threads", context.threads,
                    "Maximum number of threads; 0 (the default) means one per core")
        ->check(CLI::Range(0, 4096).description(""))
        ->type_name("N");
}

std::shared_ptr<PromptArguments> addPromptArguments(CLI::App& command)
{
    auto arguments = std::make_shared<PromptArguments>();
    CLI::Option* tokens =
        command
            .add_option_function<std::string>(
                "--tokens", [arguments](const std::string& text) { arguments->tokens = parseIds(text); },
                "Token ids, as in 1,2,3; no special tokens are added")
            ->type_name("IDS");
    command
        .add_option("--prompt", arguments->prompt,
                    "Text for the model's tokenizer, which adds its own special tokens")
        ->type_name("TEXT")
        ->excludes(tokens);
    command.add_flag(
        "--parse-specials,!--no-parse-specials", arguments->parseSpecials,
        "Reads a special token's name in the text of --prompt, as <|endoftext|>, as that token (the default, like Hugging Face); negated: as plain text, like tiktoken's encode_ordinary and llama.cpp without parse_special");
    return arguments;
}

Result<std::shared_ptr<const ModelWeights>> openModel(const ModelArguments& arguments, const Task& task)
{
    const auto source = arguments.source();
    if (!source)
        return source.error();
    auto model = loadModel(*source, task);
    if (model)
        printWarnings((*model)->warnings());
    return model;
}

Result<std::shared_ptr<const ProcessedWeights>> openProcessed(const ModelArguments& arguments,
                                                              const ProcessingArguments& switches,
                                                              const Task& task, BiasHomes biasHomes)
{
    const auto model = openModel(arguments, task);
    if (!model)
        return model.error();
    ProcessingWish wish = switches.wish();
    wish.biasHomes = biasHomes;
    auto plan = planProcessing(**model, wish);
    if (!plan)
        return plan.error();
    printWarnings(plan->warnings);
    return process(*model, *std::move(plan), task);
}

Result<Tokenizer> openTokenizer(const ModelArguments& arguments, const ModelWeights& weights)
{
    return arguments.tokenizerFile.empty() ? openModelTokenizer(weights.file())
                                           : Tokenizer::open(arguments.tokenizerFile);
}

Result<std::vector<int>> promptIds(const PromptArguments& arguments, const ModelArguments& model,
                                   const ModelWeights& weights)
{
    if (!arguments.prompt)
        return arguments.tokens;
    const Result<Tokenizer> tokenizer = openTokenizer(model, weights);
    if (!tokenizer) {
        if (tokenizer.error().code != ErrorCode::NotFound)
            return tokenizer.error();
        return Error{
            ErrorCode::NotFound,
            tokenizer.error().message
                + " So --prompt cannot be encoded; name a tokenizer with --tokenizer FILE, or give the ids with --tokens 1,2,3."};
    }
    auto ids = tokenizer->encode(*arguments.prompt, Tokenizer::SpecialTokens::AsTokenizerSays,
                                 arguments.parseSpecials ? Tokenizer::SpecialText::IsToken
                                                         : Tokenizer::SpecialText::IsText);
    const std::optional<int> bos = weights.config().bosTokenId;
    if (ids && ids->empty() && bos && *bos >= 0 && *bos < weights.config().dVocab)
        return std::vector<int>{*bos};
    return ids;
}

std::string tokenList(const std::vector<int>& tokens)
{
    std::string text;
    for (const int token : tokens)
        text += (text.empty() ? "" : ",") + std::to_string(token);
    return text;
}

} // namespace headwise::app
