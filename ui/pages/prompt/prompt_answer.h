#pragma once

#include "core/analysis/prompt/pattern_file.h"
#include "core/circuits/circuits.h"
#include "core/tokenizer/tokenizer.h"
#include "ui/charts/pattern_grid.h"
#include "ui/document/imported_attention.h"

#include <QString>

#include <memory>
#include <string>
#include <vector>

namespace headwise::ui {

/// Attention of every head for one prompt, and the token that most likely follows.
struct PromptAnswer {
    QString prompt;
    bool isWeighted = false; // attention times ‖v W_O‖
    std::vector<int> tokens;
    std::shared_ptr<const Patterns> patterns, small;   // [layer][head]: [n, n]
    std::shared_ptr<const Patterns> smallWithoutFirst; // the same without position 0; null for one token
    int likeliestNext = 0;
    QString importedFrom;              // empty: computed by the model
    ImportedAttention::Array imported; // the same numbers for the session; null: computed by the model

    void setPatterns(Patterns all);
    QString measure() const;    ///< "attention", or its weighted form.
    QString valueTitle() const; ///< The same with the unit, for colour bars.
    QString origin() const;     ///< ", imported from …", or empty.
};

/// A prompt to run.
struct PromptQuestion {
    std::shared_ptr<const Circuits> circuits;
    std::shared_ptr<const Tokenizer> tokenizer; // null without one
    std::string prompt;
    bool isWeighted = false;
};

/// Runs the prompt through the model. Errors: those of promptTokens() and forward().
Result<std::shared_ptr<const PromptAnswer>> promptAnswer(const PromptQuestion& question, const Task& task);

/// Returns `own` with attention from a file in place of its own. \param shown the tokens of the prompt, as the file keeps them
std::shared_ptr<const PromptAnswer> withPatterns(const PromptAnswer& own, PatternFile imported,
                                                 const std::vector<std::string>& shown);

} // namespace headwise::ui
