#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/results/picture_of.h"

#include "core/base/decompositions.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace headwise {

namespace {

constexpr int mostBands = 20;
constexpr const char* bandsFolder = "analyses/bands/";

/// The eigenvectors of a Gram matrix of tokens by falling eigenvalue, cut into bands of about equal width.
/// Eigenvectors with equal eigenvalues, above all those of the null space, have no order. They form a span.
struct Bands {
    Matrix<double> vectors;          // [d, d]
    std::vector<double> energies;    // [bands] share of the Gram matrix's trace
    std::vector<Eigen::Index> ends;  // [bands] one past the last vector
    std::vector<Eigen::Index> spans; // [d] first vector of the span that a vector belongs to
    Eigen::Index rank = 0;           // vectors outside the null space

    static int count(int dModel) { return std::min(mostBands, dModel); }

    static Result<Bands> create(const Matrix<double>& gram)
    {
        Result<SymmetricEigen> eigen = symmetricEigen(gram);
        if (!eigen)
            return eigen.error();
        const Eigen::Index d = gram.rows();
        const int bands = count(static_cast<int>(d));
        Bands out{eigen->vectors.rowwise().reverse(), {}, {}, {}, 0};
        const Eigen::VectorXd values = eigen->values.reverse().cwiseMax(0);
        out.findSpans(values);
        for (int band = 0; band < bands; ++band)
            out.ends.push_back(d * (band + 1) / bands);
        out.energies = out.shares(values);
        return out;
    }

    Eigen::Index begin(std::size_t band) const { return band == 0 ? 0 : ends[band - 1]; }
    /// Returns the first vector of the last band, or of the span that the band would cut.
    Eigen::Index tail() const { return spans[static_cast<std::size_t>(begin(ends.size() - 1))]; }

    /// Returns the share of the sum in each band; NaN if the sum is 0. \param perVector [d], not negative
    std::vector<double> shares(const Eigen::VectorXd& perVector) const
    {
        std::vector<double> out;
        const double all = perVector.sum();
        const Eigen::VectorXd even = evened(perVector);
        for (std::size_t band = 0; band < ends.size(); ++band)
            out.push_back(even.segment(begin(band), ends[band] - begin(band)).sum() / all);
        return out;
    }

    /// ‖m v‖² of every vector v and m = A B. \param B [r, d] \param gramA AᵀA, [r, r]
    Eigen::VectorXd squaresOf(const Matrix<double>& gramA, const Matrix<double>& B) const
    {
        const Matrix<double> inside = B * vectors; // [r, d]
        const Matrix<double> weighted = gramA * inside;
        return weighted.cwiseProduct(inside).colwise().sum().transpose().cwiseMax(0);
    }

private:
    /// \param values falling
    void findSpans(const Eigen::VectorXd& values)
    {
        const double unit =
            static_cast<double>(values.size()) * double(std::numeric_limits<float>::epsilon());
        const double smallest = unit * unit * values(0);
        rank = (values.array() > smallest).count();
        spans.push_back(0);
        for (Eigen::Index i = 1; i < values.size(); ++i) {
            const bool isTied = i > rank || (i < rank && values(i - 1) - values(i) <= unit * values(i - 1));
            spans.push_back(isTied ? spans.back() : i);
        }
    }

    /// Returns the mean over the span of each vector.
    Eigen::VectorXd evened(const Eigen::VectorXd& perVector) const
    {
        Eigen::VectorXd out(perVector.size());
        for (Eigen::Index first = 0, end = 0; first < out.size(); first = end) {
            while (end < out.size() && spans[static_cast<std::size_t>(end)] == first)
                ++end;
            out.segment(first, end - first).setConstant(perVector.segment(first, end - first).mean());
        }
        return out;
    }
};

enum Way { OvWrite, OvRead, QkQuery, QkKey };
struct WayName {
    const char* name;
    const char* title;
    const char* formula;
};
constexpr std::array<WayName, 4> ways{{
    {"ov_write", "Where OV writes, by band of W_U",
     "‖W_OV P_b‖²_F / ‖W_OV‖²_F, P_b = projector on band b of the eigenvectors of W_U W_Uᵀ by falling eigenvalue"},
    {"ov_read", "Where OV reads, by band of E",
     "‖P_b W_OV‖²_F / ‖W_OV‖²_F, P_b = projector on band b of the eigenvectors of Eᵀ E by falling eigenvalue"},
    {"qk_query", "Where QK reads queries, by band of E",
     "‖P_b W_QK‖²_F / ‖W_QK‖²_F, P_b = projector on band b of the eigenvectors of Eᵀ E by falling eigenvalue"},
    {"qk_key", "Where QK reads keys, by band of E",
     "‖W_QK P_b‖²_F / ‖W_QK‖²_F, P_b = projector on band b of the eigenvectors of Eᵀ E by falling eigenvalue"},
}};

struct TokenBands {
    Bands unembedding, embedding;
    std::optional<Bands> layer0; // where E is another there

