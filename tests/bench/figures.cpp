#include "tests/bench/figures.h"

#include "core/analysis/catalogue.h"
#include "core/base/parallel.h"
#include "core/circuits/block.h"
#include "core/circuits/largest_entries.h"
#include "core/circuits/scan/token_scan.h"
#include "core/circuits/shared_spectra.h"
#include "core/circuits/token_table.h"
#include "core/model/architecture.h"
#include "core/runs/plan.h"
#include "core/runs/queue.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <numeric>
#include <random>

namespace headwise::bench {
namespace {

template <typename T>
void must(const Result<T>& result)
{
    if (result)
        return;
    std::fprintf(stderr, "A benchmark failed: %s\n", result.error().message.c_str());
    std::exit(4);
}

/// \param atOnce the body gets every so many-th head of each layer
void overHeads(const Circuits& circuits, const std::function<Result<Done>(HeadId)>& body, int atOnce = 1)
{
    const ModelConfig& config = circuits.config();
    const int perLayer = (config.nHeads + atOnce - 1) / atOnce;
    must(parallelFor(config.nLayers * perLayer, Task{}, "heads", [&](int i) {
        return body({i / perLayer, i % perLayer * atOnce});
    }));
}

std::vector<int> firstTokens(int count)
{
    std::vector<int> ids(static_cast<std::size_t>(count));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

/// U, S, V of QK and OV of every head.
void allSpectra(const Circuits& circuits)
{
    overHeads(circuits, [&](HeadId head) -> Result<Done> {
        for (const auto& svd : {circuits.qk(head).svd(), circuits.ov(head).svd()}) {
            if (!svd)
                return svd.error();
        }
        return Done{};
    });
}

void allSingularValues(const Circuits& circuits)
{
    SharedSpectra spectra(circuits, nullptr, SharedSpectra::Keep::Groups);
    overHeads(circuits, [&](HeadId head) -> Result<Done> {
        const HeadFactors factors(circuits.weights(), head);
        for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
            const auto sigma = spectra.singularValues(kind, factors);
            if (!sigma)
                return sigma.error();
        }
        return Done{};
    });
}

/// Singular values and eigenvalues of full QK and full OV of every head, with the token side computed.
void allFullSpectra(const Circuits& circuits, const std::shared_ptr<const TokenSide>& tokens)
{
    SharedSpectra spectra(circuits, tokens, SharedSpectra::Keep::All);
    const int atOnce = SharedSpectra::headsAtOnce(circuits.config());
    overHeads(
        circuits,
        [&](HeadId first) -> Result<Done> {
            std::vector<HeadFactors> heads;
            for (int head = first.head; head < std::min(first.head + atOnce, circuits.config().nHeads);
                 ++head)
                heads.emplace_back(circuits.weights(), HeadId{first.layer, head});
            spectra.multiply(heads);
            for (const HeadFactors& head : heads) {
                for (const CircuitKind kind : {CircuitKind::FullQk, CircuitKind::FullOv}) {
                    const auto sigma = spectra.singularValues(kind, head);
                    if (!sigma)
                        return sigma.error();
                    const auto lambda = spectra.eigenvalues(kind, head.id, &head.weights);
                    if (!lambda)
                        return lambda.error();
                }
            }
            return Done{};
        },
        atOnce);
}

/// A circuit of GPT-2 small's sizes with random directions of rows and columns and log-normal lengths of mean 1.
/// \param decay the i-th number of a direction has a deviation of i^−decay
FactoredMatrix<double> randomCircuit(double sigma, double decay = 0)
{
    constexpr Eigen::Index tokens = 50257, inner = 64;
    std::mt19937_64 random(0);
    const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 1) * 0x1p-53; }; // (0, 1]
    const auto normal = [&] {
        return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    };
    const auto factor = [&] {
        Matrix<double> rows = Matrix<double>::NullaryExpr(tokens, inner, normal);
        for (Eigen::Index i = 0; i < inner; ++i)
            rows.col(i) *= std::pow(i + 1, -decay);
        for (Eigen::Index i = 0; i < tokens; ++i)
            rows.row(i) *= std::exp(sigma * normal() - sigma * sigma / 2) / rows.row(i).norm();
        return rows;
    };
    Matrix<double> left = factor();
    const auto circuit = FactoredMatrix<double>::create(std::move(left), factor().transpose());
    must(circuit);
    return *circuit;
}

