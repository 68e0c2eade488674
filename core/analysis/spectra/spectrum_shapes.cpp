#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/random_heads.h"
#include "core/analysis/spectra/head_spectra.h"
#include "core/results/picture_of.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace headwise {

namespace {

constexpr const char* spectrumShapesFolder = "analyses/spectrum_shapes/";
constexpr double mostOverlaid = 1e7; // numbers of the lines of all heads of a layer, head by head

std::string shapesPath(CircuitKind kind, const char* name)
{
    return spectrumShapesFolder + std::string(circuitName(kind)) + name;
}

/// \param kind Qk also stands for OV, which has the same null
std::string shapesNullPath(CircuitKind kind, const char* name)
{
    return isFull(kind) ? shapesPath(kind, "_") + name : spectrumShapesFolder + std::string(name);
}

constexpr std::array shapesNullCircuits{CircuitKind::Qk, CircuitKind::FullQk, CircuitKind::FullOv};

std::vector<ArraySpec> spectrumShapesArrays()
{
    std::vector<ArraySpec> all;
    for (const CircuitKind kind : circuitKinds) {
        const std::string name(circuitTitle(kind));
        const std::string where = ", σ = singular values of " + std::string(circuitFormula(kind));
        all.push_back({shapesPath(kind, "_normalised"), headAxes({Axis::SingularValue}), "σ / σ₁ of " + name,
                       "σ_k/σ_1" + where});
        all.push_back({shapesPath(kind, "_cumulative"), headAxes({Axis::SingularValue}),
                       "Energy up to k, " + name, "(σ_1² + … + σ_k²)/Σσ²" + where});
        all.push_back({shapesPath(kind, "_by_layer"),
                       {Axis::Layer, Axis::SingularValue},
                       "σ / σ₁ of " + name + ", mean of a layer's heads",
                       "mean over a layer's requested heads of σ_k/σ_1" + where});
        all.push_back({.path = shapesPath(kind, "_of_layer"),
                       .axes = headAxes({Axis::Member, Axis::SingularValue}),
                       .title = "σ / σ₁ of " + name + ", all heads of the layer",
                       .definition = "σ_k/σ_1 of every head of the same layer" + where,
                       .condition = "up to ten million numbers"});
    }
    for (const CircuitKind kind : shapesNullCircuits) {
        const std::string of = kind == CircuitKind::FullQk ? ", full QK"
            : kind == CircuitKind::FullOv                  ? ", full OV"
                                                           : ", QK and OV";
        const std::string where = ", mean over random heads, σ = singular values of "
            + std::string(kind == CircuitKind::Qk ? "W_Q W_Kᵀ or W_V W_O" : circuitFormula(kind))
            + " with Gaussian factors in place of the head's";
        const auto add = [&](const char* name, const char* title, const char* formula) {
            all.push_back({.path = shapesNullPath(kind, name),
                           .axes = {Axis::SingularValue},
                           .title = title + of,
                           .definition = formula + where,
                           .condition = isFull(kind) ? "E and W_U finite and not zero" : ""});
        };
        add("normalised_null", "σ / σ₁ of Gaussian factors", "σ_k/σ_1");
        add("cumulative_null", "Energy of Gaussian factors", "(σ_1² + … + σ_k²)/Σσ²");
    }
    for (ArraySpec& spec : all)
        spec.range = {0.0, 1.0};
    return all;
}

struct Shape {
    std::vector<double> normalised, cumulative; // both empty: none
};

/// \param sigma falling, not all 0
Shape shapeOf(const std::vector<double>& sigma, std::size_t width)
{
    Shape shape{std::vector<double>(width, 0.0), std::vector<double>(width, 1.0)};
    const double energy = std::inner_product(sigma.begin(), sigma.end(), sigma.begin(), 0.0);
    double sum = 0;
    for (std::size_t k = 0; k < std::min(width, sigma.size()); ++k) {
        sum += sigma[k] * sigma[k];
        shape.normalised[k] = sigma[k] / sigma[0];
        shape.cumulative[k] = std::min(1.0, sum / energy);
    }
    return shape;
}

/// Returns the mean shape of Gaussian heads between the model's own E and W_U. None if E or W_U is zero or not finite.
Result<Shape> shapeOfChance(const AnalysisContext& context, CircuitKind kind, const Task& task)
{
    const auto spectra = randomSpectra(context, kind, context.tokens.get(), task);
    if (!spectra)
        return spectra.error();
    const auto width = static_cast<std::size_t>(context.circuits.config().dHead);
    Shape mean{std::vector<double>(width, 0.0), std::vector<double>(width, 0.0)};
    for (const std::vector<double>& sigma : *spectra) {
        if (!(sigma.front() > 0))
            return Shape{};
        const Shape shape = shapeOf(sigma, width);
        for (std::size_t k = 0; k < width; ++k) {
            mean.normalised[k] += shape.normalised[k] / static_cast<double>(spectra->size());
            mean.cumulative[k] += shape.cumulative[k] / static_cast<double>(spectra->size());
        }
    }
    return spectra->empty() ? Shape{} : mean;
}

bool isOverlaid(const ModelConfig& c)
{
    return static_cast<double>(c.nLayers) * c.nHeads * c.nHeads * c.dHead <= mostOverlaid;
}

class SpectrumShapes {
public:
    explicit SpectrumShapes(const AnalysisContext& context)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_normalised(circuitKinds.size(), RealNumbers::perHead(m_config, m_config.dHead))
        , m_cumulative(m_normalised)
    {
    }

