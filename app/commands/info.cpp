#include "app/commands/info_tensors.h"
#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "core/model/merges.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace headwise::app {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view infoFooter =
    "merges are about the model's counterpart without skip connections and normalisation, in which a square Q, K or V\n"
    "and the output projection P can be multiplied into their neighbours (Graef, table 1). weights_total = W_E + W_U\n"
    "(once if tied) + Q, K, V, P + MLP matrices; saving = removed / total; speedup = total / (total − removed).\n"
    "With weights at hand the inverted matrix must have a condition number below 10^7 in every layer.\n"
    "\n"
    "flops, a multiplication and an addition counted as two: per_token = 2 · (matrix weights but W_E)\n"
    "+ 4 · n_layers · n_ctx · n_heads · d_head, the last token of a full context; per_sequence = the sum over n_ctx\n"
    "tokens under the causal mask.\n"
    "\n"
    "parameters: total counts everything with vectors and W_pos; embedding = W_E + W_U (once if tied).\n"
    "A folder with config.json alone is enough for everything but --tensors, which reads every number of the\n"
    "file and prints for each tensor its name as stored, dtype, shape, bytes, smallest and largest number, mean,\n"
    "standard deviation (divisor: the count; all four over the finite numbers) and how many are NaN or infinite;\n"
    "with --json also how many are zero and a histogram of 64 equal bins from min to max, the norms' factors,\n"
    "what the family's circuits leave out, and the load report.\n"
    "Without it only the files' headers are read, and the matrices whose condition numbers the merges need.\n"
    "Load report: which tensors are used or ignored and why, and what the config says against the tensors.";

struct InfoOptions {
    std::shared_ptr<ModelArguments> model;
    bool json = false;
    bool tensors = false;
};

/// Everything that either form of output prints.
struct Answer {
    ModelConfig config;
    std::int64_t parameters = 0;
    WeightCount count;
    Flops flops;
    std::vector<std::string> warnings;
    std::array<Merge, 3> merges;
    std::shared_ptr<const ModelWeights> weights; ///< Null for a folder with config.json alone.
};

bool hasWeights(const std::filesystem::path& path)
{
    std::error_code code;
    if (!std::filesystem::is_directory(path, code))
        return true;
    static constexpr std::array<std::string_view, 7> endings{".safetensors", ".index.json", ".pt",  ".pth",
                                                             ".bin",         ".npz",        ".gguf"};
    for (const auto& entry : std::filesystem::directory_iterator(path, code)) {
        const std::string name = entry.path().filename().string();
        if (std::any_of(endings.begin(), endings.end(),
                        [&](std::string_view end) { return name.ends_with(end); }))
            return true;
    }
    return false;
}

/// Counts parameters from the sizes and the family, for a folder without weights.
std::int64_t parameterCount(const ModelDescription& description)
{
    const ModelConfig& c = description.config;
    const BiasPresence& biases = description.biases;
    const std::int64_t width = c.dModel;
    const auto norm = [&](NormKind kind) -> std::int64_t {
        if (kind == NormKind::None || !c.normHasParameters)
            return 0;
        return kind == NormKind::LayerNorm ? 2 * width : width;
    };
    const int placements = (c.hasPreNorms ? 1 : 0) + (c.hasPostNorms || c.hasSumNorms ? 1 : 0);
    const std::int64_t headWidths = static_cast<std::int64_t>(c.nHeads + c.nKvHeads) * c.dHead;
    std::int64_t perLayer =
        std::int64_t(c.attentionOnly || biases.oneNorm ? 1 : 2) * placements * norm(c.norm);
    if (biases.attention)
        perLayer += headWidths + static_cast<std::int64_t>(c.nKvHeads) * c.dHead;
    if (biases.attentionOutput.value_or(biases.attention))
        perLayer += width;
    if (c.qkNorm != NormKind::None)
        perLayer +=
            c.qkNormOverAllHeads || c.qkNorm == NormKind::LayerNorm ? headWidths : std::int64_t(2) * c.dHead;
    if (biases.mlp && !c.attentionOnly)
        perLayer +=
            width + std::int64_t(c.dMlp) * (c.gatedMlp && c.architecture != "transformer-lens" ? 2 : 1);
    if (c.activation == Activation::SoluLn && !c.attentionOnly && norm(c.norm) > 0)
        perLayer += std::int64_t(2) * c.dMlp;
    return countWeights(c).total + c.nLayers * perLayer + norm(c.finalNorm) + norm(c.embeddingNorm)
        + (c.positional == Positional::Learned ? width * c.nCtx : 0) + (biases.unembed ? c.dVocabOut : 0)
        + (c.hasHeadTransform ? width * width + width : 0);
}

