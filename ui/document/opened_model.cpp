#include "ui/document/opened_model.h"

#include "core/base/machine_rates.h"
#include "core/tokenizer/model_tokenizer.h"
#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"

#include <utility>

namespace headwise::ui {

Result<OpenedModel> readModel(const ModelSource& source, const ProcessingWish& wish, const Task& task)
{
    auto weights = loadModel(source, task);
    if (!weights)
        return weights.error();
    OpenedModel opened{.source = source,
                       .weights = *weights,
                       .processed = nullptr,
                       .tokenizer = nullptr,
                       .unused = {},
                       .tokenizerProblem = {}};
    auto result = processedAs(wish, *weights, task);
    if (!result)
        return result.error();
    opened.processed = *result;
    auto tokenizer = openModelTokenizer(opened.weights->file());
    if (tokenizer)
        opened.tokenizer = std::make_shared<const Tokenizer>(std::move(tokenizer).value());
    else if (tokenizer.error().code != ErrorCode::NotFound)
        opened.tokenizerProblem = text(tokenizer.error());
    coreSgemmRate(); // measured here, not by the first estimate of the window's thread
    if (opened.tokenizer)
        opened.unused = unusedIds(*opened.tokenizer, opened.weights->config().dVocab);
    return opened;
}

Result<std::shared_ptr<const ProcessedWeights>>
processedAs(const ProcessingWish& wish, std::shared_ptr<const ModelWeights> weights, const Task& task)
{
    Result<ProcessingPlan> plan = planProcessing(*weights, wish);
    if (!plan)
        return plan.error();
    return process(std::move(weights), std::move(plan).value(), task);
}

} // namespace headwise::ui
