#include "core/analysis/position/rotary_tables.h"

#include "core/analysis/position/head_ends.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/base/parallel.h"
#include "core/model/families/attention_parts.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>

namespace headwise {

namespace {

constexpr std::size_t headsAtOnce = 32;
constexpr Eigen::Index rotaryTablesTokensPerBlock = 1024;
const std::string rotaryTablesFolder = "analyses/rotary/";
constexpr std::array<int, 6> offsets{0, 1, 2, 4, 16, 64};

std::vector<int> offsetsOf(const ModelConfig& config)
{
    std::vector<int> shown;
    for (const int offset : offsets)
        if (offset < config.nCtx)
            shown.push_back(offset);
    return shown;
}

/// Returns the rotated query at every offset, mapped to the residual stream, [d, offsets]. Its product with e_j is the score.
Matrix<double> seekers(const ProcessedWeights& weights, HeadId head, const RowVector<double>& query,
                       const std::vector<int>& shown)
{
    const FoldedHead h = foldedHead(weights, head);
    const Rotation rotation(weights.config().rotaryOf(head.layer));
    const RowVector<double> q = query * h.W_Q;
    Matrix<double> out(h.W_K.rows(), static_cast<Eigen::Index>(shown.size()));
    for (std::size_t i = 0; i < shown.size(); ++i)
        out.col(static_cast<Eigen::Index>(i)) = h.W_K * rotation.turned(q, shown[i]).transpose();
    return out;
}

/// E · seekers, [V, columns], in float32 unless F64 was asked.
Result<Matrix<double>> scoresOfAll(const TokenMatrix& E, const Matrix<double>& sought, Precision precision,
                                   const Task& task)
{
    Matrix<double> scores(E.count(), sought.cols());
    const Matrix<float> rounded = precision == Precision::F64 ? Matrix<float>() : sought.cast<float>().eval();
    const auto blocks =
        static_cast<int>((E.count() + rotaryTablesTokensPerBlock - 1) / rotaryTablesTokensPerBlock);
    const auto done = parallelFor(blocks, withoutProgress(task), "keys", [&](int block) -> Result<Done> {
        const Eigen::Index first = block * rotaryTablesTokensPerBlock;
        const Eigen::Index count = std::min(rotaryTablesTokensPerBlock, E.count() - first);
        if (precision == Precision::F64) {
            scores.middleRows(first, count) = *E.block<double>(first, count) * sought;
        } else {
            const Matrix<float> product = *E.block<float>(first, count) * rounded;
            scores.middleRows(first, count) = product.cast<double>();
        }
        return Done{};
    });
    if (!done)
        return done.error();
    return scores;
}

struct Tables {
    HeadEnds ends;
    RealNumbers mean, deviation; // [L, H, offsets] over all keys in use

    Tables(const ModelConfig& config, std::size_t count, int k)
        : ends(EntryLists::perHead(config, count, k))
        , mean(RealNumbers::perHead(config, count))
        , deviation(mean)
    {
    }
};

void setRotaryTablesHead(Tables& tables, const AnalysisContext& context, HeadId head,
                         const Matrix<double>& scores)
{
    const AnalysisOptions& options = context.options;
    for (Eigen::Index offset = 0; offset < scores.cols(); ++offset) {
        const RowVector<double> row = scores.col(offset).transpose();
        tables.ends.set(head, ends(row, options.tableSize, options.unusedTokens),
                        static_cast<std::size_t>(offset));
        const LineStatistics statistics = lineStatistics(row, options.unusedTokens);
        tables.mean.of(head)[static_cast<std::size_t>(offset)] = statistics.mean;
        tables.deviation.of(head)[static_cast<std::size_t>(offset)] = statistics.deviation;
    }
}

void putTables(const AnalysisContext& context, const std::vector<int>& shown, const Tables& tables,
               Results& results)
{
    const std::size_t first = results.arrays().size();
    tables.ends.put(results, rotaryTablesFolder, "key_");
    results.put(rotaryTablesFolder + "key_score_null_mean", tables.mean);
    results.put(rotaryTablesFolder + "key_score_null_deviation", tables.deviation);
    for (std::size_t i = first; i < results.arrays().size(); ++i) {
        auto& attributes = results.arrays()[i].attributes;
        attributes["embedding"] = std::string(embeddingName(context.options.embedding));
        attributes["token"] = static_cast<double>(*context.options.inputs.token);
    }
    results.put(rotaryTablesFolder + "key_offsets", shown);
}

} // namespace

Result<Done> checkToken(const TokenSide& tokens, std::optional<int> token)
{
    if (!token || (*token >= 0 && *token < tokens.E.count()))
        return Done{};
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("There is no token {}: the ids of this model are 0 to {}.", *token,
                             tokens.E.count() - 1)};
}

