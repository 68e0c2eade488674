#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/random_heads.h"
#include "core/base/matrix.h"
#include "core/circuits/shared_spectra.h"
#include "core/circuits/spectrum.h"
#include "core/results/picture_of.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

const std::string normsFolder = "analyses/norms/";
constexpr const char* normsGauge =
    "basis-dependent (gauge): W_Q T and W_K T⁻ᵀ, or W_V T and T⁻¹ W_O, are the same head for every invertible T";

constexpr std::array<const char*, 4> normFactors{"W_Q", "W_K", "W_V", "W_O"};

std::vector<ArraySpec> normsArrays()
{
    std::vector<ArraySpec> all;
    const auto add = [&](const std::string& name, std::vector<ArrayAxis> axes, const std::string& title,
                         const std::string& definition, const char* condition = "") {
        all.push_back({.path = normsFolder + name,
                       .axes = std::move(axes),
                       .title = title,
                       .definition = definition,
                       .condition = condition});
    };
    for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
        const std::string name(circuitName(kind));
        const std::string matrix(circuitFormula(kind));
        const std::string title = kind == CircuitKind::Qk ? "QK" : "OV";
        add(name + "_spectral", headAxes(), "Spectral norm of " + title, "σ₁ of " + matrix);
        add(name + "_by_layer", {Axis::Layer}, "Norm of " + title + " by layer",
            "mean over a layer's requested heads of ‖" + matrix + "‖_F");
        add(name + "_spectral_by_layer", {Axis::Layer}, "Spectral norm of " + title + " by layer",
            "mean over a layer's requested heads of σ₁ of " + matrix);
    }
    for (const std::string factor : normFactors)
        add(factor, headAxes(), "Norm of " + factor,
            "‖" + factor + "‖_F of a head, its layer's norm in it where that was folded");
    add("b_Q", headAxes(), "Norm of b_Q", "‖b_Q‖₂", "with query biases");
    add("b_K", headAxes(), "Norm of b_K", "‖b_K‖₂", "with key biases");
    add("b_V", headAxes(), "Norm of b_V", "‖b_V‖₂", "with value biases");
    add("b_Q_W_K", headAxes(), "Norm of the query bias in the stream",
        "‖b_Q W_Kᵀ‖₂: what every query looks for, for any token", "with query biases");
    add("b_V_W_O", headAxes(), "Norm of the value bias in the stream",
        "‖b_V W_O‖₂: what the head writes, whatever it attends to", "with value biases");
    add("b_O", {Axis::Layer}, "Norm of b_O", "‖b_O‖₂, including the folded value biases",
        "with output biases");
    return all;
}

struct CircuitNorms {
    RealNumbers frobenius, spectral;

    explicit CircuitNorms(const ModelConfig& config)
        : frobenius(RealNumbers::perHead(config))
        , spectral(frobenius)
    {
    }
};

/// A norm of one head's biases: its values and their scale.
struct BiasNorms {
    RealNumbers norm;
    HeadAverage square; // of an entry

    explicit BiasNorms(const ModelConfig& config)
        : norm(RealNumbers::perHead(config))
        , square(config)
    {
    }

    void set(HeadId head, const RowVector<double>& bias)
    {
        norm.set(head, bias.norm());
        square.set(head, bias.squaredNorm() / static_cast<double>(bias.size()));
    }
};

struct Norms {
    CircuitNorms qk, ov;
    std::vector<RealNumbers> factors;
    BiasNorms b_Q, b_K, b_V;
    RealNumbers readByKeys, written; // ‖b_Q W_Kᵀ‖, ‖b_V W_O‖
    EntrySquares squares;

    explicit Norms(const ModelConfig& config)
        : qk(config)
        , ov(config)
        , factors(normFactors.size(), RealNumbers::perHead(config))
        , b_Q(config)
        , b_K(config)
        , b_V(config)
        , readByKeys(RealNumbers::perHead(config))
        , written(readByKeys)
        , squares(config)
    {
    }

