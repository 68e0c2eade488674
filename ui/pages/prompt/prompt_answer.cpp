#include "ui/pages/prompt/prompt_answer.h"

#include "core/analysis/prompt/value_norms.h"
#include "core/model/forward.h"
#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"
#include "ui/pages/prompt/prompt_page.h"

#include <utility>

namespace headwise::ui {

namespace {

constexpr Eigen::Index smallSide = 64; // rows of a thumbnail

/// Multiplies every pattern's columns by the norm of the value vector that the head moves.
void weigh(const ProcessedWeights& weights, ForwardResult<float>& run)
{
    const ValueNorms<float> norms(weights, run);
    for (std::size_t layer = 0; layer < run.patterns.size(); ++layer)
        for (std::size_t head = 0; head < run.patterns[layer].size(); ++head)
            run.patterns[layer][head] *=
                norms.of({static_cast<int>(layer), static_cast<int>(head)}).cast<float>().asDiagonal();
}

} // namespace

void PromptAnswer::setPatterns(Patterns all)
{
    small = std::make_shared<const Patterns>(smallPatterns(all, smallSide));
    if (tokens.size() > 1)
        smallWithoutFirst = std::make_shared<const Patterns>(smallPatterns(all, smallSide, 1));
    patterns = std::make_shared<const Patterns>(std::move(all));
}

QString PromptAnswer::measure() const
{
    return isWeighted ? PromptPage::tr("value-weighted attention") : PromptPage::tr("attention");
}

QString PromptAnswer::valueTitle() const
{
    return isWeighted ? PromptPage::tr("value-weighted attention (norm)")
                      : PromptPage::tr("attention (probability)");
}

QString PromptAnswer::origin() const
{
    return importedFrom.isEmpty() ? QString() : PromptPage::tr(", imported from %1").arg(importedFrom);
}

Result<std::shared_ptr<const PromptAnswer>> promptAnswer(const PromptQuestion& question, const Task& task)
{
    const ProcessedWeights& weights = question.circuits->weights();
    auto tokens = promptTokens(question.prompt, question.tokenizer.get(), weights.config().dVocab);
    if (!tokens)
        return tokens.error();
    auto run = forward<float>(weights, *tokens, task);
    if (!run)
        return run.error();
    ForwardResult<float> passed = *std::move(run);
    auto answer = std::make_shared<PromptAnswer>();
    answer->prompt = text(question.prompt);
    answer->isWeighted = question.isWeighted;
    if (question.isWeighted)
        weigh(weights, passed);
    answer->tokens = *tokens;
    answer->setPatterns(std::move(passed.patterns));
    Eigen::Index best = 0;
    passed.logits.row(passed.logits.rows() - 1).maxCoeff(&best);
    answer->likeliestNext = static_cast<int>(best);
    return std::shared_ptr<const PromptAnswer>(std::move(answer));
}

std::shared_ptr<const PromptAnswer> withPatterns(const PromptAnswer& own, PatternFile imported,
                                                 const std::vector<std::string>& shown)
{
    auto answer = std::make_shared<PromptAnswer>(own);
    answer->importedFrom = text(imported.source);
    answer->imported = std::make_shared<const ResultArray>(patternArray(imported, shown));
    answer->isWeighted = false; // imported unchanged
    answer->setPatterns(std::move(imported.patterns));
    return answer;
}

} // namespace headwise::ui
