#include "core/analysis/analyses.h"
#include "core/analysis/head_pairs.h"
#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/subspace.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace headwise {

namespace {

constexpr int angleDraws = 64;
constexpr std::array<const char*, 3> projectionKernelModes{"q", "k", "v"};
constexpr std::array<const char*, 3> capitals{"Q", "K", "V"};
const std::string projectionKernelFolder = "analyses/projection_kernel/";

std::vector<ArraySpec> projectionKernelArrays()
{
    const std::string& folder = projectionKernelFolder;
    std::vector<ArraySpec> all;
    for (std::size_t mode = 0; mode < projectionKernelModes.size(); ++mode) {
        const std::string name = projectionKernelModes[mode];
        const std::string title = std::string("O to ") + capitals[mode];
        const std::string formula = std::string("‖U_Oᵀ U_") + capitals[mode]
            + "‖²_F, U = orthonormal basis of the columns of W_Oᵀ of the earlier and W_" + capitals[mode]
            + " of the later head (singular vectors with σ > d_model ε σ₁, ε = 2^-23)";
        const std::string ofPairs = " of every pair of an earlier and a later head, in order";
        all.push_back({folder + "o_" + name, pairAxes(), title + ", projection kernel", formula});
        all.push_back(
            {folder + "o_" + name + "_z", pairAxes(), title + ", z",
             "(kernel − r_O r/d_model) / its deviation for random subspaces of the same dimensions, kernel = "
                 + formula});
        all.push_back({folder + "pairs_kernel_" + name,
                       {Axis::Pair},
                       title + ", projection kernel",
                       "projection kernel" + ofPairs});
        all.push_back({folder + "pairs_composition_" + name,
                       {Axis::Pair},
                       title + ", composition score",
                       "composition score" + ofPairs});
    }
    const auto addAngles = [&](const char* name, std::string title, std::string definition) {
        all.push_back({.path = folder + "angles_" + name,
                       .axes = {Axis::Angle},
                       .title = std::move(title),
                       .definition = std::move(definition),
                       .unit = "degrees",
                       .range = {{0.0, 90.0}},
                       .condition = "with --pair"});
    };
    for (std::size_t mode = 0; mode < projectionKernelModes.size(); ++mode)
        addAngles(projectionKernelModes[mode], std::string("Principal angles, O to ") + capitals[mode],
                  std::string("acos of the singular values of U_Oᵀ U_") + capitals[mode] + ", ascending");
    addAngles("null", "Principal angles of random subspaces",
              fmt::format("mean of {} draws of two random subspaces of min(d_model, d_head) dimensions",
                          angleDraws));
    return all;
}

/// The three subspaces a head reads from.
std::array<Matrix<double>, 3> readers(const HeadWeights<double>& head)
{
    return {head.W_Q, head.W_K, head.W_V};
}

/// Moments of ‖Q‖²_F, Q the [a, b] block of a random orthogonal [d, d] matrix.
Moments kernelMoments(Eigen::Index a, Eigen::Index b, Eigen::Index d)
{
    const double ranks = static_cast<double>(a) * static_cast<double>(b);
    const Moments share = overlapMoments(1.0 / static_cast<double>(a), 1.0 / static_cast<double>(b), d);
    return {ranks * share.mean, ranks * share.deviation};
}

/// Kernels between the output subspace of every earlier head and the input subspaces of every later head.
/// Stores the bases of one layer as one matrix, so that the products are large.
template <typename Scalar>
class Kernels {
public:
    Kernels(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_heads(headsOfPairs(m_config, context.options))
        , m_width(std::min(m_config.dModel, m_config.dHead))
        , m_ranks(static_cast<std::size_t>(m_config.nLayers) * m_config.nHeads, 0)
        , m_kernels(projectionKernelModes.size(), RealNumbers::perPair(m_config))
        , m_deviations(projectionKernelModes.size(), RealNumbers::perPair(m_config))
    {
        const auto pairs = pairsAskedFor(m_config, context.options);
        m_pairs.insert(pairs.begin(), pairs.end());
    }

    Result<Done> run()
    {
        m_writing.assign(static_cast<std::size_t>(m_config.nLayers),
                         Matrix<Scalar>::Zero(m_config.nHeads * m_width, m_config.dModel));
        const auto count = static_cast<int>(m_heads.size());
        const auto read = parallelFor(count, m_task, "subspaces of heads", [&](int i) {
            return readWriter(m_heads[static_cast<std::size_t>(i)]);
        });
        if (!read)
            return read;
        return parallelFor(count, m_task, "projection kernels",
                           [&](int i) { return runLater(m_heads[static_cast<std::size_t>(i)]); });
    }

    const RealNumbers& kernel(std::size_t mode) const { return m_kernels[mode]; }
    const RealNumbers& deviations(std::size_t mode) const { return m_deviations[mode]; }

private:
    Eigen::Index& rankOf(HeadId head)
    {
        return m_ranks[static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head];
    }

    Result<Done> readWriter(HeadId id)
    {
        if (id.layer + 1 == m_config.nLayers)
            return Done{};
        const auto space = columnSpace(m_context.circuits.weights().head<double>(id).W_O.transpose().eval());
        if (!space)
            return space.error().code == ErrorCode::Corrupt ? Result<Done>(Done{}) : space.error();
        m_writing[static_cast<std::size_t>(id.layer)].middleRows(id.head * m_width, m_width) =
            space->basis.transpose().template cast<Scalar>();
        rankOf(id) = space->rank;
        return Done{};
    }

    Result<Done> runLater(HeadId later)
    {
        if (later.layer == 0)
            return Done{};
        const auto weights = readers(m_context.circuits.weights().head<double>(later));
        for (std::size_t mode = 0; mode < projectionKernelModes.size(); ++mode) {
            if (m_task.cancelled())
                return stopped();
            const auto space = columnSpace(weights[mode]);
            if (!space && space.error().code != ErrorCode::Corrupt)
                return space.error();
            if (space && space->rank > 0)
                put(mode, later, *space);
        }
        return Done{};
    }

    void put(std::size_t mode, HeadId later, const Subspace& space)
    {
        const Matrix<Scalar> reading = space.basis.template cast<Scalar>(); // [d, width]
        Matrix<Scalar> products;                                            // [H width, width]
        int layer = -1;
        for (const HeadId earlier : m_heads) { // layer by layer
            if (earlier.layer >= later.layer)
                break;
            if (earlier.layer != layer) {
                layer = earlier.layer;
                products.noalias() = m_writing[static_cast<std::size_t>(layer)] * reading;
            }
            if (rankOf(earlier) == 0 || !m_pairs.contains({earlier, later}))
                continue;
            const double kernel =
                products.middleRows(earlier.head * m_width, m_width).template cast<double>().squaredNorm();
            const Moments null = kernelMoments(rankOf(earlier), space.rank, m_config.dModel);
            m_kernels[mode].set(earlier, later, kernel);
            m_deviations[mode].set(earlier, later,
                                   null.deviation > 1e-9 * null.mean ? (kernel - null.mean) / null.deviation
                                                                     : notComputed);
        }
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    std::vector<HeadId> m_heads;
    std::set<std::pair<HeadId, HeadId>> m_pairs; // asked for
    Eigen::Index m_width;
    std::vector<Eigen::Index> m_ranks;     // of W_O, [L H]
    std::vector<Matrix<Scalar>> m_writing; // per layer: [H width, d]
    std::vector<RealNumbers> m_kernels, m_deviations;
};

/// Returns the values at the indices where `where` is not NaN, in the order of the pairs.
std::vector<double> projectionKernelKnown(const std::vector<double>& values, const std::vector<double>& where)
{
    std::vector<double> out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isnan(where[i]))
            out.push_back(values[i]);
    }
    return out;
}

std::vector<double> inDouble(const ResultArray& array)
{
    if (const auto* exact = std::get_if<std::vector<double>>(&array.values))
        return *exact;
    const auto& rounded = std::get<std::vector<float>>(array.values);
    return {rounded.begin(), rounded.end()};
}

/// The smallest of the largest 3 %.
double cutOff(std::vector<double> values)
{
    if (values.empty())
        return notComputed;
    const auto at = static_cast<std::ptrdiff_t>(0.97 * static_cast<double>(values.size()));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

template <typename Scalar>
Result<Done> addKernels(Results& results, const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    Kernels<Scalar> kernels(context, task);
    if (const auto done = kernels.run(); !done)
        return done;
    const auto composition = compositionAnalysis().run(context, withoutProgress(task));
    if (!composition)
        return composition.error();
    const Eigen::Index r = std::min(config.dModel, config.dHead);
    const Moments null = kernelMoments(r, r, config.dModel);
    for (std::size_t mode = 0; mode < projectionKernelModes.size(); ++mode) {
        const std::string name = projectionKernelModes[mode];
        ResultArray& kernel = results.put(projectionKernelFolder + "o_" + name, kernels.kernel(mode));
        kernel.nullMean = null.mean;
        kernel.nullDeviation = null.deviation;
        kernel.range = {0.0, static_cast<double>(r)};
        const std::vector<double> all = inDouble(kernel); // as it is kept, or the cut lies beside its value
        const std::vector<double> flat = projectionKernelKnown(all, all);
        kernel.attributes["cutoff_3_percent"] = cutOff(flat);
        ResultArray& z = results.put(projectionKernelFolder + "o_" + name + "_z", kernels.deviations(mode));
        z.nullMean = 0.0;
        z.nullDeviation = 1.0;
        const auto putPairs = [&](const char* what, const std::vector<double>& values, double nullMean) {
            ResultArray& array = results.put(projectionKernelFolder + what + name, values);
            array.nullMean = nullMean;
            array.attributes["cutoff_3_percent"] = cutOff(projectionKernelKnown(values, values));
        };
        putPairs("pairs_kernel_", flat, null.mean);
        putPairs("pairs_composition_", projectionKernelKnown(inDouble(composition->arrays[mode]), all),
                 1 / std::sqrt(static_cast<double>(config.dModel)));
    }
    return Done{};
}

Result<std::vector<double>> meanAnglesOfChance(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const Eigen::Index r = std::min(config.dModel, config.dHead);
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(r);
    for (int i = 0; i < angleDraws; ++i) {
        if (task.cancelled())
            return stopped();
        const auto product = randomOverlap(
            config.dModel, r, r, context.options.inputs.seed * angleDraws + static_cast<std::uint64_t>(i));
        const auto drawn = product ? principalAngles(*product) : product.error();
        if (!drawn)
            return drawn.error();
        sum += Eigen::Map<const Eigen::VectorXd>(drawn->data(), r) / angleDraws;
    }
    return std::vector<double>(sum.begin(), sum.end());
}

Result<Done> addProjectionKernelAngles(Results& results, const AnalysisContext& context, const Task& task)
{
    const auto [earlier, later] = *context.options.inputs.pair;
    const auto written = columnSpace(context.circuits.weights().head<double>(earlier).W_O.transpose().eval());
    if (!written)
        return written.error();
    const std::string pair = dottedHead(earlier) + " " + dottedHead(later);
    const auto add = [&](const char* name, std::vector<double> degrees) {
        results.put(projectionKernelFolder + "angles_" + name, std::move(degrees)).attributes["pair"] = pair;
    };
    const auto weights = readers(context.circuits.weights().head<double>(later));
    for (std::size_t mode = 0; mode < projectionKernelModes.size(); ++mode) {
        const auto read = columnSpace(weights[mode]);
        if (!read)
            return read.error();
        auto degrees = principalAngles(written->basis.leftCols(written->rank).transpose()
                                       * read->basis.leftCols(read->rank));
        if (!degrees)
            return degrees.error();
        add(projectionKernelModes[mode], std::move(degrees).value());
    }
    auto chance = meanAnglesOfChance(context, task);
    if (!chance)
        return chance.error();
    add("null", std::move(chance).value());
    return Done{};
}

Result<ResultSet> runProjectionKernel(const AnalysisContext& context, const Task& task)
{
    Results results = resultsOf(context, projectionKernelArrays());
    const auto done = context.options.precision == Precision::F64 ? addKernels<double>(results, context, task)
                                                                  : addKernels<float>(results, context, task);
    if (!done)
        return done.error();
    if (context.options.inputs.pair) {
        const auto& [earlier, later] = *context.options.inputs.pair;
        if (!context.circuits.contains(earlier) || !context.circuits.contains(later)) {
            results.warn("The principal angles were skipped: a head of the pair is not in this model.");
        } else if (const auto added = addProjectionKernelAngles(results, context, task); !added) {
            if (added.error().code != ErrorCode::Corrupt)
                return added.error();
            results.warn("The principal angles were skipped: a weight of the pair is NaN or infinite.");
        }
    }
    return std::move(results).finish();
}

std::string kernelNeedsTwoLayers(const ModelConfig& config, const AnalysisOptions&)
{
    return config.nLayers > 1 ? "" : "It compares heads of two layers; this model has one.";
}

AnalysisCost projectionKernelCost(const ModelConfig& config, const AnalysisOptions& options)
{
    AnalysisCost cost = compositionAnalysis().cost(config, options);
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double r = config.dHead;
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    return {2 * cost.flops + heads * 4 * 20 * r * r * config.dModel, 2 * cost.bytes + 9 * all * all * 8};
}

std::vector<Picture> projectionKernelPictures()
{
    using Kind = Picture::Kind;
    std::vector<Picture> pictures;
    for (std::size_t mode = 0; mode < projectionKernelModes.size(); ++mode) {
        const std::string path = projectionKernelFolder + "o_" + projectionKernelModes[mode];
        const std::string title = std::string("O to ") + capitals[mode];
        pictures.push_back({.kind = Kind::HeadPairs,
                            .title = "Projection kernel, " + title,
                            .arrays = {path},
                            .signedColors = false,
                            .note = "Σ cos² of the principal angles; random subspaces get d_head²/d_model."});
        pictures.push_back({.kind = Kind::Diagram,
                            .title = "Strongest pairs by projection kernel, " + title,
                            .arrays = {path}});
        pictures.push_back(
            {.kind = Kind::Points,
             .title = title + ", composition and kernel",
             .arrays = {projectionKernelFolder + "pairs_composition_" + projectionKernelModes[mode],
                        projectionKernelFolder + "pairs_kernel_" + projectionKernelModes[mode]},
             .note =
                 "One point per pair of heads. The largest 3 % of either score lie beyond the dashed lines."});
    }
    pictures.push_back({.kind = Kind::Diagram,
                        .title = "Strongest pairs by projection kernel of all kinds",
                        .arrays = {projectionKernelFolder + "o_q", projectionKernelFolder + "o_k",
                                   projectionKernelFolder + "o_v"},
                        .note = "One scale: Σ cos² of the principal angles."});
    pictures.push_back(
        {.kind = Kind::Bars,
         .title = "Principal angles of the pair",
         .arrays = {projectionKernelFolder + "angles_q", projectionKernelFolder + "angles_k",
                    projectionKernelFolder + "angles_v", projectionKernelFolder + "angles_null"},
         .note = "Small angles are shared directions."});
    return pictures;
}

} // namespace

Analysis projectionKernelAnalysis()
{
    return {
        .id = "projection_kernel",
        .number = "D3",
        .title = "Projection kernel",
        .formula =
            "‖U_Oᵀ U_X‖²_F, X = Q, K, V: Σ cos² of the principal angles between what is written and what is read",
        .citation = "Yamagiwa et al. 2026, arXiv 2601.10266",
        .whyNot = kernelNeedsTwoLayers,
        .cost = projectionKernelCost,
        .run = runProjectionKernel,
        .arrays = projectionKernelArrays(),
        .pictures = projectionKernelPictures(),
        .followsMetric = true};
}

} // namespace headwise
