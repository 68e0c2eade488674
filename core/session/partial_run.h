#pragma once

#include "core/analysis/run_parts.h"
#include "core/session/session.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headwise {

/// What a run of analyses has found so far, kept in a side file beside the session it will become, so that a run that was
/// killed is taken up where it stopped.
///
/// The side file is a session of its own whose `view` says which analyses it holds, of what (FORMAT.md). It is written between
/// two analyses, at most every two seconds and in at most a tenth of the time.
class PartialRun {
public:
    /// \param session   the file that will be written at the end; the side file is it with ".partial"
    /// \param frame     everything of that session but its results
    /// \param question  all that the results depend on; what answers another one is not taken up
    PartialRun(const std::filesystem::path& session, Session frame, std::string question);

    /// Reads what an earlier run has left. Empty if there is nothing, or nothing that can be used.
    /// \returns the ids of the analyses that need not be run again
    std::vector<std::string> takeUp(const Task& task);

    /// What a run does with it; refers to this.
    RunParts parts(const Task& task);

    /// The session is complete: the side file goes.
    void remove() const;

    const std::filesystem::path& file() const { return m_file; }

private:
    struct Part {
        std::vector<std::string> arrays; // paths, in their order
        std::vector<std::string> groups; // with attributes
        std::vector<std::string> warnings;
    };
    std::optional<ResultSet> take(const Analysis& analysis);
    void write(ResultSet& results, const Task& task);
    std::string view() const;
    bool readView(const std::string& view);

    std::filesystem::path m_file;
    Session m_frame;
    std::string m_question;
    std::map<std::string, Part> m_parts; // by id
    ResultSet m_taken;
    std::chrono::steady_clock::time_point m_nextWriting;
};

/// What the results of a run depend on beside its frame, as text: the model's files with their sizes and times, the options.
std::string runQuestion(const ProcessedWeights& weights, const Session& frame,
                        const AnalysisOptions& options);

} // namespace headwise