    Result<Done> set(const Circuits& circuits, SharedSpectra& spectra, HeadId head)
    {
        const HeadFactors factorsOfHead(circuits.weights(), head);
        const HeadWeights<double>& w = factorsOfHead.weights;
        squares.set(head, w);
        for (const auto& [kind, norms] : {std::pair(CircuitKind::Qk, &qk), std::pair(CircuitKind::Ov, &ov)}) {
            const auto sigma = spectra.singularValues(kind, factorsOfHead);
            if (!sigma)
                return sigma.error();
            norms->frobenius.set(head, rankMeasures(*sigma).frobeniusNorm);
            norms->spectral.set(head, sigma->front());
        }
        const std::array matrices{&w.W_Q, &w.W_K, &w.W_V, &w.W_O};
        for (std::size_t i = 0; i < matrices.size(); ++i)
            factors[i].set(head, matrices[i]->norm());
        b_Q.set(head, w.b_Q);
        b_K.set(head, w.b_K);
        b_V.set(head, w.b_V);
        readByKeys.set(head, (w.b_Q * w.W_K.transpose()).norm());
        written.set(head, (w.b_V * w.W_O).norm());
        return Done{};
    }
};

/// Returns the mean over the analysed heads of each layer; NaN if there are none.
std::vector<double> byLayer(const RealNumbers& values, const ModelConfig& config)
{
    std::vector<double> means;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        double sum = 0;
        int count = 0;
        for (int head = 0; head < config.nHeads; ++head) {
            const double value = values.at({layer, head});
            sum += std::isfinite(value) ? value : 0;
            count += std::isfinite(value) ? 1 : 0;
        }
        means.push_back(count > 0 ? sum / count : notComputed);
    }
    return means;
}

void putCircuitNorms(Results& results, const ModelConfig& config, const Norms& norms, CircuitKind kind,
                     const SpectrumNulls& unit)
{
    const std::string path = normsFolder + std::string(circuitName(kind));
    const CircuitNorms& from = kind == CircuitKind::Qk ? norms.qk : norms.ov;
    const double scale = norms.squares.scaleOf(kind);
    const HeadNull spectral = unit.spectralNorm.times(scale);
    const HeadNull frobenius = unit.norm.times(scale);
    const auto ofLayer = [&](const HeadNull& head) {
        return HeadNull{head.mean, head.deviation / std::sqrt(static_cast<double>(config.nHeads))};
    };
    setNull(results.put(path + "_spectral", from.spectral), spectral);
    setNull(results.put(path + "_by_layer", byLayer(from.frobenius, config)), ofLayer(frobenius));
    setNull(results.put(path + "_spectral_by_layer", byLayer(from.spectral, config)), ofLayer(spectral));
}

/// Puts a norm that depends on the basis inside a head.
void putGauged(Results& results, const char* name, const RealNumbers& norm, const HeadNull& null)
{
    ResultArray& array = results.put(normsFolder + name, norm);
    setNull(array, null);
    array.attributes["warning"] = std::string(normsGauge);
}

void putBiasNorms(Results& results, const ModelConfig& config, const Norms& norms)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double product = 2 / r + 2 / d + 4 / (r * d); // variance over mean² of ‖b W‖², b and W Gaussian
    const auto putOne = [&](const char* name, const BiasNorms& bias) {
        const double square = bias.square.value();
        if (square > 0)
            putGauged(results, name, bias.norm, nullOfRoot(r * square, 2 / r));
        return square;
    };
    const double ofQueries = putOne("b_Q", norms.b_Q);
    putOne("b_K", norms.b_K);
    const double ofValues = putOne("b_V", norms.b_V);
    if (ofQueries > 0)
        setNull(results.put(normsFolder + "b_Q_W_K", norms.readByKeys),
                nullOfRoot(d * r * ofQueries * norms.squares.of(Factor::K), product));
    if (!(ofValues > 0))
        return;
    ResultArray& written = results.put(normsFolder + "b_V_W_O", norms.written);
    setNull(written, nullOfRoot(d * r * ofValues * norms.squares.of(Factor::O), product));
    if (config.attentionSinks)
        written.definition += ", where its sink takes no attention";
}

