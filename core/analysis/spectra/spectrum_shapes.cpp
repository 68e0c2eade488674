#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/shared/random_heads.h"
#include "core/circuits/spectrum.h"
#include "core/results/picture_of.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace headwise {

namespace {

constexpr const char* spectrumShapesFolder = "analyses/spectrum_shapes/";
constexpr double mostOverlaid = 1e7; // numbers of the lines of all heads of a layer, head by head

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
        , m_normalised(circuitKinds.size(), PerHead(m_config, m_config.dHead))
        , m_cumulative(m_normalised)
    {
    }

    Result<ResultSet> run(const Task& task)
    {
        const auto done = forEachHead(m_context, task, "spectra", [&](HeadId head) -> Result<Done> {
            const HeadWeights<double> weights = m_context.circuits.weights().head<double>(head);
            for (const CircuitKind kind : circuitKinds) {
                if (task.cancelled())
                    return stopped();
                const auto sigma =
                    circuitSingularValues(m_context.circuits, weights, kind, head, m_context.tokens.get());
                if (!sigma)
                    return sigma.error();
                if (sigma->empty() || sigma->front() <= 0)
                    continue; // a zero circuit has no shape
                const Shape shape = shapeOf(*sigma, static_cast<std::size_t>(m_config.dHead));
                m_normalised[static_cast<std::size_t>(kind)].set(head,
                                                                 std::span<const double>(shape.normalised));
                m_cumulative[static_cast<std::size_t>(kind)].set(head,
                                                                 std::span<const double>(shape.cumulative));
            }
            return Done{};
        });
        if (!done)
            return done.error();
        ResultSet results;
        results.warnings = *done;
        for (const CircuitKind kind : circuitKinds)
            addCircuit(results, kind);
        for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::FullQk, CircuitKind::FullOv}) {
            const auto chance = shapeOfChance(m_context, kind, task);
            if (!chance)
                return chance.error();
            if (!chance->normalised.empty())
                addNulls(results, kind, *chance);
        }
        return results;
    }

