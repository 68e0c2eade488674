#pragma once

#include <functional>

namespace headwise::ui {
class Job;
}

namespace headwise::reliability {

/// What a program adds to the jobs it runs.
struct JobSurroundings {
    std::function<void(ui::Job&)> show;         ///< Of every new job; may be empty.
    std::function<void(int theme)> changeTheme; ///< May be empty.
};

/// Random sequences of start, cancel, supersede, close, model change and theme change, from the page and from slots of the
/// jobs' own signals. An answer must be that of the newest question, every start has one end, and what is closed is silent.
/// Prints one line. \returns whether all of them were good
bool checkJobSequences(int count, unsigned seed, const JobSurroundings& surroundings);

} // namespace headwise::reliability
