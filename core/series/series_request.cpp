#include "core/series/series_request.h"

#include "core/base/log.h"
#include "core/model/architecture.h"
#include "core/tokenizer/model_tokenizer.h"
#include "core/tokenizer/token_search.h"

#include <utility>

namespace headwise {
namespace {

/// Null if the member has no tokenizer.
Result<std::shared_ptr<const Tokenizer>> tokenizerOf(const SeriesMember& member, const ModelWeights& weights)
{
    auto tokenizer =
        member.tokenizer.empty() ? openModelTokenizer(weights.file()) : Tokenizer::open(member.tokenizer);
    if (tokenizer)
        return std::make_shared<const Tokenizer>(std::move(tokenizer).value());
    if (member.tokenizer.empty() && tokenizer.error().code == ErrorCode::NotFound)
        return std::shared_ptr<const Tokenizer>();
    return tokenizer.error();
}

} // namespace

Result<SeriesModel> seriesModel(std::shared_ptr<const ModelWeights> weights, const ProcessingWish& wish,
                                const Tokenizer* tokenizer, const Task& task)
{
    auto plan = planProcessing(*weights, wish);
    if (!plan)
        return plan.error();
    auto processed = process(std::move(weights), *std::move(plan), task);
    if (!processed)
        return processed.error();
    SeriesModel model{*std::move(processed), {}};
    if (tokenizer)
        model.options.unusedTokens = unusedIds(*tokenizer, model.weights->config().dVocab);
    return model;
}

SeriesRequest defaultSeriesRequest(SeriesMembers series, std::filesystem::path output)
{
    SeriesRequest request;
    request.series = std::move(series);
    request.output = std::move(output);
    request.open = [](const SeriesMember& member, const Task& task) {
        ModelSource source{member.path, std::nullopt, {}};
        if (!member.config.empty())
            source.configFile = member.config;
        return loadModel(source, task);
    };
    request.prepare = [](const SeriesMember& member, std::shared_ptr<const ModelWeights> weights,
                         const Task& task) -> Result<SeriesModel> {
        const auto tokenizer = tokenizerOf(member, *weights);
        if (!tokenizer)
            return tokenizer.error();
        auto prepared = seriesModel(std::move(weights), {}, tokenizer->get(), task);
        if (!prepared)
            return prepared.error();
        SeriesModel model = std::move(prepared).value();
        model.options.inputs.tokenizer = *tokenizer;
        return model;
    };
    request.say = [](const std::string& sentence) { logInfo(sentence); };
    return request;
}

} // namespace headwise