std::vector<ArraySpec> rotaryTableArrays()
{
    const std::string formula = "e_q W_Q R_Δ W_Kᵀ e_jᵀ, q = the requested token, by offset Δ";
    const std::vector<ArrayAxis> axes = headAxes({Axis::Offset});
    std::vector<ArraySpec> all =
        headEndsArrays(rotaryTablesFolder, {"key_", {Axis::Offset}, "keys", formula});
    all.push_back({rotaryTablesFolder + "key_score_null_mean", axes, "Mean over all keys",
                   "mean over the tokens j in use of " + formula});
    all.push_back({rotaryTablesFolder + "key_score_null_deviation", axes, "Deviation over all keys",
                   "deviation over the tokens j in use of " + formula});
    all.push_back(idsAlong(Axis::Offset, rotaryTablesFolder + "key_offsets", "Offsets of the tables", ""));
    for (ArraySpec& spec : all)
        spec.condition = "with --token";
    return all;
}

Result<Done> putRotaryTables(const AnalysisContext& context, const TokenSide& tokens, const Task& task,
                             Results& results)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<int> shown = offsetsOf(config);
    const auto width = static_cast<Eigen::Index>(shown.size());
    Tables tables(config, shown.size(), context.options.tableSize);
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    for (std::size_t first = 0; first < heads.size();) {
        // Heads of layer 0 may read different rows from those of later layers.
        std::size_t end = first + 1;
        while (end < heads.size() && end - first < headsAtOnce
               && (heads[end].layer == 0) == (heads[first].layer == 0))
            ++end;
        const TokenMatrix& E = tokens.embeddingOf(heads[first].layer);
        const RowVector<double> query = E.vector(*context.options.inputs.token);
        Matrix<double> sought(config.dModel, static_cast<Eigen::Index>(end - first) * width);
        for (std::size_t i = first; i < end; ++i)
            sought.middleCols(static_cast<Eigen::Index>(i - first) * width, width) =
                seekers(context.circuits.weights(), heads[i], query, shown);
        const auto scores = scoresOfAll(E, sought, context.options.precision, task);
        if (!scores)
            return scores.error();
        for (std::size_t i = first; i < end; ++i)
            setRotaryTablesHead(tables, context, heads[i],
                                scores->middleCols(static_cast<Eigen::Index>(i - first) * width, width));
        first = end;
    }
    putTables(context, shown, tables, results);
    return Done{};
}

Result<RowVector<double>> rotaryTokenLine(const Circuits& circuits, const TokenSide& tokens, HeadId head,
                                          int token, int offset)
{
    if (circuits.config().positional != Positional::Rotary)
        return Error{ErrorCode::InvalidArgument,
                     "Scores of tokens at an offset need rotary positions, which this model does not have."};
    if (!circuits.contains(head) || token < 0 || token >= tokens.E.count() || offset < 0)
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("There is no score of head {}, token {} at offset {} in this model.",
                                 dottedHead(head), token, offset)};
    const TokenMatrix& E = tokens.embeddingOf(head.layer);
    const RowVector<double> query = E.vector(token);
    const Matrix<double> sought = seekers(circuits.weights(), head, query, {offset});
    RowVector<double> scores(E.count());
    for (Eigen::Index first = 0; first < E.count(); first += rotaryTablesTokensPerBlock) {
        const Eigen::Index count = std::min(rotaryTablesTokensPerBlock, E.count() - first);
        scores.segment(first, count) = (*E.block<double>(first, count) * sought).transpose();
    }
    return scores;
}

AnalysisCost rotaryTablesCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double V = config.dVocab, d = config.dModel;
    const double width = static_cast<double>(offsets.size());
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    return {2 * heads * width * V * d,
            8 * V * width * headsAtOnce + all * width * 24 * options.tableSize
                + rotaryTablesTokensPerBlock * d * 24};
}

} // namespace headwise
