#include "core/analysis/comparison/head_match.h"
#include "ui/base/text.h"
#include "ui/document/about_model.h"
#include "ui/document/compared_model.h"
#include "ui/document/estimate.h"
#include "ui/document/workspace_opened.h"

#include <utility>

// Changes between the open model and a newer one.

namespace headwise::ui {

namespace {

/// Answer of a comparison. The newer model can be looked at even where the two cannot be compared head by head.
struct Compared {
    OpenedModel newer;
    Result<ResultSet> results;
};

/// Head by head where the two are of one kind and size; else the heads that write the same tokens.
/// \param words of the older one; may be null
Result<ResultSet> changes(const Circuits& older, const Tokenizer* words, const OpenedModel& newer,
                          const ComparisonOptions& options, const Task& task)
{
    const Circuits circuits(newer.processed);
    const bool hasSameShape = whyNotCompare(older.config(), circuits.config()).empty();
    auto found = hasSameShape ? compareModels(older, circuits, options, task)
                              : matchHeads({older, words, options.unusedTokens},
                                           {circuits, newer.tokenizer.get(), newer.unused}, options, task);
    if (!found)
        return found;
    ResultSet results = std::move(found).value();
    const ModelCard card = modelCard(*newer.weights);
    results.groupAttributes["comparison"] = {{"model_b_name", card.name},
                                             {"model_b_architecture", card.architecture},
                                             {"model_b_source", card.source},
                                             {"model_b_sha256", card.sha256}};
    return results;
}

} // namespace

void Workspace::compareWith(const ModelSource& newer)
{
    using Answer = std::shared_ptr<const Compared>;
    if (!m_circuits)
        return;
    m_comparisonJob.start(
        withEstimate(tr("Comparing with %1").arg(text(newer.path.filename().string())),
                     comparisonCost(m_circuits->config())),
        aboutModel(m_circuits,
                   [older = m_circuits, tokenizer = m_tokenizer, unused = m_unused, wish = m_wish,
                    newer](const Task& task) -> Result<Answer> {
                       auto opened = readModel(newer, wish, task);
                       if (!opened)
                           return opened.error();
                       ComparisonOptions options;
                       options.unusedTokens = unused;
                       options.sameVocabulary = haveSameVocabulary(tokenizer.get(), opened->tokenizer.get(),
                                                                   older->config().dVocab);
                       auto results = changes(*older, tokenizer.get(), *opened, options, task);
                       if (!results && results.error().code == ErrorCode::Cancelled)
                           return results.error();
                       return std::make_shared<const Compared>(
                           Compared{std::move(opened).value(), std::move(results)});
                   }),
        [this, wish = m_wish](const Result<Answer>& compared) {
            if (!compared)
                return emit failed(text(compared.error()));
            const auto& [opened, found] = **compared;
            if (found) {
                ResultSet all = *m_results;
                std::erase_if(all.arrays,
                              [](const ResultArray& array) { return array.path.starts_with("comparison/"); });
                all.groupAttributes.erase("comparison/match");
                all.merge(*found);
                m_resultRevision.change();
                setResults(std::move(all));
            }
            ComparedModel::of(this)->keep(opened, wish);
            if (!found)
                emit failed(text(found.error()));
        });
}

QString Workspace::comparedWith() const
{
    const auto group = m_results->groupAttributes.find("comparison");
    if (group == m_results->groupAttributes.end())
        return {};
    const auto name = group->second.find("model_b_name");
    const auto* words = name == group->second.end() ? nullptr : std::get_if<std::string>(&name->second);
    return words ? text(*words) : QString();
}

} // namespace headwise::ui
