#pragma once

#include "core/runs/queue.h"
#include "core/session/session.h"

#include <chrono>
#include <cstddef>
#include <string>

namespace headwise::app {

class ProgressLine;

/// Tells a person at a terminal how a run of `analyze` goes: a bar for the whole run, a line for each analysis that has ended, and
/// a summary. Says nothing elsewhere. Everything goes to stderr.
class RunReport {
public:
    explicit RunReport(ProgressLine& line);

    /// \param resume  of the run
    RunListener listener(Resume& resume);

    /// Says how many analyses gave how many arrays, how long they took, and what stands out most.
    /// \param chosen   analyses asked for   \param arrays  that this run gave
    /// \param session  as it was written    \param file    where
    void printSummary(std::size_t chosen, std::size_t arrays, const Session& session,
                      const std::string& file) const;

private:
    ProgressLine& m_line;
    std::chrono::steady_clock::time_point m_begin;
    std::size_t m_ended = 0; // analyses with results
};

} // namespace headwise::app
