#pragma once

#include "core/runs/resume.h"
#include "core/session/session.h"

#include <filesystem>

namespace headwise {

/// Keeps the results of an unfinished run in a side file beside the session that they will become. The side file is a session
/// of its own whose `view` is the record of the run (FORMAT.md).
class PartialRun : public RunStore {
public:
    /// "SESSION.h5.partial"
    static std::filesystem::path sideFile(std::filesystem::path session);

    /// \param session   the file that will be written at the end
    /// \param frame     everything of that session but its results
    PartialRun(const std::filesystem::path& session, Session frame);

    std::optional<Kept> read(const Task& task) override;
    Result<Done> write(ResultSet& results, const std::string& record, const Task& task) override;

    /// Writes the finished session into the side file, where the process that joins the parts of a run finds it. The same run
    /// started again takes it up.
    /// \param record  of the run, Resume::record()
    Result<Done> finish(Session session, std::string record, const Task& task) const;

    /// Removes the side file, once the session is complete.
    void remove() const;

private:
    std::filesystem::path m_file;
    Session m_frame;
};

} // namespace headwise
