#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/tokens/diagonal_sample.h"
#include "core/analysis/tokens/entry_ranks.h"
#include "core/analysis/tokens/token_factors.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace headwise {

namespace {

constexpr std::array<int, 3> tops{1, 5, 10};

/// The matrix in which the diagonal entries are ranked.
struct Reading {
    const char* name;
    const char* title;
    const char* circuit; // in definitions
    const char* counted; // the rank of token t
};

constexpr std::array<Reading, 3> readings{{
    {"ov", "of full OV", "E W_V W_O W_U", "#{j : M[t,j] > M[t,t]}"},
    {"negative_ov", "of −full OV", "E W_V W_O W_U", "#{j : M[t,j] < M[t,t]}"},
    {"qk", "of full QK", "E W_Q W_Kᵀ Eᵀ", "#{j : M[t,j] > M[t,t]}"},
}};
constexpr std::array<std::size_t, 2> diagonalReadings{
    0, 2}; // readings with numbers per token; −full OV mirrors full OV

std::string diagonalRanksAt(const std::string& name)
{
    return "analyses/diagonal_ranks/" + name;
}

std::vector<ArraySpec> diagonalRanksArrays()
{
    std::vector<ArraySpec> all;
    for (const auto& [name, title, circuit, counted] : readings) {
        const std::string start = diagonalRanksAt(name);
        const std::string rank =
            std::string("rank of token t = ") + counted + ", M = " + circuit + ", over the tokens of sample";
        for (const int most : tops)
            all.push_back({.path = fmt::format("{}_top{}", start, most),
                           .axes = headAxes(),
                           .title = fmt::format("Tokens in their own top {} {}", most, title),
                           .definition = fmt::format("share of tokens with rank < {}; {}", most, rank),
                           .range = {{0.0, 1.0}}});
        all.push_back({start + "_median_rank", headAxes(),
                       std::string("Median rank of the token itself ") + title, "median; " + rank});
        all.push_back(
            {.path = start + "_histogram",
             .axes = headAxes({Axis::RankBin}),
             .title = std::string("Ranks of the token itself ") + title,
             .definition =
                 "how many tokens have a rank in each bin, 0 · 1–2 · 3–6 · 7–14 · …, bin b from 2^b − 1 on; "
                 + rank,
             .unit = "tokens"});
    }
    for (const std::size_t i : diagonalReadings)
        all.push_back({.path = diagonalRanksAt(readings[i].name) + "_diagonal",
                       .axes = headAxes({Axis::Place}),
                       .title = std::string("Diagonal ") + readings[i].title,
                       .definition = std::string("M[t,t] − mean over j of M[t,j], M = ") + readings[i].circuit
                           + ", over the tokens of sample",
                       .unit = i == 0 ? "logits" : ""});
    all.push_back({diagonalRanksAt("bin_start"), {Axis::RankBin}, "First rank of each bin", "2^b − 1"});
    all.push_back({.path = diagonalRanksAt("null_histogram"),
                   .axes = {Axis::RankBin},
                   .title = "Ranks by chance",
                   .definition = "how many tokens of the sample each bin has if every rank is equally likely",
                   .unit = "tokens"});
    all.push_back(
        {.path = diagonalRanksAt("sample"),
         .axes = {Axis::Place},
         .title = "Tokens looked at",
         .definition = DiagonalSample::definition() + "; ids without a token are neither drawn nor ranked",
         .unit = "token",
         .type = NumberType::Whole});
    return all;
}

/// Returns the bin of a rank: 0 · 1–2 · 3–6 · 7–14 · … Bin b begins at 2ᵇ − 1.
std::size_t binOf(int rank)
{
    return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(rank) + 1) - 1);
}

/// Statistics of the ranks in one reading, per head.
struct RankStatistics {
    std::vector<RealNumbers> top;
    RealNumbers median, histogram;
    RealNumbers diagonal; // a number per token of the sample; not of −full OV

    RankStatistics(const ModelConfig& config, std::size_t bins, std::size_t sample)
        : top(tops.size(), RealNumbers::perHead(config))
        , median(top.front())
        , histogram(RealNumbers::perHead(config, bins))
        , diagonal(RealNumbers::perHead(config, sample))
    {
    }

    void set(HeadId head, std::vector<int> ranks)
    {
        const auto count = static_cast<double>(ranks.size());
        for (std::size_t i = 0; i < tops.size(); ++i) {
            const auto hits =
                std::count_if(ranks.begin(), ranks.end(), [&](int rank) { return rank < tops[i]; });
            top[i].set(head, static_cast<double>(hits) / count);
        }
        std::sort(ranks.begin(), ranks.end());
        const std::size_t half = ranks.size() / 2;
        median.set(head, ranks.size() % 2 == 1 ? ranks[half] : (ranks[half - 1] + ranks[half]) / 2.0);
        const std::span<double> bins = histogram.of(head);
        std::fill(bins.begin(), bins.end(), 0.0);
        for (const int rank : ranks)
            bins[binOf(rank)] += 1;
    }
};