/// The four pictures of a newly selected head, without cached results.
void switchHead(const Circuits& circuits, const std::shared_ptr<const TokenSide>& tokens)
{
    SharedSpectra spectra(circuits, tokens, SharedSpectra::Keep::Groups);
    const HeadId head{7, 3};
    const std::vector<int> ids = firstTokens(64);
    must(parallelFor(8, Task{}, "pictures", [&](int i) -> Result<Done> {
        const CircuitKind kind = circuitKinds[static_cast<std::size_t>(i % 4)];
        if (i >= 4) {
            const auto sigma = spectra.singularValues(kind, HeadFactors(circuits.weights(), head));
            return sigma ? Result<Done>(Done{}) : sigma.error();
        }
        const auto picture = isFull(kind) ? circuitBlock(circuits, tokens.get(), {kind, head}, ids, ids)
                                          : wholeCircuit(circuits, {kind, head});
        return picture ? Result<Done>(Done{}) : picture.error();
    }));
}

std::shared_ptr<const ProcessedWeights> opened(const std::filesystem::path& folder)
{
    const auto model = loadModel({folder, std::nullopt, {}}, Task{});
    must(model);
    auto plan = planProcessing(**model, {});
    must(plan);
    const auto weights = process(*model, *std::move(plan), Task{});
    must(weights);
    return *weights;
}

/// Scans of a full circuit.
struct ScanSample {
    Matrix<float> rows, cols;
    Matrix<double> exactRows, exactCols; // empty: as they are
    std::vector<bool> none;

    template <typename Scalar>
    explicit ScanSample(const FactoredMatrix<Scalar>& circuit)
        : rows(circuit.left().transpose().template cast<float>())
        , cols(circuit.right().template cast<float>())
    {
        if constexpr (std::is_same_v<Scalar, double>) { // as the tables of an analysis
            exactRows = circuit.left().transpose();
            exactCols = circuit.right();
        }
    }

    double flops() const
    {
        return 2.0 * static_cast<double>(rows.cols()) * static_cast<double>(cols.cols())
            * static_cast<double>(rows.rows());
    }
    /// Returns the share of the products that were left out.
    double run(ScanEnds ends) const
    {
        const auto found = scanRows({{rows, exactRows, none}, {cols, exactCols, none}, 10, ends}, Task{});
        must(found);
        return found->skipped;
    }
};

} // namespace

