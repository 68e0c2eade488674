#include "app/commands/model_info/info_system.h"

#include "app/commands/support.h"
#include "core/base/blas_kernels.h"
#include "core/base/machine_rates.h"
#include "core/base/memory.h"
#include "core/base/processor.h"
#include "core/files/library_versions.h"
#include "core/runs/estimate.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <cstdlib>
#include <iostream>
#include <optional>

namespace headwise::app {
namespace {

/// Everything that infoSystem() prints.
struct SystemFacts {
    Processor processor;
    int cores = 1;
    std::string kernels, chosenKernels; // the second from the variable OPENBLAS_CORETYPE
    int blasThreads = 1;
    double sgemm = 0, analyses = 0; // flop/s of a core
    double memoryRate = 0;          // bytes/s, 0: unknown
    std::optional<double> freeMemory;
    std::vector<std::pair<std::string, std::string>> libraries;
};

SystemFacts systemFacts(const Task& task)
{
    const char* chosen = std::getenv("OPENBLAS_CORETYPE");
    return {.processor = processorHere(),
            .cores = coresOf(0),
            .kernels = blasKernels(),
            .chosenKernels = chosen ? chosen : "",
            .blasThreads = blasThreads(),
            .sgemm = coreSgemmRate(),
            .analyses = analysisRate(),
            .memoryRate = memoryReadRate(task),
            .freeMemory = availableMemory(),
            .libraries = libraryVersions()};
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text.empty() ? "none that Headwise uses" : text;
}

void printSystemRow(std::string_view label, const std::string& value)
{
    std::cout << fmt::format("{:<18}{}\n", label, value);
}

void printSystem(const SystemFacts& facts)
{
    printSystemRow("processor", facts.processor.name.empty() ? "unknown" : facts.processor.name);
    printSystemRow("cores", std::to_string(facts.cores));
    printSystemRow("instruction sets", joined(facts.processor.units));
    printSystemRow(
        "OpenBLAS kernels",
        facts.kernels
            + (facts.chosenKernels.empty() ? "" : ", from OPENBLAS_CORETYPE=" + facts.chosenKernels));
    printSystemRow("OpenBLAS threads",
                   std::to_string(facts.blasThreads)
                       + " per product; headwise multiplies on every core at once");
    printSystemRow("sgemm", fmt::format("{:.0f} GFLOP/s per core, measured", facts.sgemm * 1e-9));
    printSystemRow("analyses",
                   fmt::format("{:.0f} GFLOP/s per core, estimated from it", facts.analyses * 1e-9));
    printSystemRow("memory",
                   facts.memoryRate > 0 ? fmt::format("{:.1f} GB/s, measured", facts.memoryRate * 1e-9)
                                        : std::string("not measured: too little free memory"));
    printSystemRow("free memory",
                   facts.freeMemory ? fmt::format("{:.1f} GB", *facts.freeMemory * 1e-9) : "unknown");
    for (const auto& [name, version] : facts.libraries)
        if (name != "SIMD kernel") // above
            printSystemRow(name, version);
}

nlohmann::ordered_json systemJson(const SystemFacts& facts)
{
    nlohmann::ordered_json json{
        {"processor", facts.processor.name},         {"cores", facts.cores},
        {"instruction_sets", facts.processor.units}, {"openblas_kernels", facts.kernels},
        {"openblas_coretype", facts.chosenKernels},  {"openblas_threads", facts.blasThreads},
        {"sgemm_flops_per_core", facts.sgemm},       {"analysis_flops_per_core", facts.analyses}};
    json["memory_bytes_per_second"] = nullptr; // unknown
    json["free_memory"] = nullptr;
    if (facts.memoryRate > 0)
        json["memory_bytes_per_second"] = facts.memoryRate;
    if (facts.freeMemory)
        json["free_memory"] = *facts.freeMemory;
    json["libraries"] = nlohmann::ordered_json::object();
    for (const auto& [name, version] : facts.libraries)
        json["libraries"][name] = version;
    return json;
}

} // namespace

Result<int> infoSystem(bool asJson, const Task& task)
{
    const SystemFacts facts = systemFacts(task);
    if (asJson)
        printJson(systemJson(facts));
    else
        printSystem(facts);
    return 0;
}

} // namespace headwise::app
