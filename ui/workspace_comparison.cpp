#include "core/analysis/comparison/model_comparison.h"
#include "ui/estimate.h"
#include "ui/text.h"
#include "ui/workspace_opened.h"

#include <utility>

// What changed between the open model and a newer one.

namespace headwise::ui {

void Workspace::compareWith(const ModelSource& newer)
{
    if (!m_circuits)
        return;
    m_comparisonJob.start(
        withEstimate(tr("Comparing with %1").arg(text(newer.path.filename().string())),
                     comparisonCost(m_circuits->config())),
        [older = m_circuits, tokenizer = m_tokenizer, unused = m_unused, wish = m_wish,
         newer](const Task& task) -> Result<ResultSet> {
            const auto opened = read(newer, wish, task);
            if (!opened)
                return opened.error();
            ComparisonOptions options;
            options.unusedTokens = unused;
            options.sameVocabulary =
                haveSameVocabulary(tokenizer.get(), (*opened)->tokenizer.get(), older->config().dVocab);
            auto found = compareModels(*older, Circuits((*opened)->processed), options, task);
            if (!found)
                return found;
            ResultSet results = std::move(found).value();
            const ModelCard card = modelCard(*(*opened)->weights);
            results.groupAttributes["comparison"] = {{"model_b_name", card.name},
                                                     {"model_b_architecture", card.architecture},
                                                     {"model_b_source", card.source},
                                                     {"model_b_sha256", card.sha256}};
            return results;
        },
        [this](Result<ResultSet> found) {
            if (!found)
                return emit failed(text(found.error()));
            ResultSet all = *m_results;
            std::erase_if(all.arrays,
                          [](const ResultArray& array) { return array.path.starts_with("comparison/"); });
            all.merge(std::move(found).value());
            m_hasUnsavedResults = true;
            setResults(std::move(all));
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
