#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "core/base/log.h"
#include "core/files/hdf5.h"
#include "core/model/finite_weights.h"
#include "core/model/forward.h"
#include "core/tokenizer/token_text.h"
#include "core/tokenizer/tokenizer.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <iostream>
#include <limits>

namespace headwise::app {

namespace {

struct RunOptions {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::shared_ptr<PromptArguments> prompt;
    std::shared_ptr<Precision> precision;
    std::string output;
    int greedy = 0;
    bool process = false, json = false;
};

/// Writes results one by one and keeps the first error.
class ResultFile {
public:
    ResultFile(Hdf5Writer writer, const Task& task)
        : m_writer(std::move(writer))
        , m_task(task)
    {
    }

    void numbers(std::string_view path, const std::vector<std::size_t>& shape, const Hdf5Values& values,
                 std::vector<std::string> axes, const std::string& definition)
    {
        if (m_done)
            m_done = m_writer.writeArray(path, shape, values, m_task);
        attribute(path, "axes", std::move(axes));
        attribute(path, "definition", definition);
    }

    void attribute(std::string_view path, const std::string& name, const Hdf5Attribute& value)
    {
        if (m_done)
            m_done = m_writer.setAttribute(path, name, value);
    }

    Result<Done> close() { return m_done ? m_writer.close() : m_done; }

private:
    Hdf5Writer m_writer;
    const Task& m_task;
    Result<Done> m_done = Done{};
};

template <typename Scalar>
void append(std::vector<Scalar>& values, const Matrix<Scalar>& m)
{
    for (Eigen::Index row = 0; row < m.rows(); ++row)
        for (Eigen::Index col = 0; col < m.cols(); ++col)
            values.push_back(m(row, col));
}

template <typename Scalar>
void writeRun(ResultFile& file, const ModelConfig& config, const ForwardResult<Scalar>& run)
{
    const auto n = static_cast<std::size_t>(run.logits.rows());
    const auto layers = static_cast<std::size_t>(config.nLayers);
    const auto heads = static_cast<std::size_t>(config.nHeads);
    std::vector<Scalar> logits;
    append(logits, run.logits);
    file.numbers("logits", {n, static_cast<std::size_t>(run.logits.cols())}, logits, {"position", "token"},
                 "ln_final(x) W_U + b_U, soft-capped where the model is");

    std::vector<Scalar> patterns;
    patterns.reserve(layers * heads * n * n);
    for (const auto& layer : run.patterns)
        for (const Matrix<Scalar>& pattern : layer)
            append(patterns, pattern);
    file.numbers("attention/patterns", {layers, heads, n, n}, patterns, {"layer", "head", "query", "key"},
                 "softmax over key <= query of the scores; 0 above the diagonal");

    std::vector<Scalar> norms;
    for (const Matrix<Scalar>& layer : run.outputNorms)
        append(norms, layer);
    file.numbers("attention/output_norms", {layers, heads, n}, norms, {"layer", "head", "position"},
                 "||(sum_j alpha_ij v_j) W_O||_2 with b_V in v, without b_O");
}

void writeDescription(ResultFile& file, const ProcessedWeights& weights, const std::string& source)
{
    const Processing& applied = weights.plan().applied;
    file.attribute("", "headwise_version", std::string(versionText()));
    file.attribute("", "model", weights.config().name);
    file.attribute("", "source", source);
    file.attribute("", "fold_layer_norm", applied.foldLayerNorm);
    file.attribute("", "center_writing_weights", applied.centerWritingWeights);
    file.attribute("", "center_unembed", applied.centerUnembed);
    file.attribute("", "fold_value_biases", applied.foldValueBiases);
    file.attribute("", "refactor_factored_attention", applied.refactorAttention);
    for (const HeadChange& change : applied.headChanges)
        file.attribute("", "head_change_" + dottedHead(change.head), headChangeName(change));
}

/// Returns the text of decoded tokens; none without --greedy or without a tokenizer that can be read.
std::optional<std::string> decoded(const RunOptions& options, const ModelWeights& model,
                                   const std::vector<int>& tokens)
{
    if (options.greedy == 0)
        return std::nullopt;
    const Result<Tokenizer> tokenizer = openTokenizer(*options.model, model);
    if (tokenizer)
        return tokenizer->decode(tokens);
    if (tokenizer.error().code != ErrorCode::NotFound)
        printWarnings({tokenizer.error().message});
    return std::nullopt;
}

void printTokens(const RunOptions& options, const std::vector<int>& tokens, std::size_t promptLength,
                 const std::optional<std::string>& text)
{
    if (options.json) {
        nlohmann::ordered_json answer{{"tokens", tokens}, {"prompt_length", promptLength}};
        if (text)
            answer["text"] = *text;
        printJson(answer);
        return;
    }
    std::cout << "tokens: " << tokenList(tokens) << '\n';
    if (options.greedy > 0)
        std::cout << "prompt_length: " << promptLength << '\n';
    if (text)
        std::cout << "text: " << shownToken(*text) << '\n';
}

template <typename Scalar>
Result<int> runAs(const RunOptions& options, const ProcessedWeights& weights, const std::vector<int>& prompt,
                  Hdf5Writer writer, const Task& task)
{
    const auto tokens = greedyDecode<Scalar>(weights, prompt, options.greedy, task);
    if (!tokens)
        return tokens.error();
    const auto run = checkedAnswer(forward<Scalar>(weights, *tokens, task), weights.original().file());
    if (!run)
        return run.error();
    if (!run->logits.allFinite()) {
        const auto damaged = nonFiniteWarning(weights.original(), Task{task.stop, {}, task.threads});
        if (!damaged)
            return damaged.error();
        printWarnings({damaged->value_or(
            "The logits hold NaN or infinity although every weight is finite: an activation overflowed; --precision f64 holds more.")});
    }

    ResultFile file(std::move(writer), task);
    const auto promptLength = static_cast<std::int64_t>(prompt.size());
    writeDescription(file, weights, weights.original().file().path().string());
    file.numbers("tokens", {tokens->size()}, std::vector<std::int32_t>(tokens->begin(), tokens->end()),
                 {"position"}, "token ids: the prompt, then the greedily decoded ones");
    file.attribute("tokens", "prompt_length", promptLength);
    file.attribute("", "prompt_length", promptLength);
    writeRun(file, weights.config(), *run);
    if (const auto closed = file.close(); !closed)
        return closed.error();
    printTokens(options, *tokens, prompt.size(), decoded(options, weights.original(), *tokens));
    return 0;
}

Result<ProcessingPlan> planOf(const RunOptions& options, const ModelWeights& model)
{
    const ProcessingArguments& switches = *options.processing;
    if (options.process)
        return planProcessing(model, switches.wish());
    for (const ProcessingArguments::Switch* one :
         {&switches.foldLayerNorm, &switches.centerWritingWeights, &switches.centerUnembed,
          &switches.foldValueBiases, &switches.refactorAttention})
        if (one->option->count() > 0)
            return Error{
                ErrorCode::InvalidArgument,
                "The processing switches of `run` need --process; without it the model runs as stored."};
    if (!switches.headChanges.empty())
        return Error{
            ErrorCode::InvalidArgument,
            "--virtual-head and --without-component need --process; without it the model runs as stored."};
    return ProcessingPlan{};
}

Result<int> runPrompt(const RunOptions& options, const Task& task)
{
    const auto source = options.model->source();
    if (!source)
        return source.error();
    if (options.prompt->tokens.empty() && !options.prompt->prompt)
        return Error{ErrorCode::InvalidArgument, "Give the prompt with --tokens 1,2,3 or --prompt TEXT."};
    auto writer = Hdf5Writer::create(options.output);
    if (!writer)
        return writer.error();
    const auto model = loadModel(*source, task);
    if (!model)
        return model.error();
    const auto prompt = promptIds(*options.prompt, *options.model, **model);
    if (!prompt)
        return prompt.error();
    printWarnings((*model)->warnings());
    auto plan = planOf(options, **model);
    if (!plan)
        return plan.error();
    printWarnings(plan->warnings);
    const auto weights = process(*model, *std::move(plan), task);
    if (!weights)
        return weights.error();
    if (*options.precision == Precision::F64)
        return runAs<double>(options, **weights, *prompt, std::move(writer).value(), task);
    return runAs<float>(options, **weights, *prompt, std::move(writer).value(), task);
}

} // namespace

void addRunCommand(CLI::App& root, CommandContext& context)
{
    CLI::App* command = root.add_subcommand("run", "Runs a prompt and writes logits and attention patterns");
    command->footer(
        "OUT.h5 holds /tokens [n], /logits [n, d_vocab], /attention/patterns [n_layers, n_heads, n, n] (row = query) and\n"
        "/attention/output_norms [n_layers, n_heads, n]. With --greedy N, n = prompt + N (attribute prompt_length), ties go\n"
        "to the lower id and an end token does not stop it; the text is printed too. The model runs as it is in the file\n"
        "unless --process is given.");
    auto options = std::make_shared<RunOptions>();
    options->model = addModelArguments(*command);
    options->prompt = addPromptArguments(*command);
    command->add_option("-o,--output", options->output, "The HDF5 output file")
        ->required()
        ->type_name("OUT.h5");
    command
        ->add_option("--greedy", options->greedy, "Decodes this many more tokens, each the most likely one")
        ->check(CLI::Range(0, std::numeric_limits<int>::max()).description(""))
        ->type_name("N");
    command->add_flag("--process", options->process, "Runs the processed model");
    command->add_flag("--json", options->json,
                      "Prints tokens, prompt_length and with --greedy the text as JSON");
    options->precision = addPrecisionOption(*command);
    options->processing = addProcessingArguments(*command);
    addHeadChangeArguments(*command, options->processing);
    addThreadsOption(*command, context);
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return runPrompt(*options, task); };
    });
}

} // namespace headwise::app
