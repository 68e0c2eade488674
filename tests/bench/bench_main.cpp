#include "tests/bench/cost_figures.h"
#include "tests/bench/figures.h"
#include "tests/bench/make_gpt2_small.h"
#include "tests/bench/window_figures.h"

#include "core/analysis/catalogue.h"
#include "core/base/blas_kernels.h"
#include "core/model/architecture.h"
#include "core/runs/queue.h"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace headwise;

namespace {

/// Prints as usual and keeps the best time of each figure.
class KeepingReporter : public benchmark::ConsoleReporter {
public:
    explicit KeepingReporter(std::map<std::string, double>& best)
        : m_best(best)
    {
    }

    void ReportRuns(const std::vector<Run>& runs) override
    {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration || run.iterations == 0)
                continue;
            const double seconds = run.real_accumulated_time / static_cast<double>(run.iterations);
            const auto [place, isNew] = m_best.try_emplace(run.run_name.function_name, seconds);
            if (!isNew && seconds < place->second)
                place->second = seconds;
        }
        ConsoleReporter::ReportRuns(runs);
    }

private:
    std::map<std::string, double>& m_best;
};

int summary(const std::vector<bench::Figure>& figures, const std::map<std::string, double>& best)
{
    int slow = 0;
    std::printf("\n%-42s %10s %10s %8s %8s\n", "figure", "seconds", "floor", "ratio", "bound");
    for (const bench::Figure& figure : figures) {
        const auto found = best.find(figure.name);
        if (found == best.end())
            continue;
        const double ratio = found->second / figure.floor;
        const bool isSlow = ratio > figure.bound || (figure.seconds > 0 && found->second > figure.seconds);
        slow += isSlow ? 1 : 0;
        std::printf("%-42s %10.4f %10.4f %8.2f %8.2f%s\n", figure.name.c_str(), found->second, figure.floor,
                    ratio, figure.bound, isSlow ? "  TOO SLOW" : "");
        if (figure.leftOut)
            std::printf("%-42s %.0f %% of the products left out\n", "", 100 * *figure.leftOut);
        std::printf("%-42s floor = %s%s\n", "", figure.floorFormula.c_str(),
                    figure.seconds > 0
                        ? (", promised in " + std::to_string(figure.seconds).substr(0, 4) + " s").c_str()
                        : "");
    }
    return slow;
}

/// \returns null after saying why
std::shared_ptr<const ProcessedWeights> processed(const std::filesystem::path& folder)
{
    const auto model = loadModel({folder, std::nullopt, {}}, Task{});
    if (!model)
        return std::fprintf(stderr, "%s\n", model.error().message.c_str()), nullptr;
    auto plan = planProcessing(**model, {});
    const auto weights = process(*model, *std::move(plan), Task{});
    return *weights;
}

constexpr double mib = 1024.0 * 1024.0;

/// A command measured in a process of its own, for its memory.
struct Whole {
    std::string name;
    std::vector<std::string> arguments; ///< The program first.
    double bytes = 0;                   ///< Bound of its peak memory, including mapped files.
    std::string bytesFormula;
    double seconds = 0; ///< Bound of its time; 0: none.
};

/// \returns whether it exceeded a bound or failed
bool takesTooMuch(const Whole& whole)
{
    std::vector<char*> arguments;
    for (const std::string& argument : whole.arguments)
        arguments.push_back(const_cast<char*>(argument.c_str())); // as execv wants it
    arguments.push_back(nullptr);
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child == 0) {
        execv(arguments[0], arguments.data());
        _exit(127);
    }
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status)
        || WEXITSTATUS(status) != 0) {
        std::printf("%s could not be measured\n", whole.name.c_str());
        return true;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double peak = static_cast<double>(usage.ru_maxrss) * 1024;
    const bool isSlow = whole.seconds > 0 && seconds > whole.seconds;
    std::printf("\n%s: peak memory %.0f MiB, bound %.0f MiB (%s)%s\n", whole.name.c_str(), peak / mib,
                whole.bytes / mib, whole.bytesFormula.c_str(), peak > whole.bytes ? "  TOO MUCH" : "");
    if (whole.seconds > 0)
        std::printf("%s: %.1f s, promised in %.0f s%s\n", whole.name.c_str(), seconds, whole.seconds,
                    isSlow ? "  TOO SLOW" : "");
    return isSlow || peak > whole.bytes;
}

/// Opens the model and composes all pairs of heads. \returns an exit code
int compose(const char* folder)
{
    const auto weights = processed(folder);
    if (!weights)
        return 3;
    const std::vector<const Analysis*> rows{findAnalysis("composition")};
    return runAnalyses(Circuits(weights), rows, {}, Task{}) ? 0 : 4;
}

/// Measures all whole commands and tells whether one exceeds its bound. \param program this one
bool wholesTakeTooMuch(const std::string& program, const std::filesystem::path& folder, bool isLarge)
{
    double file = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".safetensors")
            file += static_cast<double>(entry.file_size());
    // Beside the file: GPT-2 small's size, Llama-3.2-1B's and Llama-3-8B's.
    const auto room = [&](double small, double large) { return file > 8e9 ? 4e9 : isLarge ? large : small; };
    const double ofAnalyze = room(1e9, 1.2e9), ofWindow = room(700e6, 1.5e9);
    const auto besideFile = [](double bytes) {
        std::ostringstream text;
        text << "file + " << bytes / 1e9 << " GB";
        return text.str();
    };
    const std::string session = std::filesystem::temp_directory_path() / "headwise_bench_session.h5";
    std::vector<Whole> wholes{
        {"headwise analyze with its defaults",
         {HEADWISE_BINARY, "analyze", folder, "-o", session, "--replace"},
         file + ofAnalyze,
         besideFile(ofAnalyze),
         isLarge ? 0.0 : 15.0},
        {"Q-, K- and V-composition of all pairs, from the file on",
         {program, "--compose", folder},
         isLarge ? file + ofAnalyze : 500e6,
         isLarge ? besideFile(ofAnalyze) : "500 MB",
         isLarge ? 0.0 : 3.0},
    };
    if (bench::windowIsBuilt())
        wholes.push_back({"the window, every analysis and every page",
                          {program, "--window", folder},
                          file + ofWindow,
                          besideFile(ofWindow),
                          0});
    bool isTooMuch = false;
    for (const Whole& whole : wholes)
        isTooMuch = takesTooMuch(whole) || isTooMuch;
    std::error_code ignored; // analyze may have failed
    std::filesystem::remove(session, ignored);
    return isTooMuch;
}