Result<Answer> answerOf(const ModelSource& source, const Task& task)
{
    if (!hasWeights(source.path)) {
        const Result<ModelDescription> description = readModelConfig(source);
        if (!description)
            return description.error();
        const ModelConfig& c = description->config;
        return Answer{c,
                      parameterCount(*description),
                      countWeights(c),
                      countFlops(c),
                      description->warnings,
                      mergesOf(c),
                      nullptr};
    }
    const Result<std::shared_ptr<const ModelWeights>> weights = loadModel(source, task);
    if (!weights)
        return weights.error();
    const ModelConfig& c = (*weights)->config();
    const Result<std::array<Merge, 3>> merges = mergesOf(**weights, task);
    if (!merges)
        return merges.error();
    return Answer{c,
                  (*weights)->parameterCount(),
                  countWeights(c),
                  countFlops(c),
                  (*weights)->warnings(),
                  *merges,
                  *weights};
}

/// Writes an integer as long as it is exact, as every count is in practice.
ordered_json countJson(double value)
{
    return value < 0x1p63 ? ordered_json(static_cast<std::int64_t>(value)) : ordered_json(value);
}

ordered_json mergesJson(const std::array<Merge, 3>& merges)
{
    ordered_json list = ordered_json::array();
    for (const Merge& merge : merges)
        list.push_back({{"removed", mergeName(merge.pair)},
                        {"possible", merge.possible},
                        {"equivalent", merge.equivalent},
                        {"reason", merge.reason},
                        {"weights_total", merge.weightsTotal},
                        {"weights_removed", merge.weightsRemoved},
                        {"saving", merge.saving},
                        {"speedup", merge.speedup}});
    return list;
}

ordered_json jsonOf(const Answer& answer)
{
    const ModelConfig& c = answer.config;
    ordered_json json{{"name", c.name},
                      {"architecture", c.architecture},
                      {"n_layers", c.nLayers},
                      {"n_heads", c.nHeads},
                      {"n_kv_heads", c.nKvHeads},
                      {"d_model", c.dModel},
                      {"d_head", c.dHead},
                      {"d_mlp", c.dMlp},
                      {"d_vocab", c.dVocab},
                      {"n_ctx", c.nCtx},
                      {"normalization", normalizationName(c)},
                      {"positional", positionalName(c.positional)},
                      {"tied_embeddings", c.tiedEmbeddings}};
    json["parameters"] = {{"total", answer.parameters},
                          {"embedding", answer.count.embedding},
                          {"attention_qp_per_layer", answer.count.qpPerLayer},
                          {"attention_kv_per_layer", answer.count.kvPerLayer},
                          {"mlp_per_layer", answer.count.mlpPerLayer}};
    json["flops"] = {{"per_token", countJson(answer.flops.perToken)},
                     {"per_sequence", countJson(answer.flops.perSequence)}};
    json["warnings"] = answer.warnings;
    json["merges"] = mergesJson(answer.merges);
    return json;
}

/// Formats "12 345 678".
std::string grouped(std::int64_t value)
{
    std::string text = std::to_string(value);
    for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
        text.insert(static_cast<std::size_t>(i), " ");
    return text;
}

std::string fixed(double value, int digits)
{
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::fixed << std::setprecision(digits) << value;
    return text.str();
}

/// Formats "5.71 G": three digits and an SI prefix.
std::string infoScaled(double value)
{
    static constexpr std::array<std::string_view, 8> prefixes{"", "k", "M", "G", "T", "P", "E", "Z"};
    std::size_t step = 0;
    for (; value >= 1000 && step + 1 < prefixes.size(); ++step)
        value /= 1000;
    return fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0) + " " + std::string(prefixes[step]);
}

void printInfoRow(std::string_view label, const std::string& value)
{
    std::cout << "  " << std::left << std::setw(18) << label << value << '\n';
}

void printCount(std::string_view label, std::int64_t count, std::string_view remark)
{
    std::cout << "  " << std::left << std::setw(18) << label << std::right << std::setw(16) << grouped(count)
              << std::left << "  " << remark << '\n';
}

void printArchitecture(const ModelConfig& c)
{
    std::cout << c.name << "  (" << c.architecture << ")\n\nArchitecture\n";
    printInfoRow("layers",
                 std::to_string(c.nLayers) + (c.parallelBlocks ? ", attention and MLP side by side" : ""));
    printInfoRow(
        "heads",
        std::to_string(c.nHeads) + " of " + std::to_string(c.dHead) + " dimensions"
            + (c.nKvHeads == c.nHeads ? "" : ", sharing " + std::to_string(c.nKvHeads) + " key/value heads"));
    printInfoRow("d_model", std::to_string(c.dModel));
    printInfoRow("d_mlp",
                 c.attentionOnly ? "none, attention only"
                                 : std::to_string(c.dMlp) + (c.gatedMlp ? ", gated" : ""));
    printInfoRow("vocabulary",
                 std::to_string(c.dVocab)
                     + (c.dVocabOut == c.dVocab ? "" : ", output " + std::to_string(c.dVocabOut)));
    printInfoRow("context", std::to_string(c.nCtx));
    printInfoRow("normalization", std::string(normalizationName(c)));
    printInfoRow("positions", std::string(positionalName(c.positional)));
    printInfoRow("embeddings", c.tiedEmbeddings ? "tied" : "not tied");
}

