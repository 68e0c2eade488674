#pragma once

#include "core/analysis/catalogue.h"

#include <QString>

#include <utility>
#include <vector>

namespace headwise::ui {

/// The questions that pages and analyses answer, in the order in which the window lists them.
enum class Question {
    Findings, ///< Stands first, without a heading. No analysis belongs to it.
    ReadsAndWrites,
    WhereItLooks,
    WhoTalksToWhom,
    Comparison,
    TheModel,
};

QString questionTitle(Question question); ///< "Reads and writes"; empty for Findings.
Question questionOf(const Analysis& analysis);

/// Returns the titles of the questions in order, each with its analyses by their catalogue number.
std::vector<std::pair<QString, std::vector<const Analysis*>>> analysesByQuestion();

} // namespace headwise::ui
