#include "tests/bench/figures.h"
#include "tests/bench/make_gpt2_small.h"
#include "tests/bench/window_figures.h"

#include "core/model/architecture.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

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

/// Peak memory of a window on the model, in a process of its own: within the file's size and 700 MB more.
/// \returns whether it is above that, or the window failed
bool windowTakesTooMuch(const char* program, const std::filesystem::path& folder)
{
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, "--window", folder.c_str(), nullptr);
        _exit(127);
    }
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status)
        || WEXITSTATUS(status) != 0) {
        std::printf("the window could not be measured\n");
        return true;
    }
    const double peak = static_cast<double>(usage.ru_maxrss) * 1024;
    const double bound =
        static_cast<double>(std::filesystem::file_size(folder / "model.safetensors")) + 700e6;
    const bool isTooMuch = peak > bound;
    std::printf("\npeak memory of the window, every analysis and every page: %.0f MiB, bound %.0f MiB (file "
                "+ 700 MB)%s\n",
                peak / mib, bound / mib, isTooMuch ? "  TOO MUCH" : "");
    return isTooMuch;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc == 3 && std::strcmp(argv[1], "--make") == 0) // the checkpoint alone, into an existing folder
        return bench::makeGpt2Small(argv[2]) ? 0 : 4;
    if (argc == 3 && std::strcmp(argv[1], "--window") == 0) // an open window, for its memory
        return bench::useWindow(argv[2]);
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    bool check = false;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--check") == 0) {
            check = true;
            std::memmove(argv + i, argv + i + 1, sizeof(char*) * static_cast<std::size_t>(argc - i));
            --argc;
            --i;
        }
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    const bench::Gpt2Small model;
    if (!model.isThere())
        return std::fprintf(stderr,
                            "The 498 MB checkpoint could not be written; is the temporary folder full?\n"),
               4;
    const auto weights = processed(model.folder());
    if (!weights)
        return 3;
    const auto tokens = tokenSide(Circuits(weights), Embedding::Raw, Task{});
    if (!tokens)
        return std::fprintf(stderr, "%s\n", tokens.error().message.c_str()), 4;
    const bench::Limits limits = bench::measureLimits();
    std::printf("limits: sgemm %.1f GFLOP/s, dgemm %.1f GFLOP/s, memory %.1f GB/s\n", limits.sgemm * 1e-9,
                limits.dgemm * 1e-9, limits.bandwidth * 1e-9);
    const bench::Subject subject{model.folder(), weights, *tokens};
    std::vector<bench::Figure> figures = bench::figures(subject, limits);
    std::vector<bench::Figure> ofWindow = bench::windowFigures(subject, limits);
    const bool hasWindow = !ofWindow.empty();
    std::move(ofWindow.begin(), ofWindow.end(), std::back_inserter(figures));
    for (const bench::Figure& figure : figures) {
        benchmark::RegisterBenchmark(figure.name.c_str(),
                                     [&figure](benchmark::State& state) {
                                         for (auto _ : state)
                                             figure.run();
                                         state.counters["floor_s"] = figure.floor;
                                     })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime()
            ->Iterations(1)
            ->Repetitions(4);
    }
    std::map<std::string, double> best;
    KeepingReporter reporter(best);
    benchmark::RunSpecifiedBenchmarks(&reporter);
    const bool isSlow = summary(figures, best) > 0;
    const bool isLarge = hasWindow && windowTakesTooMuch(program.c_str(), model.folder());
    return check && (isSlow || isLarge) ? 1 : 0;
}
