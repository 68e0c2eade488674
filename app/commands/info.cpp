#include "app/commands/model_arguments.h"
#include "app/commands/model_info/info_system.h"
#include "app/commands/model_info/info_tensors.h"
#include "app/commands/support.h"
#include "core/model/adapters/adapter.h"
#include "core/model/model_facts.h"

#include <nlohmann/json.hpp>

#include <array>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace headwise::app {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view infoFooter =
    "merges describes the model's counterpart without skip connections and normalisation. There a square Q, K or V and\nthe output projection P can be multiplied into their neighbours (Graef, table 1). weights_total = W_E + W_U\n"
    "(once if tied) + Q, K, V, P + MLP matrices; saving = removed / total; speedup = total / (total − removed).\n"
    "If weights are present, the inverted matrix must have a condition number below 10^7 in every layer.\n"
    "\n"
    "flops, a multiplication and an addition counted as two: per_token = 2 · (matrix weights but W_E)\n"
    "+ 4 · n_layers · n_ctx · n_heads · d_head, the last token of a full context; per_sequence = the sum over n_ctx\n"
    "tokens under the causal mask, or n_ctx · per_token where attention is bidirectional.\n"
    "\n"
    "parameters: total counts everything with vectors and W_pos; embedding = W_E + W_U (once if tied).\n"
    "A folder with only config.json is enough for everything except --tensors, which reads every number of the\nfile and prints for each tensor its name as stored, dtype, shape, bytes, smallest and largest number, mean,\n"
    "standard deviation (divisor: the count; all four over the finite numbers) and how many are NaN or infinite;\n"
    "with --json also how many are zero and a histogram of 64 equal bins from min to max, the norms' factors,\n"
    "what the family's circuits leave out, and the load report. If no model can be opened, because the config is missing\nor the tensors do not fit, --tensors still lists the file and says why.\n"
    "Without --tensors, info reads only the files' headers and the matrices whose condition numbers the merges need.\n"
    "Load report: which tensors are used or ignored and why, and what the config says against the tensors.\n"
    "\n"
    "--system measures one core at float32 products for 25 ms, and memory for 0.1 s. Every estimate of a time (plan,\n"
    "analyze, the window) follows the first. JSON: processor, cores, instruction_sets, openblas_kernels,\n"
    "openblas_coretype, openblas_threads, sgemm_flops_per_core, analysis_flops_per_core, memory_bytes_per_second,\n"
    "free_memory, libraries.";

struct InfoOptions {
    std::shared_ptr<ModelArguments> model;
    bool json = false;
    bool tensors = false;
    bool system = false;
};

/// An integer while it can be told from its neighbours, as every count is in practice.
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

/// Returns null for a value that depends on what no file states.
ordered_json ifKnown(bool isKnown, ordered_json value)
{
    return isKnown ? std::move(value) : ordered_json(nullptr);
}

std::optional<AdapterFacts> adapterOf(const ModelFacts& facts)
{
    return facts.weights ? adapterFacts(*facts.weights) : std::nullopt;
}

ordered_json jsonOf(const ModelFacts& facts)
{
    const ModelConfig& c = facts.config;
    const bool hasContext = c.isKnown(ConfigField::Context);
    ordered_json json{
        {"name", c.name},
        {"architecture", c.architecture},
        {"n_layers", c.nLayers},
        {"n_heads", c.nHeads},
        {"n_kv_heads", c.nKvHeads},
        {"d_model", c.dModel},
        {"d_head", c.dHead},
        {"d_mlp", c.dMlp},
        {"d_vocab", c.dVocab},
        {"n_ctx", ifKnown(hasContext, c.nCtx)},
        {"normalization", normalizationName(c)},
        {"positional", ifKnown(c.isKnown(ConfigField::Positions), positionalName(c.positional))},
        {"tied_embeddings", c.tiedEmbeddings}};
    json["parameters"] = {{"total", facts.parameters},
                          {"embedding", facts.count.embedding},
                          {"attention_qp_per_layer", facts.count.qpPerLayer},
                          {"attention_kv_per_layer", facts.count.kvPerLayer},
                          {"mlp_per_layer", facts.count.mlpPerLayer}};
    if (facts.count.mlpPerDenseLayer > 0)
        json["parameters"]["mlp_per_dense_layer"] = facts.count.mlpPerDenseLayer;
    json["flops"] = {{"per_token", ifKnown(hasContext, countJson(facts.flops.perToken))},
                     {"per_sequence", ifKnown(hasContext, countJson(facts.flops.perSequence))}};
    if (const auto adapter = adapterOf(facts))
        json["adapter"] = {{"folder", facts.weights->file().path().string()},
                           {"kind", adapter->kind},
                           {"ranks", adapter->ranks},
                           {"scales", adapter->scales},
                           {"strength", adapter->strength},
                           {"tensors", adapter->tensors},
                           {"matrices", adapter->matrices},
                           {"layers", adapter->layers}};
    json["warnings"] = facts.warnings;
    json["merges"] = mergesJson(facts.merges);
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
    printInfoRow("context", c.isKnown(ConfigField::Context) ? std::to_string(c.nCtx) : "unknown");
    printInfoRow("normalization", std::string(normalizationName(c)));
    printInfoRow("positions",
                 c.isKnown(ConfigField::Positions) ? std::string(positionalName(c.positional)) : "unknown");
    printInfoRow("embeddings", c.tiedEmbeddings ? "tied" : "not tied");
}

