#include "tests/bench/cost_figures.h"

#include "tests/bench/make_gpt2_small.h"

#include "core/analysis/residual_basis.h"
#include "core/base/machine_rates.h"
#include "core/model/architecture.h"
#include "core/runs/cost_plan.h"
#include "core/runs/estimate.h"
#include "core/runs/plan.h"
#include "core/runs/queue.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <stdlib.h>

namespace headwise::bench {
namespace {

/// Processor time of this process, in seconds: other work on the machine counts less than in the time of a clock.
double processorSeconds()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Returns the flop/s of products of 512 × 512 as coreSgemmRate() measures them, but in processor time and at this moment.
double sgemmNow()
{
    constexpr Eigen::Index n = 512;
    constexpr int repetitions = 12;
    const Matrix<float> a = Matrix<float>::Constant(n, n, 0.5F);
    Matrix<float> out = Matrix<float>::Zero(n, n);
    double best = 0;
    for (int i = 0; i < repetitions; ++i) {
        const double start = processorSeconds();
        out.noalias() = a * a;
        best = std::max(best, 2.0 * n * n * n / (processorSeconds() - start));
    }
    return best;
}

/// Opens a model; empty after saying why not.
std::optional<Circuits> opened(const std::filesystem::path& folder)
{
    const auto model = loadModel({folder, std::nullopt, {}}, Task{});
    if (!model)
        return std::fprintf(stderr, "%s\n", model.error().message.c_str()), std::nullopt;
    auto plan = planProcessing(**model, {});
    const auto weights = plan ? process(*model, *std::move(plan), Task{}) : plan.error();
    if (!weights)
        return std::fprintf(stderr, "%s\n", weights.error().message.c_str()), std::nullopt;
    return Circuits(*weights);
}

/// Processor time of a run in one thread, and that of the same flops at sgemm's speed.
struct MeasuredRun {
    double seconds = 0;
    double rate = 0; ///< flop/s of sgemm before and after, the better one.
};

/// Empty after saying why the analyses failed.
std::optional<MeasuredRun> measuredRun(const Circuits& circuits, const std::vector<const Analysis*>& chosen,
                                       const AnalysisOptions& options)
{
    Task task;
    task.threads = 1;
    const double before = sgemmNow();
    const double start = processorSeconds();
    const auto results = runAnalyses(circuits, chosen, options, task);
    const double seconds = processorSeconds() - start;
    if (!results)
        return std::fprintf(stderr, "%s\n", results.error().message.c_str()), std::nullopt;
    return MeasuredRun{seconds, std::max(before, sgemmNow())};
}

struct PlannedCase {
    const char* analyses;
    std::vector<HeadId> heads = {}; ///< All if empty.
};

/// A folder with a random model, deleted at the end.
class RandomModel {
public:
    explicit RandomModel(const ModelSizes& sizes)
    {
        std::string name = (std::filesystem::temp_directory_path() / "headwise-bench-XXXXXX").string();
        if (!mkdtemp(name.data()))
            return;
        m_folder = name;
        m_isThere = makeRandom(m_folder, sizes);
    }
    ~RandomModel()
    {
        std::error_code ignored;
        if (!m_folder.empty())
            std::filesystem::remove_all(m_folder, ignored);
    }
    RandomModel(const RandomModel&) = delete;
    RandomModel& operator=(const RandomModel&) = delete;