    Result<ResultSet> run(const Task& task)
    {
        const auto done =
            visitSpectra(m_context,
                         {[](const HeadFactors&) {},
                          [&](CircuitKind kind, HeadId head, const std::vector<double>& sigma) {
                              if (sigma.empty() || sigma.front() <= 0)
                                  return; // a zero circuit has no shape
                              const Shape shape = shapeOf(sigma, static_cast<std::size_t>(m_config.dHead));
                              const auto circuit = static_cast<std::size_t>(kind);
                              m_normalised[circuit].set(head, std::span<const double>(shape.normalised));
                              m_cumulative[circuit].set(head, std::span<const double>(shape.cumulative));
                          }},
                         task);
        if (!done)
            return done.error();
        Results results = resultsOf(m_context, spectrumShapesArrays());
        results.warn(*done);
        for (const CircuitKind kind : circuitKinds)
            putCircuit(results, kind);
        for (const CircuitKind kind : shapesNullCircuits) {
            const auto chance = shapeOfChance(m_context, kind, task);
            if (!chance)
                return chance.error();
            if (chance->normalised.empty())
                continue;
            embed(results.put(shapesNullPath(kind, "normalised_null"), chance->normalised), kind);
            embed(results.put(shapesNullPath(kind, "cumulative_null"), chance->cumulative), kind);
        }
        return std::move(results).finish();
    }

private:
    void putCircuit(Results& results, CircuitKind kind) const
    {
        const RealNumbers& normalised = m_normalised[static_cast<std::size_t>(kind)];
        embed(results.put(shapesPath(kind, "_normalised"), normalised), kind);
        embed(results.put(shapesPath(kind, "_cumulative"), m_cumulative[static_cast<std::size_t>(kind)]),
              kind);
        embed(results.put(shapesPath(kind, "_by_layer"), layerMeans(normalised)), kind);
        if (isOverlaid(m_config))
            embed(results.put(shapesPath(kind, "_of_layer"), overlay(normalised)), kind);
    }

    /// Returns the mean over the heads that have a shape, one line per layer; NaN if none has.
    RealNumbers layerMeans(const RealNumbers& normalised) const
    {
        RealNumbers means(
            {static_cast<std::size_t>(m_config.nLayers), static_cast<std::size_t>(m_config.dHead)});
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            const std::span<double> mean = means.list(static_cast<std::size_t>(layer));
            std::fill(mean.begin(), mean.end(), 0.0);
            int heads = 0;
            for (int head = 0; head < m_config.nHeads; ++head) {
                const std::span<const double> line = normalised.of({layer, head});
                if (std::isnan(line[0]))
                    continue;
                std::transform(line.begin(), line.end(), mean.begin(), mean.begin(), std::plus<>());
                ++heads;
            }
            for (double& value : mean)
                value /= heads; // 0/0: NaN
        }
        return means;
    }

    /// Returns the lines of all heads in a head's layer, so that the picture shows the selected head's layer.
    RealNumbers overlay(const RealNumbers& normalised) const
    {
        RealNumbers all = RealNumbers::perHead(m_config, m_config.nHeads, m_config.dHead);
        for (const HeadId head : selectedHeads(m_config, m_context.options)) {
            const std::span<double> lines = all.of(head);
            for (int member = 0; member < m_config.nHeads; ++member) {
                const std::span<const double> line = normalised.of({head.layer, member});
                std::copy(line.begin(), line.end(), lines.begin() + std::ptrdiff_t(member) * m_config.dHead);
            }
        }
        return all;
    }