void printMerges(const std::array<Merge, 3>& merges)
{
    std::cout << "\nSkipless merges  (for the counterpart without skip connections and normalisation)\n";
    for (const Merge& merge : merges) {
        const std::string pair = merge.pair == MergePair::QP ? "Q, P"
            : merge.pair == MergePair::KP                    ? "K, P"
                                                             : "V, P";
        std::string text = "not possible";
        if (merge.possible)
            text = "saves " + fixed(100 * merge.saving, 1) + " % of the weights, " + fixed(merge.speedup, 2)
                + "× as fast" + (merge.equivalent ? "" : ", but a different function");
        printInfoRow(pair, text);
        if (!merge.obstacle.empty())
            printInfoRow("", merge.obstacle);
    }
}

void printForwardPass(const ModelFacts& facts)
{
    std::cout << "\nForward pass\n";
    if (!facts.config.isKnown(ConfigField::Context))
        return printInfoRow("per token", "unknown: it grows with the context");
    printInfoRow("per token", infoScaled(facts.flops.perToken) + "flop, the last of a full context");
    printInfoRow("per sequence",
                 infoScaled(facts.flops.perSequence) + "flop, " + std::to_string(facts.config.nCtx)
                     + " tokens");
}

void printAdapter(const AdapterFacts& adapter)
{
    std::string matrices, layers;
    for (const std::string& name : adapter.matrices)
        matrices += (matrices.empty() ? "" : ", ") + name;
    for (const int layer : adapter.layers)
        layers += (layers.empty() ? "" : ", ") + std::to_string(layer);
    std::cout << "\nAdapter\n";
    printInfoRow("kind",
                 adapter.kind + ", rank " + rangeOf(adapter.ranks) + ", scale " + rangeOf(adapter.scales));
    printInfoRow("strength", fixed(adapter.strength, 2));
    printInfoRow("changes", std::to_string(adapter.tensors) + " stored tensors: " + matrices);
    printInfoRow("layers", layers);
}

/// Prints the values that were guessed and those that were not.
void printUnstated(const ModelFacts& facts)
{
    if (!facts.assumed.empty())
        std::cout << "\nAssumed, because no file states it\n";
    for (const AssumedKey& key : facts.assumed)
        std::cout << "  " << key.key << " = " << key.value << '\n';
    if (!facts.config.unknown.empty())
        std::cout << "\nUnknown; whatever needs it is refused\n";
    for (const UnknownField& field : facts.config.unknown)
        std::cout << "  " << field.key << '\n';
}