    const std::filesystem::path& folder() const { return m_folder; }
    bool isThere() const { return m_isThere; }

private:
    std::filesystem::path m_folder;
    bool m_isThere = false;
};

/// A size of a model that grows over a decade.
struct Growing {
    const char* name;
    int ModelSizes::*size;
    std::vector<int> values;
    ModelSizes others;
};

struct ScalePoint {
    double size = 0, seconds = 0, flops = 0;
};

/// Returns the slope of a straight line through the logarithms.
double exponentOf(const std::vector<ScalePoint>& points, double ScalePoint::*value)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (const ScalePoint& point : points) {
        const double size = std::log(point.size), number = std::log(point.*value);
        x += size;
        y += number;
        xx += size * size;
        xy += size * number;
    }
    const auto count = static_cast<double>(points.size());
    return (count * xy - x * y) / (count * xx - x * x);
}

/// Measures an analysis on models of all sizes; empty after saying what failed.
std::vector<ScalePoint> measuredPoints(const Growing& growing, const Analysis& analysis)
{
    std::vector<ScalePoint> points;
    for (const int value : growing.values) {
        ModelSizes sizes = growing.others;
        sizes.*growing.size = value;
        const RandomModel model(sizes);
        const auto circuits = model.isThere() ? opened(model.folder()) : std::nullopt;
        const auto run = circuits ? measuredRun(*circuits, {&analysis}, {}) : std::nullopt;
        if (!run)
            return {};
        const double tokens =
            needsTokenSide(analysis, {}) ? 2.0 * sizes.vocabulary * sizes.dModel * sizes.dModel : 0;
        // At one speed of sgemm, so that a slower minute does not bend the line.
        points.push_back({static_cast<double>(value), run->seconds * run->rate,
                          runCost(analysis, circuits->config(), {}).work() + tokens});
    }
    return points;
}

} // namespace

int checkPlan(const std::filesystem::path& folder)
{
    constexpr double most = 1.3;
    const auto circuits = opened(folder);
    const auto description = readModelConfig({folder, std::nullopt, {}});
    if (!circuits || !description)
        return 3;
    int wrong = 0;
    std::printf("%-44s %10s %10s %8s\n", "analyses", "planned s", "taken s", "ratio");
    for (const PlannedCase& one : {PlannedCase{"spectra"},
                                   {"eigenvalues"},
                                   {"copying,matching"},
                                   {"composition"},
                                   {"tables", {{0, 0}}}}) {
        AnalysisOptions options;
        options.heads = one.heads;
        const auto chosen = parseAnalyses(one.analyses);
        const auto plan = chosen ? costPlan(*chosen, *description, options, {1, 0}, {}) : chosen.error();
        const auto run = plan ? measuredRun(*circuits, *chosen, options) : std::nullopt;
        if (!run)
            return 4;
        const double planned = plan->seconds * coreSgemmRate() / run->rate; // at the speed of this moment
        const double ratio = run->seconds / planned;
        const bool isWrong = ratio > most || ratio < 1 / most;
        wrong += isWrong ? 1 : 0;
        std::printf("%-44s %10.2f %10.2f %8.2f%s\n", one.analyses, planned, run->seconds, ratio,
                    isWrong ? "  WRONG" : "");
    }
    return wrong > 0 ? 1 : 0;
}

int checkScaling()
{
    constexpr double tolerance =
        0.25; // of an exponent: caches and small sizes bend the line; another loop adds 1
    const ModelSizes usual{.layers = 4, .heads = 4, .dModel = 512, .vocabulary = 1000};
    const std::vector<Growing> all{{"layers", &ModelSizes::layers, {3, 10, 30}, usual},
                                   {"heads", &ModelSizes::heads, {3, 10, 30}, usual},
                                   {"d_model", &ModelSizes::dModel, {256, 800, 2560}, usual},
                                   {"vocabulary",
                                    &ModelSizes::vocabulary,
                                    {2000, 6300, 20000},
                                    {.layers = 1, .heads = 1, .dModel = 512}}};
    int faster = 0;
    std::printf("%-12s %-14s %16s %16s\n", "over", "analysis", "exponent of time", "of the formula");
    for (const Growing& growing : all) {
        for (const char* const id : {"spectra", "eigenvalues", "composition", "tables"}) {
            const bool isTables = std::string_view(id) == "tables";
            if (isTables != (growing.size == &ModelSizes::vocabulary))
                continue;
            const std::vector<ScalePoint> points = measuredPoints(growing, *findAnalysis(id));
            if (points.empty())
                return 4;
            const double taken = exponentOf(points, &ScalePoint::seconds);
            const double formula = exponentOf(points, &ScalePoint::flops);
            const bool isFaster = taken > formula + tolerance;
            faster += isFaster ? 1 : 0;
            std::printf("%-12s %-14s %16.2f %16.2f%s\n", growing.name, id, taken, formula,
                        isFaster ? "  FASTER THAN ITS FORMULA" : "");
        }
    }
    return faster > 0 ? 1 : 0;
}

} // namespace headwise::bench