void printMerges(const std::array<Merge, 3>& merges)
{
    std::cout << "\nSkipless merges  (of the counterpart without skip connections and normalisation)\n";
    for (const Merge& merge : merges) {
        const std::string pair = merge.pair == MergePair::QP ? "Q, P"
            : merge.pair == MergePair::KP                    ? "K, P"
                                                             : "V, P";
        std::string text = "not possible";
        if (merge.possible)
            text = "saves " + fixed(100 * merge.saving, 1) + " % of the weights, " + fixed(merge.speedup, 2)
                + "× as fast" + (merge.equivalent ? "" : ", but another function");
        printInfoRow(pair, text);
        if (!merge.obstacle.empty())
            printInfoRow("", merge.obstacle);
    }
}

void printCard(const Answer& answer)
{
    const WeightCount& count = answer.count;
    printArchitecture(answer.config);
    std::cout << "\nParameters\n";
    printCount("total", answer.parameters, "");
    printCount("embedding", count.embedding,
               answer.config.tiedEmbeddings ? "W_E, which is W_U too" : "W_E and W_U");
    printCount("attention Q, P", count.qpPerLayer, "per layer");
    printCount("attention K, V", count.kvPerLayer, "per layer");
    printCount("MLP", count.mlpPerLayer, "per layer");
    std::cout << "\nForward pass\n";
    printInfoRow("per token", infoScaled(answer.flops.perToken) + "flop, the last of a full context");
    printInfoRow("per sequence",
                 infoScaled(answer.flops.perSequence) + "flop, " + std::to_string(answer.config.nCtx)
                     + " tokens");
    printMerges(answer.merges);
    if (!answer.weights)
        std::cout << "\nThere are no weights here; everything above follows from the config.\n";
    const std::vector<std::string> notes = circuitNotes(answer.config);
    if (!notes.empty())
        std::cout << "\nWhat a circuit leaves out\n";
    for (const std::string& note : notes)
        std::cout << "  " << note << '\n';
    if (answer.weights)
        printReport(*answer.weights);
    if (!answer.warnings.empty())
        std::cout << "\nWarnings\n";
    for (const std::string& warning : answer.warnings)
        std::cout << "  " << warning << '\n';
}

Result<int> info(const InfoOptions& options, const Task& task)
{
    const Result<ModelSource> source = options.model->source();
    if (!source)
        return source.error();
    const Result<Answer> answer = answerOf(*source, task);
    if (!answer)
        return answer.error();
    if (options.tensors && !answer->weights)
        return Error{ErrorCode::NotFound,
                     "There are no weights in '" + source->path.string()
                         + "', so there are no tensors to list."};
    StatisticsOfAll statistics;
    std::vector<NormFactors> norms;
    if (options.tensors) {
        Result<StatisticsOfAll> all =
            checkedAnswer(statisticsOfAll(answer->weights->file(), options.json ? histogramBins : 0, task),
                          answer->weights->file());
        if (!all)
            return all.error();
        statistics = *std::move(all);
        norms = normFactors(*answer->weights);
    }
    if (options.json) {
        ordered_json json = jsonOf(*answer);
        if (options.tensors) {
            json["circuit_notes"] = circuitNotes(answer->config);
            json["load_report"] = reportJson(*answer->weights);
            json["tensors"] = tensorsJson(*answer->weights, statistics);
            json["norm_factors"] = normsJson(norms);
        }
        printJson(json);
        return 0;
    }
    printCard(*answer);
    if (options.tensors) {
        printNorms(norms);
        printTensors(*answer->weights, statistics);
    }
    return 0;
}

} // namespace

void addInfoCommand(CLI::App& root, CommandContext& context)
{
    CLI::App* command = root.add_subcommand(
        "info", "Prints a model's config, parameters by part, forward-pass cost, merge savings and warnings");
    auto options = std::make_shared<InfoOptions>();
    options->model = addModelArguments(*command);
    command->add_flag("--tensors", options->tensors,
                      "Lists the tensors of the file too, with their statistics");
    command->add_flag("--json", options->json, "Prints one JSON object instead of a card");
    command->footer(std::string(infoFooter));
    command->callback(
        [&context, options] { context.work = [options](const Task& task) { return info(*options, task); }; });
}

} // namespace headwise::app
