#include "app/commands/analysis_run/run_report.h"

#include "app/commands/progress.h"
#include "app/commands/support.h"
#include "core/findings/findings_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>

namespace headwise::app {
namespace {

constexpr std::size_t mostFindings = 3;

std::string counted(std::size_t count, std::string_view one, std::string_view several)
{
    return fmt::format("{} {}", count, count == 1 ? one : several);
}

/// "0.4 s", "12 s", "3 min"
std::string timeTaken(double seconds)
{
    return seconds < 9.95 ? fmt::format("{:.1f} s", seconds) : durationText(seconds);
}

} // namespace

RunReport::RunReport(ProgressLine& line)
    : m_line(line)
    , m_begin(std::chrono::steady_clock::now())
{
}

RunListener RunReport::listener(Resume& resume)
{
    RunListener listener;
    listener.resume = &resume;
    if (!m_line.isOnTerminal())
        return listener;
    listener.onStatus = [this](const Analysis& analysis, const RunStatus& status) {
        const std::string of =
            status.count > 1 ? fmt::format(" ({} of {})", status.index, status.count) : std::string();
        m_line.showRun(status.fraction, durationText(status.secondsLeft) + " left",
                       std::string(analysis.title) + of);
    };
    listener.onFound = [this](const Analysis& analysis, const ResultSet& found, double seconds) {
        ++m_ended;
        std::cerr << fmt::format("{}: {}, {}\n", analysis.title,
                                 counted(found.arrays.size(), "array", "arrays"),
                                 seconds > 0 ? timeTaken(seconds) : "kept from the earlier run")
                  << std::flush;
    };
    return listener;
}

void RunReport::printSummary(std::size_t chosen, std::size_t arrays, const Session& session,
                             const std::string& file) const
{
    if (!m_line.isOnTerminal())
        return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count();
    std::string text = fmt::format("{} gave {} in {}.", counted(m_ended, "analysis", "analyses"),
                                   counted(arrays, "array", "arrays"), timeTaken(seconds));
    if (m_ended < chosen)
        text += fmt::format(" {} left out; the warnings above say why.",
                            chosen - m_ended == 1 ? "One was" : fmt::format("{} were", chosen - m_ended));
    text += "\n";
    const FindingEvidence evidence{session.model, session.results, session.tokens};
    if (!session.part && canAnswer(evidence)) {
        Findings findings = findingsOf(evidence);
        const std::size_t all = findings.found.size();
        findings.found.resize(std::min(all, mostFindings));
        text += findingsText(findings);
        if (all > mostFindings)
            text += fmt::format("{} more: headwise findings {}\n", all - mostFindings, shellWord(file));
    }
    std::cerr << text << std::flush;
}

} // namespace headwise::app