std::vector<int> counts(const std::vector<EntryRank>& ranks, int EntryRank::*which)
{
    std::vector<int> out(ranks.size());
    std::transform(ranks.begin(), ranks.end(), out.begin(),
                   [which](const EntryRank& rank) { return rank.*which; });
    return out;
}

using Statistics = std::vector<RankStatistics>;

/// M[t,t] less the mean of its row, for the tokens of the sample. \param rows [r, n] \param cols [r, V], M = rowsᵀ cols
std::vector<double> centredDiagonal(const Matrix<double>& rows, const Matrix<double>& cols,
                                    const DiagonalSample& sample)
{
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(cols.rows());
    for (Eigen::Index j = 0; j < cols.cols(); ++j) {
        if (sample.unused.empty() || !sample.unused[static_cast<std::size_t>(j)])
            mean += cols.col(j);
    }
    mean /= sample.among;
    std::vector<double> out;
    for (std::size_t i = 0; i < sample.ids.size(); ++i)
        out.push_back(rows.col(static_cast<Eigen::Index>(i)).dot(cols.col(sample.ids[i]) - mean));
    return out;
}

Result<Done> rankHead(const AnalysisContext& context, const DiagonalSample& sample, HeadId head,
                      Statistics& statistics, const Task& task)
{
    const TokenSide& tokens = *context.tokens;
    const HeadWeights<double> weights = context.circuits.weights().head<double>(head);
    const Matrix<double> x = tokens.embeddingOf(head.layer).of<double>(sample.ids);
    for (const bool isQk : {false, true}) {
        const Matrix<double> rows = (x * (isQk ? weights.W_Q : weights.W_V)).transpose();
        const auto cols = isQk ? timesTokens(weights.W_K.transpose(), tokens.embeddingOf(head.layer), task)
                               : timesTokens(weights.W_O, tokens.W_U, task);
        if (!cols)
            return cols.error();
        const auto ranks = entryRanks({rows, RankColumns(*cols, sample.unused), sample.ids}, task);
        if (!ranks)
            return ranks.error();
        if (rows.isZero(0) || cols->isZero(0))
            continue; // scores of a zero circuit are NaN
        statistics[isQk ? 2 : 0].set(head, counts(*ranks, &EntryRank::above));
        statistics[isQk ? 2 : 0].diagonal.set(head, centredDiagonal(rows, *cols, sample));
        if (!isQk)
            statistics[1].set(head, counts(*ranks, &EntryRank::below));
    }
    return Done{};
}

void putStatistics(Results& results, const RankStatistics& statistics, const Reading& reading,
                   const DiagonalSample& sample)
{
    const auto n = static_cast<double>(sample.ids.size());
    const std::string start = diagonalRanksAt(reading.name);
    for (std::size_t i = 0; i < tops.size(); ++i) {
        ResultArray& array = results.put(fmt::format("{}_top{}", start, tops[i]), statistics.top[i]);
        const double p = std::min(1.0, tops[i] / sample.among);
        array.nullMean = p;
        array.nullDeviation = std::sqrt(p * (1 - p) / n);
    }
    ResultArray& median = results.put(start + "_median_rank", statistics.median);
    median.range = {0.0, sample.among - 1};
    median.nullMean = (sample.among - 1) / 2;
    median.nullDeviation = sample.among / (2 * std::sqrt(n + 2)); // of the median of n even numbers
    results.put(start + "_histogram", statistics.histogram);
}

/// Puts the bin starts, the counts expected from uniform ranks, and the sample.
void putSample(Results& results, const DiagonalSample& sample, std::size_t bins)
{
    std::vector<double> starts, expected;
    for (std::size_t bin = 0; bin < bins; ++bin) {
        const double first = std::exp2(static_cast<double>(bin)) - 1;
        const double end = std::min(2 * first + 1, sample.among);
        starts.push_back(first);
        expected.push_back(static_cast<double>(sample.ids.size()) * (end - first) / sample.among);
    }
    results.put(diagonalRanksAt("bin_start"), std::move(starts));
    results.put(diagonalRanksAt("null_histogram"), std::move(expected));
    results.put(diagonalRanksAt("sample"), sample.ids);
}