private:
    void addCircuit(ResultSet& results, CircuitKind kind)
    {
        const std::string name(circuitName(kind));
        const std::string where = ", σ = singular values of " + std::string(circuitFormula(kind));
        PerHead& normalised = m_normalised[static_cast<std::size_t>(kind)];
        add(results,
            normalised.array(precision(), spectrumShapesFolder + name + "_normalised", "Largest = 1, " + name,
                             "σ_k/σ_1" + where, Axis::SingularValue),
            kind);
        add(results,
            m_cumulative[static_cast<std::size_t>(kind)].array(
                precision(), spectrumShapesFolder + name + "_cumulative", "Energy up to k, " + name,
                "(σ_1² + … + σ_k²)/Σσ²" + where, Axis::SingularValue),
            kind);
        addLayerMeans(results, kind, normalised);
        if (isOverlaid(m_config))
            addOverlay(results, kind, normalised);
    }

    /// Adds the mean over the heads that have a shape, one line per layer.
    void addLayerMeans(ResultSet& results, CircuitKind kind, PerHead& normalised) const
    {
        const auto width = static_cast<std::size_t>(m_config.dHead);
        std::vector<double> means;
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            std::vector<double> sum(width, 0.0);
            int heads = 0;
            for (int head = 0; head < m_config.nHeads; ++head) {
                const std::span<double> line = normalised.row({layer, head});
                if (std::isnan(line[0]))
                    continue;
                std::transform(line.begin(), line.end(), sum.begin(), sum.begin(), std::plus<>());
                ++heads;
            }
            for (const double value : sum)
                means.push_back(value / heads); // 0/0: NaN
        }
        ResultArray array =
            realArray(precision(), spectrumShapesFolder + std::string(circuitName(kind)) + "_by_layer",
                      {static_cast<std::size_t>(m_config.nLayers), width}, std::move(means),
                      {Axis::Layer, Axis::SingularValue});
        array.title = "Mean of a layer's heads, " + std::string(circuitName(kind));
        array.definition = "mean over the heads asked for of a layer of σ_k/σ_1, σ = singular values of "
            + std::string(circuitFormula(kind));
        add(results, std::move(array), kind);
    }

    /// Adds the lines of all heads in a head's layer, so that the picture shows the selected head's layer.
    void addOverlay(ResultSet& results, CircuitKind kind, PerHead& normalised) const
    {
        PerHead overlay(m_config, m_config.nHeads * m_config.dHead);
        for (const HeadId head : selectedHeads(m_config, m_context.options)) {
            const std::span<double> lines = overlay.row(head);
            for (int member = 0; member < m_config.nHeads; ++member) {
                const std::span<double> line = normalised.row({head.layer, member});
                std::copy(line.begin(), line.end(), lines.begin() + std::ptrdiff_t(member) * m_config.dHead);
            }
        }
        ResultArray array =
            overlay.array(precision(), spectrumShapesFolder + std::string(circuitName(kind)) + "_of_layer",
                          "All heads of the layer, " + std::string(circuitName(kind)),
                          "σ_k/σ_1 of every head of the same layer, σ = singular values of "
                              + std::string(circuitFormula(kind)),
                          Axis::SingularValue);
        array.shape.back() = static_cast<std::size_t>(m_config.nHeads);
        array.shape.push_back(static_cast<std::size_t>(m_config.dHead));
        array.axes.insert(array.axes.end() - 1, Axis::Member);
        add(results, std::move(array), kind);
    }

    /// \param kind Qk also stands for OV, which has the same null
    void addNulls(ResultSet& results, CircuitKind kind, const Shape& chance) const
    {
        const std::string name = isFull(kind) ? std::string(circuitName(kind)) + "_" : std::string();
        const std::string of = kind == CircuitKind::FullQk ? ", full QK"
            : kind == CircuitKind::FullOv                  ? ", full OV"
                                                           : ", QK and OV";
        const std::string where = ", mean over random heads, σ = singular values of "
            + std::string(kind == CircuitKind::Qk ? "W_Q W_Kᵀ or W_V W_O" : circuitFormula(kind))
            + " with Gaussian factors in place of the head's";
        const auto addLine = [&](const char* shape, const char* title, const char* formula,
                                 const std::vector<double>& values) {
            ResultArray array = realArray(precision(), spectrumShapesFolder + name + shape, {values.size()},
                                          values, {Axis::SingularValue});
            array.title = title + of;
            array.definition = formula + where;
            add(results, std::move(array), kind);
        };
        addLine("normalised_null", "Of Gaussian factors, largest = 1", "σ_k/σ_1", chance.normalised);
        addLine("cumulative_null", "Energy of Gaussian factors", "(σ_1² + … + σ_k²)/Σσ²", chance.cumulative);
    }

    void add(ResultSet& results, ResultArray array, CircuitKind kind) const
    {
        array.range = {0.0, 1.0};
        if (isFull(kind))
            array.attributes["embedding"] = std::string(embeddingName(m_context.tokens->embedding));
        results.arrays.push_back(std::move(array));
    }

    Precision precision() const { return m_context.options.precision; }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    std::vector<PerHead> m_normalised, m_cumulative; // as circuitKinds
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
    const char* note = "Beside them what heads of Gaussian factors have.";
    const char* full = "Beside each what heads of Gaussian factors have between this model's E and W_U.";
    return {pictureOf(spectrumShapesFolder, Kind::Lines, "Largest = 1, QK and OV of the selected head",
                      {"qk_normalised", "ov_normalised", "normalised_null"}, note),
            pictureOf(spectrumShapesFolder, Kind::Lines,
                      "Largest = 1, full QK and full OV of the selected head",
                      {"full_qk_normalised", "full_qk_normalised_null", "full_ov_normalised",
                       "full_ov_normalised_null"},
                      full),
            pictureOf(spectrumShapesFolder, Kind::Lines,
                      "Energy up to each singular value, QK and OV of the selected head",
                      {"qk_cumulative", "ov_cumulative", "cumulative_null"}, note),
            pictureOf(spectrumShapesFolder, Kind::Lines,
                      "Energy up to each singular value, full QK and full OV of the selected head",
                      {"full_qk_cumulative", "full_qk_cumulative_null", "full_ov_cumulative",
                       "full_ov_cumulative_null"},
                      full),
            pictureOf(spectrumShapesFolder, Kind::Lines, "OV of every head of the layer", {"ov_of_layer"}),
            pictureOf(spectrumShapesFolder, Kind::Lines, "QK of every head of the layer", {"qk_of_layer"}),
            pictureOf(spectrumShapesFolder, Kind::Lines, "Full OV of every head of the layer",
                      {"full_ov_of_layer"}),
            pictureOf(spectrumShapesFolder, Kind::Lines, "Full QK of every head of the layer",
                      {"full_qk_of_layer"}),
            pictureOf(spectrumShapesFolder, Kind::Lines, "OV, the mean of each layer", {"ov_by_layer"}),
            pictureOf(spectrumShapesFolder, Kind::Lines, "QK, the mean of each layer", {"qk_by_layer"}),
            pictureOf(spectrumShapesFolder, Kind::Matrix, "OV, layers down", {"ov_by_layer"}),
            pictureOf(spectrumShapesFolder, Kind::Matrix, "QK, layers down", {"qk_by_layer"}),
            pictureOf(spectrumShapesFolder, Kind::Matrix, "Full OV, layers down", {"full_ov_by_layer"}),
            pictureOf(spectrumShapesFolder, Kind::Matrix, "Full QK, layers down", {"full_qk_by_layer"})};
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
            .pictures = spectrumShapesPictures()};
}

} // namespace headwise