/// Makes a checkpoint in a folder, which need not be there. \returns an exit code
int makeIn(const std::filesystem::path& folder, const std::function<bool(const std::filesystem::path&)>& make)
{
    std::error_code ignored; // what could not be made cannot be written into
    std::filesystem::create_directories(folder, ignored);
    if (make(folder))
        return 0;
    std::fprintf(stderr, "No checkpoint could be written into %s; is there room, and may it be written to?\n",
                 folder.c_str());
    return 4;
}

/// Runs a command of its own, without the benchmarks. \returns its exit code; empty if none is asked for
std::optional<int> ownCommand(int argc, char** argv)
{
    if (argc == 3 && std::strcmp(argv[1], "--make") == 0)
        return makeIn(argv[2], [](const auto& folder) { return bench::makeGpt2Small(folder); });
    if (argc == 3 && std::strcmp(argv[1], "--make-llama-1b") == 0)
        return makeIn(argv[2], bench::makeLlama1B);
    if (argc == 3 && std::strcmp(argv[1], "--make-llama-8b") == 0)
        return makeIn(argv[2], bench::makeLlama8B);
    if (argc == 3 && std::strcmp(argv[1], "--window") == 0) // an open window, for its memory
        return bench::useWindow(argv[2]);
    if (argc == 2 && std::strcmp(argv[1], "--start") == 0)
        return bench::startWindow();
    if (argc == 3 && std::strcmp(argv[1], "--compose") == 0)
        return compose(argv[2]);
    if (argc == 3 && std::strcmp(argv[1], "--plan") == 0)
        return bench::checkPlan(argv[2]);
    if (argc == 2 && std::strcmp(argv[1], "--scaling") == 0)
        return bench::checkScaling();
    return std::nullopt;
}

struct Options {
    bool check = false;
    bool hasFilter = false;      ///< Selects single figures, not whole commands.
    std::filesystem::path model; ///< Empty: a random one of GPT-2 small's sizes.
};

/// Takes the options that are not Google Benchmark's out of the arguments.
Options takenOptions(int& argc, char** argv)
{
    Options options;
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--check") == 0)
            options.check = true;
        else if (std::strcmp(argv[i], "--model") == 0 && i + 1 < argc)
            options.model = argv[++i];
        else
            argv[kept++] = argv[i];
        options.hasFilter = options.hasFilter || std::strncmp(argv[i], "--benchmark_filter", 18) == 0;
    }
    argc = kept;
    return options;
}

} // namespace

int main(int argc, char** argv)
{
    headwise::restartWithFasterKernels(argv); // as the program does
    if (const auto code = ownCommand(argc, argv))
        return *code;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const Options options = takenOptions(argc, argv);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    std::optional<bench::Gpt2Small> made;
    if (options.model.empty() && !made.emplace().isThere())
        return std::fprintf(stderr,
                            "The 498 MB checkpoint could not be written; is the temporary folder full?\n"),
               4;
    const auto folder = made ? made->folder() : options.model;
    // Runs first, because the system counts this process's memory as the peak of its children.
    const bool isTooMuch = !options.hasFilter && wholesTakeTooMuch(program, folder, !made);
    const auto weights = processed(folder);
    if (!weights)
        return 3;
    const auto tokens = tokenSide(Circuits(weights), Embedding::Raw, Task{});
    if (!tokens)
        return std::fprintf(stderr, "%s\n", tokens.error().message.c_str()), 4;
    const bench::Limits limits = bench::measureLimits();
    std::printf("limits: sgemm %.1f GFLOP/s, dgemm %.1f GFLOP/s, memory %.1f GB/s\n", limits.sgemm * 1e-9,
                limits.dgemm * 1e-9, limits.bandwidth * 1e-9);
    const bench::Subject subject{folder, !made, weights, *tokens};
    std::vector<bench::Figure> figures = bench::figures(subject, limits);
    std::vector<bench::Figure> ofWindow = bench::windowFigures(subject, limits);
    std::move(ofWindow.begin(), ofWindow.end(), std::back_inserter(figures));
    for (const bench::Figure& figure : figures) {
        auto* registered =
            benchmark::RegisterBenchmark(figure.name.c_str(), [&figure](benchmark::State& state) {
                for (auto _ : state) {
                    if (figure.measured)
                        state.SetIterationTime(figure.measured());
                    else
                        figure.run();
                }
                state.counters["floor_s"] = figure.floor;
            });
        registered->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(4);
        figure.measured ? registered->UseManualTime() : registered->UseRealTime();
    }
    std::map<std::string, double> best;
    KeepingReporter reporter(best);
    benchmark::RunSpecifiedBenchmarks(&reporter);
    bench::endWindowJobs();
    const bool isSlow = summary(figures, best) > 0;
    return options.check && (isSlow || isTooMuch) ? 1 : 0;
}
