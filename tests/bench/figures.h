#pragma once

#include "core/circuits/circuits.h"
#include "tests/bench/limits.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headwise::bench {

/// What the figures are measured on: a random model of GPT-2 small's sizes, opened once.
struct Subject {
    std::filesystem::path folder;
    std::shared_ptr<const ProcessedWeights> weights;
    std::shared_ptr<const TokenSide> tokens;
};

/// One thing worth being fast, with its floor: the time that arithmetic or memory alone would take on this machine now.
struct Figure {
    std::string name;
    std::string floorFormula; ///< Words for `floor`.
    double floor = 0;         ///< seconds
    double bound = 0;         ///< `--check` fails above bound × floor …
    double seconds = 0; ///< … or above so many seconds, where the program promises some; 0: no promise.
    std::function<void()> run;
    std::function<double()> measured = {}; ///< In place of `run`: says itself how many seconds count.
};

std::vector<Figure> figures(const Subject& subject, const Limits& limits);

} // namespace headwise::bench
