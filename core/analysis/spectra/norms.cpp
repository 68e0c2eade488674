#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/shared/random_heads.h"
#include "core/base/matrix.h"
#include "core/circuits/spectrum.h"
#include "core/results/picture_of.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

const std::string normsFolder = "analyses/norms/";
constexpr const char* normsGauge =
    "basis-dependent (gauge): W_Q T and W_K T⁻ᵀ, or W_V T and T⁻¹ W_O, are the same head for every invertible T";

struct CircuitNorms {
    PerHead frobenius, spectral;

    explicit CircuitNorms(const ModelConfig& config)
        : frobenius(config)
        , spectral(config)
    {
    }
};

/// A norm of one head's biases: its values and their scale.
struct BiasNorms {
    PerHead norm;
    HeadAverage square; // of an entry

    explicit BiasNorms(const ModelConfig& config)
        : norm(config)
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
    std::array<PerHead, 4> factors;
    BiasNorms b_Q, b_K, b_V;
    PerHead readByKeys, written; // ‖b_Q W_Kᵀ‖, ‖b_V W_O‖
    EntrySquares squares;

    explicit Norms(const ModelConfig& config)
        : qk(config)
        , ov(config)
        , factors{PerHead(config), PerHead(config), PerHead(config), PerHead(config)}
        , b_Q(config)
        , b_K(config)
        , b_V(config)
        , readByKeys(config)
        , written(config)
        , squares(config)
    {
    }

