#pragma once

#include "core/analysis/inputs/token_counts.h"
#include "core/runs/plan.h"
#include "core/tokenizer/token_text.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/support/analysed.h"
#include "tests/support/family_model.h"

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

/// Returns the results of every analysis that applies to this model, with all inputs.
inline ResultSet everything(const Circuits& circuits, Embedding embedding)
{
    AnalysisOptions options = everyInput(circuits.config(), {{0, 0}, {1, 1}});
    options.embedding = embedding;
    return analysed(circuits, fittingAnalyses(circuits.config(), options), options);
}

/// Learned positions; rotary ones with grouped heads and a gated MLP; an unprocessed model after the first MLP; parallel
/// blocks; ALiBi; layers of different windows. Every analysis applies to one of them, and every array is in one.
inline const std::vector<std::pair<Circuits, ResultSet>>& everyArray()
{
    static const auto all = [] {
        ToyOptions rotary = llamaOptions();
        rotary.qkvBias = true;
        ToyOptions parallel;
        parallel.parallel = true;
        parallel.dModel = parallel.nHeads * parallel.dHead;
        static const QTemporaryDir folder; // of the models that are read from families' own files
        const auto family = [](const char* name) {
            return circuitsOf(
                writeFamily(folder.filePath(QLatin1String(name)).toStdString(), familyModel(name)));
        };
        const std::vector<std::pair<Circuits, Embedding>> models{
            {toyCircuits({}), Embedding::Raw},
            {toyCircuits(rotary), Embedding::Raw},
            {toyCircuits({}, noProcessing()), Embedding::Mlp0},
            {toyCircuits(parallel), Embedding::Raw},
            {family("bloom"), Embedding::Raw},
            {family("gpt_neo"), Embedding::Raw}};
        std::vector<std::pair<Circuits, ResultSet>> made;
        for (const auto& [circuits, embedding] : models)
            made.emplace_back(circuits, everything(circuits, embedding));
        return made;
    }();
    return all;
}

} // namespace headwise::test
