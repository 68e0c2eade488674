#pragma once

#include "core/analysis/catalogue.h"
#include "tests/support/journey.h"
#include "tests/support/loaded.h"

#include <map>

namespace headwise::test {

/// Core's results for the checkpoint of a journey, computed without the window: default processing, raw embedding. Each part is
/// computed when it is first asked for, since the large model's take seconds.
class CoreModel {
public:
    explicit CoreModel(JourneyModel model)
        : weights(std::make_shared<const ProcessedWeights>(processed(loaded(folderOf(model)))))
        , circuits(std::make_unique<Circuits>(weights))
    {
    }

    const std::shared_ptr<const ProcessedWeights> weights;
    const std::unique_ptr<const Circuits> circuits;

    /// The token matrices without their products, which a table or one token does not need.
    const std::shared_ptr<const TokenSide>& matrices() const
    {
        return part(m_matrices, TokenParts::MatricesAlone);
    }
    const std::shared_ptr<const TokenSide>& tokens() const { return part(m_tokens, TokenParts::WithGrams); }

private:
    const std::shared_ptr<const TokenSide>& part(std::shared_ptr<const TokenSide>& made,
                                                 TokenParts parts) const
    {
        if (made)
            return made;
        auto read = tokenSide(*circuits, Embedding::Raw, Task{}, Precision::F32, parts);
        if (!read)
            qFatal("%s", printed(read.error()).constData());
        return made = *std::move(read);
    }

    mutable std::shared_ptr<const TokenSide> m_matrices, m_tokens;
};

inline const CoreModel& coreModel(JourneyModel model)
{
    static std::map<JourneyModel, CoreModel> known;
    return known.try_emplace(model, model).first->second;
}

/// Returns the value of one head in an array of the results; NaN if it is absent.
inline double valueOf(const ResultSet& results, std::string_view path, HeadId head)
{
    const ResultArray* scores = results.find(path);
    if (!scores)
        return std::nan("");
    const auto index =
        static_cast<std::size_t>(head.layer) * scores->shape[1] + static_cast<std::size_t>(head.head);
    return static_cast<double>(std::get<std::vector<float>>(scores->values)[index]);
}

/// Runs an analysis that looks at every head by itself, for one head.
inline ResultSet coreResultsOf(JourneyModel model, std::string_view analysis, HeadId head)
{
    const CoreModel& core = coreModel(model);
    AnalysisOptions options;
    options.heads = {head};
    auto results =
        findAnalysis(analysis)->run(AnalysisContext{*core.circuits, core.tokens(), options}, Task{});
    if (!results)
        qFatal("%s", printed(results.error()).constData());
    return std::move(results).value();
}

inline double coreScore(JourneyModel model, std::string_view analysis, std::string_view path, HeadId head)
{
    return valueOf(coreResultsOf(model, analysis, head), path, head);
}

/// Tells whether a value printed with three digits agrees with `expected`.
inline bool saysThreeDigits(double shown, double expected)
{
    return std::abs(shown - expected) <= 0.0051 * std::abs(expected) + 1e-9;
}

} // namespace headwise::test
