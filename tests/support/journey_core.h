#pragma once

#include "core/analysis/catalogue.h"
#include "tests/support/journey.h"
#include "tests/support/loaded.h"

#include <map>

namespace headwise::test {

/// Core's results for the checkpoint of a journey, computed without the window: default processing, raw embedding.
struct CoreModel {
    std::shared_ptr<const ProcessedWeights> weights;
    std::unique_ptr<Circuits> circuits;
    std::shared_ptr<const TokenSide> tokens;
};

inline const CoreModel& coreModel(JourneyModel model)
{
    static std::map<JourneyModel, CoreModel> known;
    CoreModel& made = known[model];
    if (!made.circuits) {
        made.weights = std::make_shared<const ProcessedWeights>(processed(loaded(folderOf(model))));
        made.circuits = std::make_unique<Circuits>(made.weights);
        auto tokens = tokenSide(*made.circuits, Embedding::Raw, Task{});
        if (!tokens)
            qFatal("%s", printed(tokens.error()).constData());
        made.tokens = *tokens;
    }
    return made;
}

/// Runs an analysis and returns the value of one head in an array; NaN if it is absent.
inline double coreScore(JourneyModel model, std::string_view analysis, std::string_view path, HeadId head,
                        const AnalysisInputs& inputs = {})
{
    const CoreModel& core = coreModel(model);
    AnalysisOptions options;
    options.inputs = inputs;
    const auto results =
        findAnalysis(analysis)->run(AnalysisContext{*core.circuits, core.tokens, options}, Task{});
    const ResultArray* scores = results ? results->find(path) : nullptr;
    if (!scores)
        return std::nan("");
    const auto index =
        static_cast<std::size_t>(head.layer) * scores->shape[1] + static_cast<std::size_t>(head.head);
    return static_cast<double>(std::get<std::vector<float>>(scores->values)[index]);
}

/// Tells whether a value printed with three digits agrees with `expected`.
inline bool saysThreeDigits(double shown, double expected)
{
    return std::abs(shown - expected) <= 0.0051 * std::abs(expected) + 1e-9;
}

} // namespace headwise::test
