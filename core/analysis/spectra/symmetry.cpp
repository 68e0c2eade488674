#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/random_heads.h"
#include "core/circuits/random_matrix.h"
#include "core/results/layer_null.h"
#include "core/results/picture_of.h"

#include "core/base/decompositions.h"
#include "core/base/matrix.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

constexpr int symmetryNullHeads = 16;
constexpr const char* symmetryFolder = "analyses/symmetry/";

constexpr const char* scoreFormula = "‖½(M + Mᵀ)‖²_F / ‖M‖²_F";
constexpr const char* directionFormula =
    "(Σ column excess − Σ row excess) / (Σ both), excess = max(0, norm of a column or row − (mean + 2 standard deviations of these norms, with d_model − 1)); 0 if there is none; 1: some keys stand out, −1: some queries";
constexpr const char* positiveFormula = "Σ max(λ, 0) / Σ|λ|, λ = eigenvalues of ½(M + Mᵀ)";

std::vector<ArraySpec> symmetryArrays()
{
    std::vector<ArraySpec> all;
    const auto add = [&](const char* name, const char* title, const std::string& definition) {
        all.push_back({symmetryFolder + std::string(name), headAxes(), title, definition + ", M = W_Q W_Kᵀ"});
    };
    add("symmetry", "Symmetry of QK", scoreFormula);
    all.back().range = {0.0, 1.0};
    add("direction", "Directionality of QK", directionFormula);
    all.back().range = {-1.0, 1.0};
    add("positive", "Positive part of QK's symmetric part", positiveFormula);
    all.back().range = {0.0, 1.0};
    add("symmetric_norm", "Norm of QK's symmetric part", "‖½(M + Mᵀ)‖_F");
    add("antisymmetric_norm", "Norm of QK's antisymmetric part", "‖½(M − Mᵀ)‖_F");
    all.push_back(
        {symmetryFolder + std::string("eigenvalues"), headAxes({Axis::Eigenvalue}),
         "Eigenvalues of QK's symmetric part",
         "eigenvalues of ½(M + Mᵀ), M = W_Q W_Kᵀ, falling, those that can differ from 0; padded with 0"});
    const auto addLayer = [&](const char* name, const char* title, const std::string& formula, double least) {
        all.push_back({.path = symmetryFolder + std::string(name),
                       .axes = {Axis::Layer},
                       .title = title,
                       .definition = formula + ", M = Σ_h W_Q W_Kᵀ over the heads of a layer",
                       .range = {{least, 1.0}}});
    };
    addLayer("layer_symmetry", "Symmetry of a layer's QK", scoreFormula, 0);
    addLayer("layer_direction", "Directionality of a layer's QK", directionFormula, -1);
    addLayer("layer_positive", "Positive part of a layer's QK", positiveFormula, 0);
    return all;
}

/// Symmetry measures of one M = W_Q W_Kᵀ.
struct Symmetry {
    double score = notComputed, direction = notComputed, positive = notComputed;
    double symmetricNorm = 0, antisymmetricNorm = 0;
    std::vector<double> eigenvalues; ///< Eigenvalues of ½(M + Mᵀ), falling.
};

/// Returns the summed excess of norms over mean + 2 deviations.
double excess(const Eigen::ArrayXd& norms)
{
    const double mean = norms.mean();
    const double count = static_cast<double>(norms.size());
    const double deviation = std::sqrt((norms - mean).square().sum() / std::max(1.0, count - 1));
    return (norms - (mean + 2 * deviation)).cwiseMax(0).sum();
}

/// (Σ column excess − Σ row excess) / (Σ both); 0 if nothing stands out.
/// Source: Saponati et al. 2025, arXiv 2502.10927, and their utils/scores.py.
double direction(const Eigen::ArrayXd& rowNorms, const Eigen::ArrayXd& columnNorms)
{
    const double rows = excess(rowNorms);
    const double columns = excess(columnNorms);
    return rows + columns > 0 ? (columns - rows) / (columns + rows) : 0;
}