Result<ResultSet> runDiagonalRanks(const AnalysisContext& context, const Task& task)
{
    const DiagonalSample sample(context);
    Results results = resultsOf(context, diagonalRanksArrays());
    if (sample.ids.empty()) {
        results.warn("Diagonal ranks were skipped because no id of this model has a token.");
        return std::move(results).finish();
    }
    const std::size_t bins = binOf(static_cast<int>(sample.among) - 1) + 1;
    Statistics statistics(readings.size(),
                          RankStatistics(context.circuits.config(), bins, sample.ids.size()));
    const auto done = forEachHead(context, task, "diagonal ranks", [&](HeadId head) {
        return rankHead(context, sample, head, statistics, withoutProgress(task));
    });
    if (!done)
        return done.error();
    results.warn(*done);
    for (std::size_t i = 0; i < readings.size(); ++i)
        putStatistics(results, statistics[i], readings[i], sample);
    for (const std::size_t i : diagonalReadings)
        results.put(diagonalRanksAt(readings[i].name) + "_diagonal", statistics[i].diagonal).nullMean =
            0.0; // the mean of a row is
    putSample(results, sample, bins);
    sample.describe(results);
    return std::move(results).finish();
}

AnalysisCost diagonalRanksCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double V = config.dVocab;
    const double r = config.dHead;
    const double n = std::min(V, static_cast<double>(DiagonalSample::largest));
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {heads * 2 * (2 * V * config.dModel * r + 2 * n * r * (V + config.dModel)),
            12 * r * V + 8 * n * (config.dModel + 1.0) + heads * (3 * 24 + 2 * n) * 8};
}

} // namespace

Analysis diagonalRanksAnalysis()
{
    using Kind = Picture::Kind;
    return {
        .id = "diagonal_ranks",
        .number = "B3",
        .title = "Ranks of the token itself",
        .formula = "rank of t = #{j : M[t,j] > M[t,t]}, M = E W_V W_O W_U, its negative, E W_Q W_Kᵀ Eᵀ",
        .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"",
        .needsTokens = true,
        .whyNot = whyNoDiagonal,
        .cost = diagonalRanksCost,
        .run = runDiagonalRanks,
        .arrays = diagonalRanksArrays(),
        .pictures =
            {
                {.kind = Kind::HeadGrid,
                 .title = "Tokens among their own ten most promoted, suppressed and attended",
                 .arrays = {"analyses/diagonal_ranks/ov_top10", "analyses/diagonal_ranks/negative_ov_top10",
                            "analyses/diagonal_ranks/qk_top10"},
                 .signedColors = false,
                 .note =
                     "From a sample of at most 2048 tokens, drawn by their counts if known. Random baseline: 10/V."},
                {.kind = Kind::HeadGrid,
                 .title = "Tokens that are their own most promoted, suppressed or attended",
                 .arrays = {"analyses/diagonal_ranks/ov_top1", "analyses/diagonal_ranks/negative_ov_top1",
                            "analyses/diagonal_ranks/qk_top1"},
                 .signedColors = false,
                 .note = "Random baseline: 1/V."},
                {.kind = Kind::HeadGrid,
                 .title = "Median rank of the token itself",
                 .arrays = {"analyses/diagonal_ranks/ov_median_rank",
                            "analyses/diagonal_ranks/negative_ov_median_rank",
                            "analyses/diagonal_ranks/qk_median_rank"},
                 .signedColors = false,
                 .note = "0: at least half of the tokens rank first. Random baseline: (V − 1)/2."},
                {.kind = Kind::Bars,
                 .title = "Ranks of the token itself, selected head",
                 .arrays = {"analyses/diagonal_ranks/ov_histogram",
                            "analyses/diagonal_ranks/negative_ov_histogram",
                            "analyses/diagonal_ranks/qk_histogram", "analyses/diagonal_ranks/null_histogram"},
                 .note = "Bin b holds the ranks from 2^b − 1 on; the null is a random order."},
                {.kind = Kind::Points,
                 .title = "Diagonal of full OV, token by token",
                 .arrays = {"analyses/diagonal_ranks/sample", "analyses/diagonal_ranks/ov_diagonal"},
                 .note =
                     "Effect of attending to a token on its own logit, minus the mean effect on all logits. x: token id."},
                {.kind = Kind::Points,
                 .title = "Diagonal of full QK, token by token",
                 .arrays = {"analyses/diagonal_ranks/sample", "analyses/diagonal_ranks/qk_diagonal"},
                 .note = "Score of a token with itself, minus its mean over all keys. x: token id."},
                {.kind = Kind::HeadPlane,
                 .title = "Attends to the same token, copies it",
                 .arrays = {"analyses/diagonal_ranks/qk_top10", "analyses/diagonal_ranks/ov_top10"},
                 .note = "One point per head."},
            },
        .followsFilter = true,
        .uses = {.tokenCounts = true}};
}

} // namespace headwise
