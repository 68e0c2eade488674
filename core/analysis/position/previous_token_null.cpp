#include "core/analysis/position/previous_token_null.h"

#include "core/base/parallel.h"
#include "core/circuits/random_matrix.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace headwise {

namespace {

const std::string previousTokenNullFolder = "analyses/previous_token/";

bool isAlike(const ModelConfig& config, int one, int other, bool isLayer0Alone)
{
    if (config.attentionSinks || (isLayer0Alone && (one == 0) != (other == 0)))
        return false;
    return config.windowOf(one) == config.windowOf(other) && config.rotaryOf(one) == config.rotaryOf(other)
        && config.attentionScaleOf(one) == config.attentionScaleOf(other);
}

/// A head of this layer, its queries and keys replaced.
HeadWeights<double> randomHead(const ProcessedWeights& weights, int layer, const EntrySquares& squares,
                               std::uint64_t seed)
{
    HeadWeights<double> head = weights.head<double>({layer, 0});
    head.W_Q = std::sqrt(squares.of(Factor::Q)) * gaussianMatrix(head.W_Q.rows(), head.W_Q.cols(), seed);
    head.W_K = std::sqrt(squares.of(Factor::K)) * gaussianMatrix(head.W_K.rows(), head.W_K.cols(), seed + 1);
    head.b_Q.setZero();
    head.b_K.setZero();
    return head;
}

} // namespace

Result<std::vector<HeadNull>>
previousTokenNulls(const AnalysisContext& context, const EntrySquares& squares, bool isLayer0Alone,
                   const std::function<double(HeadId, const HeadWeights<double>&)>& scoreOf, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<int> firsts; // of every kind of layer
    std::vector<std::size_t> kindOf;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const auto same = std::find_if(firsts.begin(), firsts.end(), [&](int first) {
            return isAlike(config, first, layer, isLayer0Alone);
        });
        kindOf.push_back(static_cast<std::size_t>(same - firsts.begin()));
        if (same == firsts.end())
            firsts.push_back(layer);
    }
    std::vector<std::vector<double>> samples(firsts.size(), std::vector<double>(randomHeads));
    const auto done =
        parallelFor(static_cast<int>(firsts.size()) * randomHeads, withoutProgress(task), "random heads",
                    [&](int index) -> Result<Done> {
                        const auto kind = static_cast<std::size_t>(index / randomHeads);
                        const int sample = index % randomHeads;
                        const std::uint64_t seed =
                            context.options.inputs.seed + 2 * static_cast<std::uint64_t>(sample);
                        samples[kind][static_cast<std::size_t>(sample)] =
                            scoreOf({firsts[kind], sample % config.nHeads},
                                    randomHead(context.circuits.weights(), firsts[kind], squares, seed));
                        return Done{};
                    });
    if (!done)
        return done.error();
    std::vector<HeadNull> nulls;
    nulls.reserve(kindOf.size());
    for (const std::size_t kind : kindOf)
        nulls.push_back(nullOf(samples[kind]));
    return nulls;
}

std::vector<ArraySpec> previousTokenNullArrays()
{
    std::vector<ArraySpec> all;
    for (const bool isMean : {true, false})
        all.push_back(
            {.path = previousTokenNullFolder + (isMean ? "null_mean" : "null_deviation"),
             .axes = {Axis::Layer},
             .title = isMean ? "Previous token, random heads" : "Previous token, deviation of random heads",
             .definition =
                 "scores/previous_token of heads of random weights, by layer: layers differ in window, rotary embedding or sinks",
             .condition = "layers that differ in window, scale, rotary embedding or sinks"});
    return all;
}

void putPreviousTokenNulls(Results& results, ResultArray& scores, const std::vector<HeadNull>& nulls)
{
    const auto isFirst = [&](const HeadNull& null) {
        return null.mean == nulls[0].mean || (std::isnan(null.mean) && std::isnan(nulls[0].mean));
    };
    if (std::all_of(nulls.begin(), nulls.end(), isFirst))
        return setNull(scores, nulls[0]);
    std::vector<double> means, deviations;
    means.reserve(nulls.size());
    deviations.reserve(nulls.size());
    for (const HeadNull& null : nulls) {
        means.push_back(null.mean);
        deviations.push_back(null.deviation);
    }
    results.put(previousTokenNullFolder + "null_mean", std::move(means));
    results.put(previousTokenNullFolder + "null_deviation", std::move(deviations));
}

} // namespace headwise
