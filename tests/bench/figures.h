#pragma once

#include "core/circuits/circuits.h"
#include "tests/bench/limits.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headwise::bench {

/// The model of all figures, opened once: random, of GPT-2 small's sizes, or one that the user names.
struct Subject {
    std::filesystem::path folder;
    bool isLarge = false; ///< Named by the user: what is promised of Llama-3.2-1B's sizes counts.
    std::shared_ptr<const ProcessedWeights> weights;
    std::shared_ptr<const TokenSide> tokens;

    /// The seconds promised for GPT-2 small's sizes or those for a large model; 0: none.
    double promised(double ofSmall, double ofLarge) const { return isLarge ? ofLarge : ofSmall; }
};

/// A measured operation, with its floor: the time that arithmetic or memory alone would take on this machine now.
struct Figure {
    std::string name;
    std::string floorFormula; ///< Formula of `floor` in words.
    double floor = 0;         ///< seconds
    double bound = 0;         ///< `--check` fails above bound × floor.
    /// `--check` fails above this many seconds, if the program promises a limit; 0: none.
    double seconds = 0;
    std::function<void()> run;
    std::function<double()> measured = {}; ///< Replaces `run` and returns the seconds that count.
    std::shared_ptr<const double> leftOut =
        {}; ///< Share of the products that the last run left out; null: not a scan.
};

std::vector<Figure> figures(const Subject& subject, const Limits& limits);

} // namespace headwise::bench