void printCard(const ModelFacts& facts)
{
    const WeightCount& count = facts.count;
    printArchitecture(facts.config);
    std::cout << "\nParameters\n";
    printCount("total", facts.parameters, "");
    printCount("embedding", count.embedding,
               facts.config.tiedEmbeddings ? "W_E, also used as W_U" : "W_E and W_U");
    printCount("attention Q, P", count.qpPerLayer, "per layer");
    printCount("attention K, V", count.kvPerLayer, "per layer");
    if (const Mixture& mixture = facts.config.mixture; count.mlpPerDenseLayer > 0)
        printCount("MLP, dense", count.mlpPerDenseLayer,
                   "per layer before layer " + std::to_string(mixture.denseLayers));
    printCount("MLP", count.mlpPerLayer, facts.config.nExperts > 0 ? "per layer, all experts" : "per layer");
    printForwardPass(facts);
    printMerges(facts.merges);
    if (!facts.weights)
        std::cout << "\nNo weights found; everything above follows from the config.\n";
    if (const auto adapter = adapterOf(facts))
        printAdapter(*adapter);
    if (!facts.notes.empty())
        std::cout << "\nLeft out of the circuits\n";
    for (const std::string& note : facts.notes)
        std::cout << "  " << note << '\n';
    if (facts.weights)
        printReport(*facts.weights);
    printUnstated(facts);
    if (!facts.warnings.empty())
        std::cout << "\nWarnings\n";
    for (const std::string& warning : facts.warnings)
        std::cout << "  " << warning << '\n';
}

/// Lists the tensors of a file of which no model can be opened, and says why not.
Result<int> tensorsAlone(const std::filesystem::path& path, bool asJson, const Error& why, const Task& task)
{
    const Result<WeightMap> file = WeightMap::open(path, ForeignFiles::Shown);
    if (!file || why.code == ErrorCode::Cancelled || why.code == ErrorCode::OutOfMemory)
        return why;
    const Result<StatisticsOfAll> statistics =
        checkedAnswer(statisticsOfAll(*file, asJson ? histogramBins : 0, task), *file);
    if (!statistics)
        return statistics.error();
    if (asJson) {
        printJson({{"warnings", {why.message}}, {"tensors", tensorsJson(*file, nullptr, *statistics)}});
        return 0;
    }
    printWarnings({why.message});
    printTensors(*file, *statistics);
    return 0;
}

Result<int> info(const InfoOptions& options, const Task& task)
{
    if (options.system && (options.tensors || !options.model->path.empty()))
        return Error{ErrorCode::InvalidArgument,
                     "--system describes this machine; it takes neither a MODEL nor --tensors."};
    if (options.system)
        return infoSystem(options.json, task);
    if (options.model->path.empty())
        return Error{ErrorCode::InvalidArgument, "MODEL is required; see headwise info --help."};
    const Result<ModelSource> source = options.model->source();
    if (!source)
        return source.error();
    const Result<ModelFacts> facts = modelFacts(*source, task);
    if (!facts && options.tensors)
        return tensorsAlone(source->path, options.json, facts.error(), task);
    if (!facts)
        return facts.error();
    if (options.tensors && !facts->weights)
        return Error{ErrorCode::NotFound,
                     "There are no weights in '" + source->path.string()
                         + "', so there are no tensors to list."};
    StatisticsOfAll statistics;
    std::vector<NormFactors> norms;
    if (options.tensors) {
        Result<StatisticsOfAll> all =
            checkedAnswer(statisticsOfAll(facts->weights->file(), options.json ? histogramBins : 0, task),
                          facts->weights->file());
        if (!all)
            return all.error();
        statistics = *std::move(all);
        norms = normFactors(*facts->weights);
    }
    if (options.json) {
        ordered_json json = jsonOf(*facts);
        if (options.tensors) {
            json["circuit_notes"] = facts->notes;
            json["assumed"] = ordered_json::object();
            for (const AssumedKey& key : facts->assumed)
                json["assumed"][key.key] = key.value;
            json["load_report"] = reportJson(*facts->weights);
            const LoadReport report = loadReport(*facts->weights);
            json["tensors"] = tensorsJson(facts->weights->file(), &report, statistics);
            json["norm_factors"] = normsJson(norms);
        }
        printJson(json);
        return 0;
    }
    printCard(*facts);
    if (options.tensors) {
        printNorms(norms);
        printTensors(facts->weights->file(), statistics);
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
    command->get_option("MODEL")->required(false);
    command->add_flag(
        "--system", options->system,
        "Describes this machine instead of a model: processor, kernels, measured speed, memory");
    command->add_flag("--tensors", options->tensors,
                      "Lists the tensors of the file too, with their statistics");
    command->add_flag("--json", options->json, "Prints one JSON object instead of a card");
    command->footer(std::string(infoFooter));
    command->callback(
        [&context, options] { context.work = [options](const Task& task) { return info(*options, task); }; });
}

} // namespace headwise::app
