#pragma once

#include <functional>

namespace headwise::ui {
class Job;
}

namespace headwise::reliability {

/// Hooks of the program around the jobs.
struct JobSurroundings {
    std::function<void(ui::Job&)> show;         ///< Called for every new job; may be empty.
    std::function<void(int theme)> changeTheme; ///< May be empty.
};

/// Runs random sequences of start, cancel, supersede, close, model change and theme change, from pages and from slots of
/// the jobs' own signals. An answer must belong to the latest question, every start has one end, and a closed page is
/// silent. Prints one line.
/// \returns whether all of them were good
bool checkJobSequences(int count, unsigned seed, const JobSurroundings& surroundings);

} // namespace headwise::reliability