/// \param square tr(M Mᵀ) \param twice tr(M M)
void setNorms(Symmetry& out, double square, double twice)
{
    out.symmetricNorm = std::sqrt(std::max(0.0, (square + twice) / 2));
    out.antisymmetricNorm = std::sqrt(std::max(0.0, (square - twice) / 2));
    if (square > 0)
        out.score = std::clamp((square + twice) / (2 * square), 0.0, 1.0);
}

void setEigenvalues(Symmetry& out, const Eigen::VectorXd& ascending)
{
    out.eigenvalues.assign(ascending.begin(), ascending.end());
    std::reverse(out.eigenvalues.begin(), out.eigenvalues.end());
    const double all = ascending.cwiseAbs().sum();
    if (all > 0)
        out.positive = ascending.cwiseMax(0).sum() / all;
}

/// Returns ‖row i of A Bᵀ‖, using only A and BᵀB.
Eigen::ArrayXd rowNorms(const Matrix<double>& A, const Matrix<double>& gramB)
{
    const Matrix<double> product = A * gramB;
    return product.cwiseProduct(A).rowwise().sum().array().cwiseMax(0).sqrt();
}

/// Computes the measures of M = A Bᵀ with thin factors [d, r].
/// Takes traces from [r, r] products, and eigenvalues of the symmetric part from one QR of [A B].
Result<Symmetry> factoredSymmetry(const Matrix<double>& A, const Matrix<double>& B)
{
    const Eigen::Index r = A.cols();
    const Matrix<double> gramA = A.transpose() * A;
    const Matrix<double> gramB = B.transpose() * B;
    const Matrix<double> cross = B.transpose() * A;
    Symmetry out;
    setNorms(out, gramA.cwiseProduct(gramB).sum(), cross.cwiseProduct(cross.transpose()).sum());
    if (!std::isnan(out.score))
        out.direction = direction(rowNorms(A, gramB), rowNorms(B, gramA));
    Matrix<double> both(A.rows(), 2 * r);
    both << A, B;
    const auto R = triangularFactor(std::move(both)); // ½(A Bᵀ + B Aᵀ) = Q ½(R_A R_Bᵀ + R_B R_Aᵀ) Qᵀ
    if (!R)
        return R.error();
    const Matrix<double> half = R->leftCols(r) * R->rightCols(r).transpose() / 2;
    const auto values = symmetricEigenvalues(half + half.transpose());
    if (!values)
        return values.error();
    setEigenvalues(out, *values);
    return out;
}

/// Computes the measures of a full-rank matrix, the sum over a layer's heads. \param M [d, d]
Result<Symmetry> denseSymmetry(const Matrix<double>& M)
{
    Symmetry out;
    setNorms(out, M.squaredNorm(), M.cwiseProduct(M.transpose()).sum());
    if (!std::isnan(out.score))
        out.direction = direction(M.rowwise().norm().array(), M.colwise().norm().transpose().array());
    const auto values = symmetricEigenvalues((M + M.transpose()) / 2);
    if (!values)
        return values.error();
    setEigenvalues(out, *values);
    return out;
}

/// Null of the measures for Gaussian heads. The norms assume factors with entries of deviation 1.
struct RandomHeads {
    double directionDeviation = 0, positiveDeviation = 0;
    HeadNull symmetricNorm, antisymmetricNorm;
};

Result<RandomHeads> symmetryOfRandomHeads(const ModelConfig& config, std::uint64_t seed)
{
    RandomHeads squares;
    std::vector<double> symmetric, antisymmetric;
    for (std::uint64_t i = 0; i < symmetryNullHeads; ++i) {
        const auto head = factoredSymmetry(gaussianMatrix(config.dModel, config.dHead, seed + 2 * i),
                                           gaussianMatrix(config.dModel, config.dHead, seed + 2 * i + 1));
        if (!head)
            return head.error();
        squares.directionDeviation += head->direction * head->direction / symmetryNullHeads;
        squares.positiveDeviation += (head->positive - 0.5) * (head->positive - 0.5) / symmetryNullHeads;
        symmetric.push_back(head->symmetricNorm);
        antisymmetric.push_back(head->antisymmetricNorm);
    }
    return RandomHeads{std::sqrt(squares.directionDeviation), std::sqrt(squares.positiveDeviation),
                       nullOf(symmetric), nullOf(antisymmetric)};
}