Result<ResultSet> runNorms(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    Norms norms(config);
    const std::shared_ptr<SharedSpectra> spectra = spectraOf(context);
    const auto done = forEachHead(context, task, "norms",
                                  [&](HeadId head) { return norms.set(context.circuits, *spectra, head); });
    if (!done)
        return done.error();
    const auto unit = spectrumNulls(context, CircuitKind::Qk, nullptr, task);
    if (!unit)
        return unit.error();
    std::vector<double> outputBiases(static_cast<std::size_t>(config.nLayers), notComputed);
    for (const HeadId head : selectedHeads(config, context.options))
        outputBiases[static_cast<std::size_t>(head.layer)] =
            context.circuits.weights().b_O<double>(head.layer).norm();
    Results results = resultsOf(context, normsArrays());
    results.warn(*done);
    putCircuitNorms(results, config, norms, CircuitKind::Qk, *unit);
    putCircuitNorms(results, config, norms, CircuitKind::Ov, *unit);
    const double size = static_cast<double>(config.dModel) * config.dHead;
    for (std::size_t i = 0; i < normFactors.size(); ++i)
        putGauged(results, normFactors[i], norms.factors[i],
                  nullOfRoot(size * norms.squares.of(static_cast<Factor>(i)), 2 / size));
    putBiasNorms(results, config, norms);
    if (std::any_of(outputBiases.begin(), outputBiases.end(), [](double norm) { return norm > 0; }))
        results.put(normsFolder + "b_O", std::move(outputBiases));
    return std::move(results).finish();
}

AnalysisCost normsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size()) + randomHeads;
    return {heads * (8 * d * r * r + 80 * r * r * r + 12 * d * r), heads * 14 * 8};
}

std::vector<Picture> normsPictures()
{
    using Kind = Picture::Kind;
    const char* factors =
        "The basis inside a head is arbitrary (gauge) and changes these norms. Compare the norms of the products instead.";
    Picture norms{
        .kind = Kind::HeadGrid,
        .title = "Norms of QK and OV",
        .arrays = {"spectra/qk/frobenius_norm", "spectra/ov/frobenius_norm"},
        .signedColors = false,
        .note =
            "Computed with the singular values. The null is the norm of random heads with the same mean square."};
    Picture spectral =
        pictureOf(normsFolder, Kind::HeadGrid, "Spectral norms of QK and OV", {"qk_spectral", "ov_spectral"},
                  "The largest gain of a head on a unit vector.");
    Picture ofFactors =
        pictureOf(normsFolder, Kind::HeadGrid, "Norms of the factors", {"W_Q", "W_K", "W_V", "W_O"}, factors);
    Picture ofBiases = pictureOf(normsFolder, Kind::HeadGrid, "Norms of the biases in the stream",
                                 {"b_Q_W_K", "b_V_W_O"}, "These do not depend on the basis inside a head.");
    Picture biases = pictureOf(normsFolder, Kind::HeadGrid, "Norms of the biases inside a head",
                               {"b_Q", "b_K", "b_V"}, factors);
    for (Picture* picture : {&spectral, &ofFactors, &ofBiases, &biases})
        picture->signedColors = false;
    return {norms,
            spectral,
            pictureOf(normsFolder, Kind::Bars, "Norms by layer", {"qk_by_layer", "ov_by_layer"},
                      "The mean over the heads of a layer."),
            pictureOf(normsFolder, Kind::Bars, "Spectral norms by layer",
                      {"qk_spectral_by_layer", "ov_spectral_by_layer"},
                      "The mean over the heads of a layer."),
            ofFactors,
            ofBiases,
            biases,
            pictureOf(normsFolder, Kind::Bars, "Norm of the output bias by layer", {"b_O"})};
}

} // namespace

Analysis normsAnalysis()
{
    return {
        .id = "norms",
        .number = "E2",
        .title = "Norms of heads, their factors and biases",
        .formula =
            "σ₁ and ‖·‖_F of W_Q W_Kᵀ and W_V W_O; ‖W_Q‖_F, ‖W_K‖_F, ‖W_V‖_F, ‖W_O‖_F; ‖b_Q W_Kᵀ‖, ‖b_V W_O‖, ‖b_O‖",
        .citation = "Elhage et al. 2021",
        .whyNot = appliesAlways,
        .cost = normsCost,
        .run = runNorms,
        .arrays = normsArrays(),
        .pictures = normsPictures(),
        .followsMetric = true,
        .crossesStreams = true};
}

} // namespace headwise
