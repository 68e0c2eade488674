#include "core/analysis/prompt/logit_lens.h"

#include "core/analysis/entry_lists.h"
#include "core/model/families/layer_parts.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

const std::string logitLensFolder = "analyses/logit_attribution/";
const std::string logitLensLogits = "LN_final(residual stream) W_U + b_U";
constexpr Eigen::Index logitLensUnembedBlock = 4096; // columns of W_U at a time

} // namespace

std::vector<ArraySpec> lensArrays()
{
    const std::string& folder = logitLensFolder;
    const std::string stream = logitLensLogits + " at the last position";
    return {{.path = folder + "lens_tokens",
             .axes = {Axis::Depth, Axis::Rank},
             .title = "Logit lens",
             .definition = "the largest entries of " + stream,
             .unit = "token",
             .type = NumberType::Whole},
            {folder + "lens_logits",
             {Axis::Depth, Axis::Rank},
             "Logits of the lens",
             "the largest entries of " + stream},
            {folder + "lens_rank",
             {Axis::Depth},
             "Rank of the token",
             "place of t among the entries of " + stream + ", 1 = largest"},
            {folder + "lens_logit", {Axis::Depth}, "Logit of the token", "entry t of " + stream},
            {.path = folder + "lens_probability",
             .axes = {Axis::Depth},
             .title = "Probability of the token",
             .definition = "softmax of " + stream + " at t",
             .range = {{0.0, 1.0}}}};
}

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

void addLens(const AnalysisContext& context, const Matrix<double>& logits, int target, Results& results)
{
    const AnalysisOptions& options = context.options;
    const auto depths = static_cast<std::size_t>(logits.rows());
    const auto k = static_cast<std::size_t>(std::min<Eigen::Index>(options.tableSize, logits.cols()));
    EntryLists largest({depths, k});
    std::vector<double> ranks, targetLogits, probabilities;
    std::vector<std::string> labels;
    for (std::size_t depth = 0; depth < depths; ++depth) {
        const RowVector<double> row = logits.row(static_cast<Eigen::Index>(depth));
        largest.set(depth, ends(row, static_cast<int>(k), options.unusedTokens).top);
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
    const auto put = [&](const char* name, auto numbers) -> ResultArray& {
        ResultArray& array = results.put(logitLensFolder + name, std::move(numbers));
        if (cap > 0)
            array.definition.replace(array.definition.find(logitLensLogits), logitLensLogits.size(),
                                     fmt::format("{0:g} · tanh(({1}) / {0:g})", cap, logitLensLogits));
        array.attributes["labels"] = labels;
        return array;
    };
    put("lens_tokens", std::move(largest.ids));
    put("lens_logits", std::move(largest.values));
    put("lens_rank", std::move(ranks)).nullMean = (static_cast<double>(logits.cols()) + 1) / 2;
    put("lens_logit", std::move(targetLogits));
    put("lens_probability", std::move(probabilities)).nullMean = 1.0 / static_cast<double>(logits.cols());
}

} // namespace headwise