struct SymmetryNumbers {
    RealNumbers score, direction, positive, symmetricNorm, antisymmetricNorm, eigenvalues;
    EntrySquares squares;
    std::vector<Symmetry> layers;

    explicit SymmetryNumbers(const ModelConfig& config)
        : score(RealNumbers::perHead(config))
        , direction(score)
        , positive(score)
        , symmetricNorm(score)
        , antisymmetricNorm(score)
        , eigenvalues(RealNumbers::perHead(config, 2 * config.dHead))
        , squares(config)
        , layers(static_cast<std::size_t>(config.nLayers),
                 Symmetry{notComputed, notComputed, notComputed, notComputed, notComputed, {}})
    {
    }

    void set(HeadId head, const Symmetry& from)
    {
        score.set(head, from.score);
        direction.set(head, from.direction);
        positive.set(head, from.positive);
        symmetricNorm.set(head, from.symmetricNorm);
        antisymmetricNorm.set(head, from.antisymmetricNorm);
        eigenvalues.set(head, std::span<const double>(from.eigenvalues));
    }
};

/// Computes M = Σ_h W_QK^h of every layer with a selected head. Processes large ones two at a time to save memory.
Result<Done> readSymmetryLayers(const AnalysisContext& context, const Task& task, SymmetryNumbers& out)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<int> layers;
    for (const HeadId head : selectedHeads(config, context.options)) {
        if (layers.empty() || layers.back() != head.layer)
            layers.push_back(head.layer);
    }
    Task few = task;
    if (config.dModel > 1024)
        few.threads = task.threads == 1 ? 1 : 2;
    return parallelFor(static_cast<int>(layers.size()), few, "layers", [&](int i) -> Result<Done> {
        const int layer = layers[static_cast<std::size_t>(i)];
        Matrix<double> M = Matrix<double>::Zero(config.dModel, config.dModel);
        for (int head = 0; head < config.nHeads; ++head) {
            if (task.cancelled())
                return stopped();
            const HeadWeights<double> w = context.circuits.weights().head<double>({layer, head});
            M.noalias() += w.W_Q * w.W_K.transpose();
        }
        const auto symmetry = denseSymmetry(M);
        if (symmetry)
            out.layers[static_cast<std::size_t>(layer)] = *symmetry;
        else if (symmetry.error().code != ErrorCode::Corrupt)
            return symmetry.error();
        return Done{};
    });
}

/// Returns the null of the score s. For Gaussian factors tr(M M) is d r ± √2 d r, and ‖M‖² about d² r.
HeadNull scoreNull(const ModelConfig& config)
{
    const double d = config.dModel;
    return {0.5 + 0.5 / d, std::sqrt(0.5) / d};
}

void putSymmetryHeads(Results& results, const SymmetryNumbers& numbers, const ModelConfig& config,
                      const RandomHeads& random)
{
    const std::string folder = symmetryFolder;
    const auto putScore = [&](const char* name, const RealNumbers& values, const HeadNull& null) {
        ResultArray& array = results.put(folder + name, values);
        array.nullMean = null.mean;
        array.nullDeviation = null.deviation;
        if (null.draws > 0)
            setNullDraws(array, null.draws, NullMean::Known);
    };
    putScore("symmetry", numbers.score, scoreNull(config));
    putScore("direction", numbers.direction, {0, random.directionDeviation, symmetryNullHeads});
    putScore("positive", numbers.positive, {0.5, random.positiveDeviation, symmetryNullHeads});
    const double scale = numbers.squares.scaleOf(CircuitKind::Qk);
    setNull(results.put(folder + "symmetric_norm", numbers.symmetricNorm), random.symmetricNorm.times(scale));
    setNull(results.put(folder + "antisymmetric_norm", numbers.antisymmetricNorm),
            random.antisymmetricNorm.times(scale));
    results.put(folder + "eigenvalues", numbers.eigenvalues);
}