    const Bands& embeddingOf(int layer) const { return layer == 0 && layer0 ? *layer0 : embedding; }

    static Result<TokenBands> create(const TokenSide& tokens)
    {
        auto unembedding = Bands::create(tokens.UUt);
        if (!unembedding)
            return unembedding.error();
        auto embedding = Bands::create(tokens.EtE);
        if (!embedding)
            return embedding.error();
        TokenBands out{std::move(unembedding).value(), std::move(embedding).value(), std::nullopt};
        if (tokens.isLayer0Special(0)) {
            auto layer0 = Bands::create(tokens.layer0EtE);
            if (!layer0)
                return layer0.error();
            out.layer0 = std::move(layer0).value();
        }
        return out;
    }
};

constexpr const char* bandsSpans =
    "; eigenvectors of one span, whose eigenvalues are 0 (λ ≤ (d_model ε)² λ₁, ε = 2^-23) or differ by ≤ d_model ε λ, count as their mean";

std::vector<ArraySpec> bandsArrays()
{
    const std::string folder = bandsFolder;
    std::vector<ArraySpec> all;
    for (const WayName& way : ways)
        all.push_back(
            {folder + way.name, headAxes({Axis::Band}), way.title, std::string(way.formula) + bandsSpans});
    all.push_back({folder + "null",
                   {Axis::Band},
                   "Share of a head without preference",
                   "width of band b over d_model"});
    all.push_back({folder + "unembedding",
                   {Axis::Band},
                   "Share of W_U, by band",
                   "eigenvalues of W_U W_Uᵀ in band b over their sum"});
    all.push_back({folder + "embedding",
                   {Axis::Band},
                   "Share of E, by band",
                   "eigenvalues of Eᵀ E in band b over their sum"});
    all.push_back(
        {folder + "dark_writing", headAxes(), "Dark writing",
         "‖W_OV P‖²_F / ‖W_OV‖²_F, P = projector on the last band of the eigenvectors of W_U W_Uᵀ by falling eigenvalue, and on the rest of the span (as for bands/ov_write) that the band would cut: on the whole null space where that is wider"});
    for (ArraySpec& spec : all)
        spec.range = {0.0, 1.0};
    return all;
}

void putBands(Results& results, const AnalysisContext& context, const std::vector<RealNumbers>& shares,
              const TokenBands& bands)
{
    const std::string folder = bandsFolder;
    const auto count = static_cast<std::size_t>(Bands::count(context.circuits.config().dModel));
    for (std::size_t way = 0; way < ways.size(); ++way) {
        ResultArray& array = results.put(folder + ways[way].name, shares[way]);
        array.nullMean = 1 / static_cast<double>(count);
        if (way != OvWrite)
            array.attributes["embedding"] = std::string(embeddingName(context.options.embedding));
    }
    std::vector<double> widths;
    for (std::size_t band = 0; band < count; ++band)
        widths.push_back(static_cast<double>(bands.embedding.ends[band] - bands.embedding.begin(band))
                         / static_cast<double>(context.circuits.config().dModel));
    results.put(folder + "null", std::move(widths));
    results.put(folder + "unembedding", bands.unembedding.energies);
    results.put(folder + "embedding", bands.embedding.energies);
}

/// Puts one number per head: the share that the unembedding hardly reads.
void putTail(Results& results, const AnalysisContext& context, RealNumbers tail, const Bands& bands)
{
    const ModelConfig& config = context.circuits.config();
    ResultArray& array = results.put(bandsFolder + std::string("dark_writing"), std::move(tail));
    const double d = config.dModel;
    const double width = d - static_cast<double>(bands.tail());
    array.attributes["directions"] = width;
    array.nullMean = width / d;
    array.nullDeviation =
        std::sqrt(2 * width * (d - width) / (d * d * d * config.dHead)); // Beta, r directions
}

/// Says where a null space is wider than a band, so that the last bands have no directions of their own.
void warnOfSpans(Results& results, const char* matrix, const Bands& bands)
{
    const auto d = static_cast<Eigen::Index>(bands.spans.size());
    if (bands.rank >= bands.begin(bands.ends.size() - 1))
        return;
    results.warn(fmt::format(
        "{0} has rank {1} of {2}: its other {3} directions have no order, so the bands over {0} divide them evenly.",
        matrix, bands.rank, d, d - bands.rank));
}

Result<ResultSet> runBands(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const auto bands = TokenBands::create(*context.tokens);
    if (!bands)
        return bands.error();
    std::vector<RealNumbers> shares(ways.size(), RealNumbers::perHead(config, Bands::count(config.dModel)));
    RealNumbers tail = RealNumbers::perHead(config);
    const auto done = forEachHead(context, task, "bands", [&](HeadId head) -> Result<Done> {
        const HeadWeights<double> w = context.circuits.weights().head<double>(head);
        const Bands& embedding = bands->embeddingOf(head.layer);
        const auto put = [&](Way way, const Bands& from, const Matrix<double>& A, const Matrix<double>& B) {
            const Eigen::VectorXd squares = from.squaresOf(A.transpose() * A, B);
            shares[way].set(head, std::span<const double>(from.shares(squares)));
            if (way == OvWrite)
                tail.set(head, squares.tail(squares.size() - from.tail()).sum() / squares.sum());
        };
        if (!w.W_Q.allFinite() || !w.W_K.allFinite() || !w.W_V.allFinite() || !w.W_O.allFinite())
            return Error{ErrorCode::Corrupt, "A weight of head " + dottedHead(head) + " is NaN or infinite."};
        put(OvWrite, bands->unembedding, w.W_V, w.W_O);
        put(OvRead, embedding, w.W_O.transpose(), w.W_V.transpose());
        put(QkQuery, embedding, w.W_K, w.W_Q.transpose());
        put(QkKey, embedding, w.W_Q, w.W_K.transpose());
        return Done{};
    });
    if (!done)
        return done.error();
    Results results = resultsOf(context, bandsArrays());
    results.warn(*done);
    putBands(results, context, shares, *bands);
    putTail(results, context, std::move(tail), bands->unembedding);
    warnOfSpans(results, "W_U", bands->unembedding);
    warnOfSpans(results, "E", bands->embedding);
    return std::move(results).finish();
}

AnalysisCost bandsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {2 * 9 * d * d * d + heads * 4 * (2 * d * d * r + 4 * d * r * r),
            6 * 8 * d * d + heads * 4 * 8 * mostBands};
}

