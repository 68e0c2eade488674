#include "core/session/partial_run.h"

#include "core/base/log.h"
#include "core/session/session_file.h"

#include <system_error>
#include <utility>

namespace headwise {

namespace {

/// Compares everything but the results, and the times of writing.
bool haveSameFrame(const Session& a, const Session& b)
{
    return a.headwiseVersion == b.headwiseVersion && a.model == b.model && a.configFile == b.configFile
        && a.namesFile == b.namesFile && a.adapterBase == b.adapterBase && a.overrides == b.overrides
        && a.ignoredTensors == b.ignoredTensors && a.processing == b.processing && a.embedding == b.embedding
        && a.part == b.part && a.tokens == b.tokens && a.tokenBytes == b.tokenBytes;
}

Task quiet(const Task& task)
{
    return {.stop = task.stop, .onProgress = {}, .threads = task.threads};
}

} // namespace

std::filesystem::path PartialRun::sideFile(std::filesystem::path session)
{
    return session += ".partial";
}

PartialRun::PartialRun(const std::filesystem::path& session, Session frame)
    : m_file(sideFile(session))
    , m_frame(std::move(frame))
{
    m_frame.results = {};
}

std::optional<RunStore::Kept> PartialRun::read(const Task& task)
{
    std::error_code code;
    if (!std::filesystem::exists(m_file, code))
        return std::nullopt;
    Result<Session> left = readSession(m_file, quiet(task));
    if (!left || !haveSameFrame(*left, m_frame)) {
        logInfo(m_file.string() + " belongs to another run and is not resumed");
        return std::nullopt;
    }
    Session session = std::move(left).value();
    return Kept{std::move(session.results), std::move(session.view)};
}

Result<Done> PartialRun::write(ResultSet& results, const std::string& record, const Task& task)
{
    // Lent, not copied: a run's results may be most of the memory there is.
    std::swap(m_frame.results, results);
    m_frame.view = record;
    Result<Done> written = writeSession(m_file, m_frame, quiet(task), SessionParts::WithoutFindings);
    std::swap(m_frame.results, results);
    if (written)
        logInfo("the results so far are safe in " + m_file.string());
    return written;
}

Result<Done> PartialRun::finish(Session session, std::string record, const Task& task) const
{
    session.view = std::move(record);
    return writeSession(m_file, session, quiet(task), SessionParts::WithoutFindings);
}

void PartialRun::remove() const
{
    std::error_code code;
    std::filesystem::remove(m_file, code);
}

} // namespace headwise