std::vector<Figure> figures(const Subject& subject, const Limits& limits)
{
    const Circuits circuits(subject.weights);
    const auto tokens = subject.tokens;
    const auto folder = subject.folder;
    const ModelConfig& config = circuits.config();
    const double V = config.dVocabOut, d = config.dModel, r = config.dHead, layers = config.nLayers;
    const double heads = layers * config.nHeads;
    const auto sample = std::make_shared<const ScanSample>(circuits.fullOv<float>({0, 0}, *tokens));
    // The lengths of QK's lines in a trained story model are spread by 0.3 to 0.8, those of OV's by 0.3 to 0.5.
    const auto trained = std::make_shared<const ScanSample>(randomCircuit(0.6, 0.5));
    const auto cached =
        std::make_shared<const FactoredMatrix<float>>(circuits.fullOv<float>({0, 0}, *tokens));
    const auto spread = std::make_shared<const FactoredMatrix<double>>(randomCircuit(0.25));
    const auto alike = std::make_shared<const FactoredMatrix<double>>(randomCircuit(0));
    const double entriesFlops = 2.0 * 50257 * 50257 * 64; // of both
    const double pairs = heads * (heads - config.nHeads) / 2;
    const double ofVectors = 2 * heads * (16 * d * r * r + 30 * r * r * r) / limits.dgemm;
    const double ofFullCircuits = heads * 10 * d * d * r / limits.dgemm;
    const double ofTokens = 4 * V * d * d / limits.dgemm;
    const double ofPairs = pairs * 6 * r * r * d / limits.sgemm;
    const auto scanned = [&](const char* name, const char* formula,
                             const std::shared_ptr<const ScanSample>& scan, ScanEnds ends) {
        const auto leftOut = std::make_shared<double>(0);
        return Figure{name,
                      formula,
                      scan->flops() / limits.sgemm,
                      ends == ScanEnds::Largest ? 1.2 : 2,
                      0,
                      [=] { *leftOut = scan->run(ends); },
                      {},
                      leftOut};
    };
    return {
        {"all heads: U, S, V of QK and OV", "2 heads (16 d r² + 30 r³) flop / dgemm", ofVectors, 2.2,
         subject.promised(1, 0), [=] { allSpectra(circuits); }},
        {"all heads: singular values of QK and OV", "2 heads (4 d r² + 7 r³) flop / dgemm",
         2 * heads * (4 * d * r * r + 7 * r * r * r) / limits.dgemm, 2, subject.promised(1, 0),
         [=] { allSingularValues(circuits); }},
        {"all heads: full circuits, sigma and lambda", "heads · 10 d² r flop / dgemm", ofFullCircuits, 2,
         subject.promised(3, 0), [=] { allFullSpectra(circuits, tokens); }},
        {"token side with Gram products", "4 V d² flop / dgemm, of which tied embeddings need a quarter",
         ofTokens, 0.9, 0, [=] { must(tokenSide(circuits, Embedding::Raw, Task{})); }},
        scanned("tables of a head", "2 V² r flop / sgemm, for both ends of rows and the largest of columns",
                sample, ScanEnds::BothAndColumns),
        scanned("top 10 of every row of a head", "2 V² r flop / sgemm", sample, ScanEnds::Largest),
        scanned("tables of a trained-like head",
                "2 V² r flop / sgemm, V 50257, r 64, σ as 1/i, norms spread by 0.6", trained,
                ScanEnds::BothAndColumns),
        scanned("top 10 of every row of a trained-like head", "likewise", trained, ScanEnds::Largest),
        {"largest 1000 entries, norms spread by 0.25", "2 V² r flop / sgemm, V 50257, r 64",
         entriesFlops / limits.sgemm, 1.1, 1.5,
         [=] { must(largestEntries(*spread, {.count = 1000}, Task{})); }},
        {"largest 1000 entries, all norms alike", "2 V² r flop / sgemm, V 50257, r 64, nothing to prune",
         entriesFlops / limits.sgemm, 3, 0, [=] { must(largestEntries(*alike, {.count = 1000}, Task{})); }},
        {"one token's row, factors at hand", "V r 4 bytes / bandwidth", V * r * 4 / limits.bandwidth, 6,
         subject.promised(0.05, 0), [=] { (void)ends(cached->row(42).cast<double>(), 10, {}); }},
        {"one token's row, nothing at hand", "V d 4 bytes / bandwidth", V * d * 4 / limits.bandwidth, 8,
         subject.promised(0.15, 0),
         [=] {
             must(tokenLine(circuits, *tokens, {CircuitKind::FullOv, {3, 1}}, TableSide::Row, 42));
         }},
        {"head switch: four pictures and spectra", "2 · 2 d² r + 12 d² r flop / dgemm",
         16 * d * d * r / limits.dgemm, 5, subject.promised(0.1, 0.2), [=] { switchHead(circuits, tokens); }},
        {"open and process the checkpoint", "V d 4 bytes / bandwidth (one pass over W_U)",
         V * d * 4 / limits.bandwidth, 15, subject.promised(0.3, 1), [=] { (void)opened(folder); }},
        {"open to the first heatmap", "V d 4 bytes / bandwidth (one pass over W_U)",
         V * d * 4 / limits.bandwidth, 15, 1,
         [=] {
             must(wholeCircuit(Circuits(opened(folder)), {CircuitKind::Qk, {0, 0}}));
         }},
        {"Q-, K- and V-composition of all pairs", "3 · 2 r² d flop a pair / sgemm", ofPairs, 0.9,
         subject.promised(3, 0),
         [=] {
             must(runAnalyses(circuits, std::vector<const Analysis*>{findAnalysis("composition")}, {},
                              Task{}));
         }},
        {"the defaults of analyze, from the file on",
         "U, S, V, full circuits, composition and a quarter of the token side, each as above",
         ofVectors + ofFullCircuits + ofPairs + ofTokens / 4, subject.promised(2.5, 1.5), 0,
         [=] {
             must(runAnalyses(Circuits(opened(folder)), defaultAnalyses(circuits.config(), {}), {}, Task{}));
         }},
    };
}

} // namespace headwise::bench