std::vector<Picture> bandsPictures()
{
    using Kind = Picture::Kind;
    const auto ofHeads = [](const char* title, const char* array) {
        Picture map = pictureOf(bandsFolder, Kind::HeadPairs, title, {array},
                                "Each row sums to 1. A head without preference has 1/20 in every band.");
        map.signedColors = false;
        return map;
    };
    return {
        pictureOf(
            bandsFolder, Kind::HeadGrid, "Writing where W_U barely reads", {"dark_writing"},
            "Heads that write into the last band tend to store information rather than promote tokens."),
        ofHeads("Where all heads write, by band of W_U", "ov_write"),
        ofHeads("What OV of all heads reads, by band of E", "ov_read"),
        ofHeads("What queries of all heads read, by band of E", "qk_query"),
        ofHeads("What keys of all heads read, by band of E", "qk_key"),
        pictureOf(bandsFolder, Kind::Bars, "Where OV writes, by band of W_U", {"ov_write", "null"}),
        pictureOf(bandsFolder, Kind::Bars, "Where OV reads, by band of E", {"ov_read", "null"}),
        pictureOf(bandsFolder, Kind::Bars, "Where QK reads, by band of E", {"qk_query", "qk_key", "null"}),
        pictureOf(bandsFolder, Kind::Lines, "Token variance in each band", {"unembedding", "embedding"}),
    };
}

} // namespace

Analysis bandsAnalysis()
{
    return {
        .id = "bands",
        .number = "E8",
        .title = "Bands of the embedding and the unembedding",
        .formula =
            "‖W_OV P_b‖²_F / ‖W_OV‖²_F over 20 bands of the eigenvectors of W_U W_Uᵀ; the same of what is read, over Eᵀ E",
        .citation = "Cancedda 2024, arXiv 2402.09221",
        .needsTokens = true,
        .whyNot = appliesAlways,
        .cost = bandsCost,
        .run = runBands,
        .arrays = bandsArrays(),
        .pictures = bandsPictures()};
}

} // namespace headwise