void putSymmetryLayers(Results& results, const SymmetryNumbers& numbers, const ModelConfig& config)
{
    const auto put = [&](const char* name, double Symmetry::*member) -> ResultArray& {
        std::vector<double> values;
        values.reserve(numbers.layers.size());
        for (const Symmetry& layer : numbers.layers)
            values.push_back(layer.*member);
        return results.put(symmetryFolder + std::string(name), std::move(values));
    };
    ResultArray& score = put("layer_symmetry", &Symmetry::score);
    score.nullMean = scoreNull(config).mean;
    score.nullDeviation = scoreNull(config).deviation;
    put("layer_direction", &Symmetry::direction).nullMean = 0.0;
    put("layer_positive", &Symmetry::positive).nullMean = 0.5;
}

Result<ResultSet> runSymmetry(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    SymmetryNumbers numbers(config);
    const auto done = forEachHead(context, task, "symmetry of QK", [&](HeadId head) -> Result<Done> {
        const HeadWeights<double> w = context.circuits.weights().head<double>(head);
        const auto symmetry = factoredSymmetry(w.W_Q, w.W_K);
        if (!symmetry)
            return symmetry.error();
        numbers.squares.set(head, w);
        numbers.set(head, *symmetry);
        return Done{};
    });
    if (!done)
        return done.error();
    if (const auto layers = readSymmetryLayers(context, task, numbers); !layers)
        return layers.error();
    const auto random = symmetryOfRandomHeads(config, context.options.inputs.seed);
    if (!random)
        return random.error();
    Results results = resultsOf(context, symmetryArrays());
    results.warn(*done);
    putSymmetryHeads(results, numbers, config, *random);
    putSymmetryLayers(results, numbers, config);
    return std::move(results).finish();
}

AnalysisCost symmetryCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double layers = std::min<double>(config.nLayers, heads);
    return {heads * (24 * d * r * r + 12 * r * r * r)
                + layers * (2 * d * d * r * config.nHeads + 2 * d * d * d),
            2 * 3 * 8 * d * d + heads * (5 + 2 * r) * 8};
}

std::vector<Picture> symmetryPictures()
{
    using Kind = Picture::Kind;
    return {
        pictureOf(symmetryFolder, Kind::HeadGrid, "Symmetry, directionality, positive part",
                  {"symmetry", "direction", "positive"},
                  "For W_Q W_Kᵀ only; with rotary positions, at offset 0."),
        pictureOf(symmetryFolder, Kind::Lines, "Symmetry and directionality by layer",
                  {"layer_symmetry", "layer_positive", "layer_direction"}),
        pictureOf(symmetryFolder, Kind::Histogram, "Heads by symmetry", {"symmetry"}),
        pictureOf(symmetryFolder, Kind::Histogram, "Heads by directionality", {"direction"}),
        pictureOf(symmetryFolder, Kind::HeadPlane, "Symmetric and antisymmetric part",
                  {"symmetric_norm", "antisymmetric_norm", "direction"}),
        pictureOf(symmetryFolder, Kind::Lines, "Eigenvalues of the symmetric part", {"eigenvalues"},
                  "Above 0 the head attends to similar vectors, below 0 to opposite ones."),
    };
}

} // namespace

Analysis symmetryAnalysis()
{
    return {
        .id = "symmetry",
        .number = "E5",
        .title = "Symmetry and directionality of QK",
        .formula =
            "‖½(M + Mᵀ)‖²_F / ‖M‖²_F; (Σ column excess − Σ row excess) / (Σ both); M = W_Q W_Kᵀ, and Σ_h of a layer",
        .citation = "Saponati et al. 2025, arXiv 2502.10927",
        .whyNot = appliesAlways,
        .cost = symmetryCost,
        .run = runSymmetry,
        .arrays = symmetryArrays(),
        .pictures = symmetryPictures(),
        .followsMetric = true};
}

} // namespace headwise
