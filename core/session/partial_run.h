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

/// The results of a run of analyses so far, kept in a side file beside the future session, so that a killed run can
/// resume.
///
/// The side file is itself a session. Its `view` says which analyses it holds and for which question (FORMAT.md). It is
/// written between two analyses, at most every two seconds and in at most a tenth of the time.
class PartialRun {
public:
    /// \param session   the file that will be written at the end; the side file has the same name with ".partial"
    /// \param frame     everything of that session but its results
    /// \param question  everything that the results depend on; a side file with another question is ignored
    PartialRun(const std::filesystem::path& session, Session frame, std::string question);

    /// Reads the results of an earlier run; none if there is no side file or it cannot be used.
    /// \returns the ids of the analyses that need not be run again
    std::vector<std::string> takeUp(const Task& task);

    /// Returns the hooks for a run of analyses; they refer to this object.
    RunParts parts(const Task& task);

    /// Removes the side file, when the session is complete.
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

/// Returns as text everything that a run's results depend on besides its frame: the model's files with sizes and times,
/// options.
std::string runQuestion(const ProcessedWeights& weights, const Session& frame,
                        const AnalysisOptions& options);

} // namespace headwise
