#pragma once

#include "core/analysis/inputs/token_counts.h"
#include "core/runs/plan.h"
#include "core/tokenizer/token_text.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/support/analysed.h"

namespace headwise::test {

/// Sets every input, so that every analysis that fits the model runs.
/// \param pair the earlier and the later head
inline AnalysisOptions everyInput(const ModelConfig& config, const std::pair<HeadId, HeadId>& pair)
{
    // Two names, two numbers in words, and a pair of tokens that form a third.
    std::vector<std::string> words{" John", " Mary", " one", " two", " wo", "rd", " word"};
    for (int i = static_cast<int>(words.size()); i < config.dVocab; ++i)
        words.push_back(" word" + std::to_string(i));
    std::vector<std::string> shown;
    for (const std::string& word : words)
        shown.push_back(shownToken(word));
    AnalysisOptions options;
    options.inputs.tokenizer = std::make_shared<const Tokenizer>(Tokenizer::fromVocabulary(shown, words));
    options.inputs.prompt = {1, 2, 3, 1, 2};
    options.inputs.token = 1;
    options.inputs.keyToken = 2;
    options.inputs.pair = pair;
    options.inputs.direction.assign(static_cast<std::size_t>(config.dModel), 1.0);
    std::vector<double> counts(static_cast<std::size_t>(config.dVocab), 1.0);
    counts[2] = 5;
    options.inputs.tokenCounts = std::make_shared<const TokenCounts>("counts.csv", std::move(counts));
    options.inputs.bigramCounts = std::make_shared<const BigramCounts>(
        "pairs.csv", std::vector<BigramCounts::Pair>{{1, 2, 3}, {4, 5, 1}});
    return options;
}

/// Returns the analyses of the catalogue that apply.
inline std::vector<std::string> fittingAnalyses(const ModelConfig& config, const AnalysisOptions& options)
{
    std::vector<std::string> names;
    for (const Analysis& analysis : catalogue()) {
        if (whyLeftOut(analysis, config, options).empty())
            names.emplace_back(analysis.id);
    }
    return names;
}

} // namespace headwise::test