    Result<Done> set(const Circuits& circuits, HeadId head)
    {
        const HeadWeights<double> w = circuits.weights().head<double>(head);
        squares.set(head, w);
        for (const auto& [kind, norms] : {std::pair(CircuitKind::Qk, &qk), std::pair(CircuitKind::Ov, &ov)}) {
            const auto sigma = circuitSingularValues(circuits, w, kind, head, nullptr);
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
std::vector<double> byLayer(PerHead values, const ModelConfig& config)
{
    std::vector<double> means;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        double sum = 0;
        int count = 0;
        for (int head = 0; head < config.nHeads; ++head) {
            const double value = values.row({layer, head})[0];
            sum += std::isfinite(value) ? value : 0;
            count += std::isfinite(value) ? 1 : 0;
        }
        means.push_back(count > 0 ? sum / count : notComputed);
    }
    return means;
}

class NormArrays {
public:
    NormArrays(const AnalysisContext& context, const Norms& norms, const SpectrumNulls& unit)
        : m_config(context.circuits.config())
        , m_precision(context.options.precision)
        , m_norms(norms)
        , m_unit(unit)
    {
    }

    ResultSet make(const std::vector<double>& outputBiases)
    {
        addCircuit(m_norms.qk, CircuitKind::Qk, "QK", "W_Q W_Kᵀ");
        addCircuit(m_norms.ov, CircuitKind::Ov, "OV", "W_V W_O");
        addFactors();
        addBiases();
        if (std::any_of(outputBiases.begin(), outputBiases.end(), [](double norm) { return norm > 0; }))
            addByLayer("b_O", "Norm of b_O", "‖b_O‖₂, with what folding the value biases put into it",
                       outputBiases, {});
        return std::move(m_results);
    }

private:
    ResultArray& add(const PerHead& values, const std::string& name, const std::string& title,
                     const std::string& formula, const HeadNull& null)
    {
        m_results.arrays.push_back(values.array(m_precision, normsFolder + name, title, formula));
        setNull(m_results.arrays.back(), null);
        return m_results.arrays.back();
    }

    void addByLayer(const std::string& name, const std::string& title, const std::string& formula,
                    std::vector<double> values, const HeadNull& null)
    {
        const std::size_t layers = values.size();
        ResultArray array =
            realArray(m_precision, normsFolder + name, {layers}, std::move(values), {Axis::Layer});
        array.title = title;
        array.definition = formula;
        setNull(array, null);
        m_results.arrays.push_back(std::move(array));
    }

    void addCircuit(const CircuitNorms& norms, CircuitKind kind, const char* title, const std::string& matrix)
    {
        const std::string name(circuitName(kind));
        const double scale = m_norms.squares.scaleOf(kind);
        const HeadNull spectral = m_unit.spectralNorm.times(scale);
        const HeadNull frobenius = m_unit.norm.times(scale);
        const auto ofLayer = [&](const HeadNull& head) {
            return HeadNull{head.mean, head.deviation / std::sqrt(static_cast<double>(m_config.nHeads))};
        };
        add(norms.spectral, name + "_spectral", std::string("Spectral norm of ") + title, "σ₁ of " + matrix,
            spectral);
        addByLayer(name + "_by_layer", std::string("Norm of ") + title + " by layer",
                   "mean over the heads asked for of a layer of ‖" + matrix + "‖_F",
                   byLayer(norms.frobenius, m_config), ofLayer(frobenius));
        addByLayer(name + "_spectral_by_layer", std::string("Spectral norm of ") + title + " by layer",
                   "mean over the heads asked for of a layer of σ₁ of " + matrix,
                   byLayer(norms.spectral, m_config), ofLayer(spectral));
    }

    void addFactors()
    {
        constexpr std::array<const char*, 4> names{"W_Q", "W_K", "W_V", "W_O"};
        const double size = static_cast<double>(m_config.dModel) * m_config.dHead;
        for (std::size_t i = 0; i < names.size(); ++i) {
            const double square = m_norms.squares.of(static_cast<Factor>(i));
            add(m_norms.factors[i], names[i], std::string("Norm of ") + names[i],
                std::string("‖") + names[i] + "‖_F of a head, its layer's norm in it where that was folded",
                nullOfRoot(size * square, 2 / size))
                .attributes["warning"] = std::string(normsGauge);
        }
    }

    void addBiases()
    {
        const double d = m_config.dModel;
        const double r = m_config.dHead;
        const double product = 2 / r + 2 / d + 4 / (r * d); // variance over mean² of ‖b W‖², b and W Gaussian
        const auto addPair = [&](const BiasNorms& bias, const char* name) {
            const double square = bias.square.value();
            if (square > 0)
                add(bias.norm, name, std::string("Norm of ") + name, std::string("‖") + name + "‖₂",
                    nullOfRoot(r * square, 2 / r))
                    .attributes["warning"] = std::string(normsGauge);
            return square;
        };
        const double ofQueries = addPair(m_norms.b_Q, "b_Q");
        addPair(m_norms.b_K, "b_K");
        const double ofValues = addPair(m_norms.b_V, "b_V");
        if (ofQueries > 0)
            add(m_norms.readByKeys, "b_Q_W_K", "Norm of the query bias in the stream",
                "‖b_Q W_Kᵀ‖₂: what every query looks for, whatever the token",
                nullOfRoot(d * r * ofQueries * m_norms.squares.of(Factor::K), product));
        if (ofValues > 0)
            add(m_norms.written, "b_V_W_O", "Norm of the value bias in the stream",
                "‖b_V W_O‖₂: what the head writes, whatever it attends to",
                nullOfRoot(d * r * ofValues * m_norms.squares.of(Factor::O), product));
    }

    const ModelConfig& m_config;
    Precision m_precision;
    const Norms& m_norms;
    const SpectrumNulls& m_unit;
    ResultSet m_results;
};

Result<ResultSet> runNorms(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    Norms norms(config);
    const auto done =
        forEachHead(context, task, "norms", [&](HeadId head) { return norms.set(context.circuits, head); });
    if (!done)
        return done.error();
    const auto unit = spectrumNulls(context, CircuitKind::Qk, nullptr, task);
    if (!unit)
        return unit.error();
    std::vector<double> outputBiases(static_cast<std::size_t>(config.nLayers), notComputed);
    for (const HeadId head : selectedHeads(config, context.options))
        outputBiases[static_cast<std::size_t>(head.layer)] =
            context.circuits.weights().b_O<double>(head.layer).norm();
    ResultSet results = NormArrays(context, norms, *unit).make(outputBiases);
    results.warnings = *done;
    return results;
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
        "Look at the products instead: the basis inside a head is arbitrary (gauge), and these norms change with it.";
    Picture norms{
        .kind = Kind::HeadGrid,
        .title = "Norms of QK and OV",
        .arrays = {"spectra/qk/frobenius_norm", "spectra/ov/frobenius_norm"},
        .signedColors = false,
        .note = "With the singular values; random heads of the same mean square get what stands beside it."};
    Picture spectral =
        pictureOf(normsFolder, Kind::HeadGrid, "Spectral norms of QK and OV", {"qk_spectral", "ov_spectral"},
                  "The most that a head does to a vector of length 1.");
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
        .pictures = normsPictures(),
        .followsMetric = true};
}

} // namespace headwise
