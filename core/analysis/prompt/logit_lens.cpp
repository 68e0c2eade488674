#include "core/analysis/prompt/logit_lens.h"

#include "core/analysis/per_head.h"
#include "core/analysis/prompt/prompt_arrays.h"
#include "core/circuits/token_table.h"
#include "core/model/families/layer_parts.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

const std::string logitLensFolder = "analyses/logit_attribution/";
constexpr Eigen::Index logitLensUnembedBlock = 4096; // columns of W_U at a time

} // namespace

template <typename Scalar>
Result<Matrix<double>> lensLogits(const ProcessedWeights& weights, const ForwardResult<Scalar>& run,
                                  const Task& task)
{
    const ModelConfig& config = weights.config();
    Matrix<Scalar> streams(static_cast<Eigen::Index>(run.residuals.size()), config.dModel);
    for (std::size_t layer = 0; layer < run.residuals.size(); ++layer)
        streams.row(static_cast<Eigen::Index>(layer)) = run.residuals[layer].bottomRows(1);
    const Matrix<Scalar> x = normalized(weights.lnFinal<Scalar>(), streams);
    Matrix<double> logits(x.rows(), config.dVocabOut);
    for (Eigen::Index first = 0; first < config.dVocabOut; first += logitLensUnembedBlock) {
        if (task.cancelled())
            return stopped();
        const Eigen::Index count = std::min<Eigen::Index>(logitLensUnembedBlock, config.dVocabOut - first);
        const Matrix<Scalar> product = x * weights.W_U<Scalar>(first, count);
        logits.middleCols(first, count) = product.template cast<double>();
        logits.middleCols(first, count).rowwise() +=
            weights.b_U<Scalar>(first, count).template cast<double>();
    }
    if (config.outputSoftCap > 0)
        logits = (logits.array() / config.outputSoftCap).tanh() * config.outputSoftCap;
    return logits;
}

template Result<Matrix<double>> lensLogits(const ProcessedWeights&, const ForwardResult<float>&, const Task&);
template Result<Matrix<double>> lensLogits(const ProcessedWeights&, const ForwardResult<double>&,
                                           const Task&);

void addLens(const AnalysisContext& context, const Matrix<double>& logits, int target, ResultSet& results)
{
    const AnalysisOptions& options = context.options;
    const auto depths = static_cast<std::size_t>(logits.rows());
    const auto k = static_cast<std::size_t>(std::min<Eigen::Index>(options.tableSize, logits.cols()));
    std::vector<std::int32_t> ids(depths * k, -1);
    std::vector<double> values(depths * k, std::numeric_limits<double>::quiet_NaN());
    std::vector<double> ranks, targetLogits, probabilities;
    std::vector<std::string> labels;
    for (std::size_t depth = 0; depth < depths; ++depth) {
        const RowVector<double> row = logits.row(static_cast<Eigen::Index>(depth));
        const TokenEnds found = ends(row, static_cast<int>(k), options.unusedTokens);
        for (std::size_t i = 0; i < found.top.size(); ++i) {
            ids[depth * k + i] = found.top[i].id;
            values[depth * k + i] = found.top[i].value;
        }
        double better = 0;
        for (Eigen::Index id = 0; id < row.size(); ++id) {
            const bool isUnused = static_cast<std::size_t>(id) < options.unusedTokens.size()
                && options.unusedTokens[static_cast<std::size_t>(id)];
            better += !isUnused && (row(id) > row(target) || (row(id) == row(target) && id < target));
        }
        ranks.push_back(1 + better);
        targetLogits.push_back(row(target));
        probabilities.push_back(1 / (row.array() - row(target)).exp().sum());
        labels.push_back(depth + 1 == depths ? std::string("after the last layer")
                                             : fmt::format("before layer {}", depth));
    }
    const double cap = context.circuits.config().outputSoftCap;
    const std::string logitsOfStream = "LN_final(residual stream) W_U + b_U";
    const std::string stream =
        (cap > 0 ? fmt::format("{0:g} · tanh(({1}) / {0:g})", cap, logitsOfStream) : logitsOfStream)
        + " at the last position";
    const auto add = [&](ResultArray array, const char* title, std::string definition) {
        array.title = title;
        array.definition = std::move(definition);
        array.attributes["labels"] = labels;
        results.arrays.push_back(std::move(array));
    };
    add(tokenArray(logitLensFolder + "lens_tokens", {depths, k}, std::move(ids), {Axis::Depth, Axis::Rank}),
        "Logit lens", "the largest entries of " + stream);
    add(realArray(options.precision, logitLensFolder + "lens_logits", {depths, k}, std::move(values),
                  {Axis::Depth, Axis::Rank}),
        "Logits of the lens", "the largest entries of " + stream);
    add(realArray(options.precision, logitLensFolder + "lens_rank", {depths}, std::move(ranks),
                  {Axis::Depth}),
        "Rank of the token", "place of t among the entries of " + stream + ", 1 = largest");
    results.arrays.back().nullMean = (static_cast<double>(logits.cols()) + 1) / 2;
    add(realArray(options.precision, logitLensFolder + "lens_logit", {depths}, std::move(targetLogits),
                  {Axis::Depth}),
        "Logit of the token", "entry t of " + stream);
    add(realArray(options.precision, logitLensFolder + "lens_probability", {depths}, std::move(probabilities),
                  {Axis::Depth}),
        "Probability of the token", "softmax of " + stream + " at t");
    results.arrays.back().range = {0.0, 1.0};
    results.arrays.back().nullMean = 1.0 / static_cast<double>(logits.cols());
}

} // namespace headwise