    void embed(ResultArray& array, CircuitKind kind) const
    {
        if (isFull(kind))
            array.attributes["embedding"] = std::string(embeddingName(m_context.tokens->embedding));
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    std::vector<RealNumbers> m_normalised, m_cumulative; // as circuitKinds
};

Result<ResultSet> runSpectrumShapes(const AnalysisContext& context, const Task& task)
{
    return SpectrumShapes(context).run(task);
}

AnalysisCost spectrumShapesCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel, r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size()) + randomHeads;
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    return {heads * (8 * d * d * r + 24 * d * r * r + 80 * r * r * r),
            all * 4 * r * 12 * (2 + (isOverlaid(config) ? config.nHeads : 0))};
}

std::vector<Picture> spectrumShapesPictures()
{
    using Kind = Picture::Kind;
    const char* note = "Shown beside heads with Gaussian factors.";
    const char* full = "Shown beside heads with Gaussian factors between this model's E and W_U.";
    return {
        pictureOf(spectrumShapesFolder, Kind::Lines,
                  "Spectra of QK and OV over the largest value, selected head",
                  {"qk_normalised", "ov_normalised", "normalised_null"}, note),
        pictureOf(spectrumShapesFolder, Kind::Lines,
                  "Spectra of full QK and full OV over the largest value, selected head",
                  {"full_qk_normalised", "full_qk_normalised_null", "full_ov_normalised",
                   "full_ov_normalised_null"},
                  full),
        pictureOf(spectrumShapesFolder, Kind::Lines,
                  "Energy up to each singular value, QK and OV, selected head",
                  {"qk_cumulative", "ov_cumulative", "cumulative_null"}, note),
        pictureOf(spectrumShapesFolder, Kind::Lines,
                  "Energy up to each singular value, full QK and full OV, selected head",
                  {"full_qk_cumulative", "full_qk_cumulative_null", "full_ov_cumulative",
                   "full_ov_cumulative_null"},
                  full),
        pictureOf(spectrumShapesFolder, Kind::Lines, "Spectra of OV, every head of the layer",
                  {"ov_of_layer"}),
        pictureOf(spectrumShapesFolder, Kind::Lines, "Spectra of QK, every head of the layer",
                  {"qk_of_layer"}),
        pictureOf(spectrumShapesFolder, Kind::Lines, "Spectra of full OV, every head of the layer",
                  {"full_ov_of_layer"}),
        pictureOf(spectrumShapesFolder, Kind::Lines, "Spectra of full QK, every head of the layer",
                  {"full_qk_of_layer"}),
        pictureOf(spectrumShapesFolder, Kind::Lines, "Spectra of OV, mean of each layer", {"ov_by_layer"}),
        pictureOf(spectrumShapesFolder, Kind::Lines, "Spectra of QK, mean of each layer", {"qk_by_layer"}),
        pictureOf(spectrumShapesFolder, Kind::Matrix, "Spectra of OV, layers down", {"ov_by_layer"}),
        pictureOf(spectrumShapesFolder, Kind::Matrix, "Spectra of QK, layers down", {"qk_by_layer"}),
        pictureOf(spectrumShapesFolder, Kind::Matrix, "Spectra of full OV, layers down",
                  {"full_ov_by_layer"}),
        pictureOf(spectrumShapesFolder, Kind::Matrix, "Spectra of full QK, layers down",
                  {"full_qk_by_layer"})};
}

} // namespace

Analysis spectrumShapesAnalysis()
{
    return {.id = "spectrum_shapes",
            .number = "E1",
            .title = "Shapes of the spectra",
            .formula =
                "σ_k/σ_1 and (σ_1² + … + σ_k²)/Σσ² of QK, OV, full QK and full OV; all heads of a layer",
            .citation = "Elhage et al. 2021",
            .needsTokens = true,
            .whyNot = appliesAlways,
            .cost = spectrumShapesCost,
            .run = runSpectrumShapes,
            .arrays = spectrumShapesArrays(),
            .pictures = spectrumShapesPictures(),
            .crossesStreams = true,
            .takesClassToken = true,
            .needsGramsAlone = true};
}

} // namespace headwise
