#include "core/session/session_file.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <algorithm>
#include <utility>

// Two windows, or two people, on one session: what each of them wrote is kept.

namespace headwise::ui {

namespace {

/// "analyses/NAME/" and "spectra/": arrays that were computed together.
std::string_view folderOf(const std::string& path)
{
    const std::size_t first = path.find('/');
    const std::size_t last = path.starts_with("analyses/") ? path.find('/', first + 1) : first;
    return std::string_view(path).substr(0, last);
}

} // namespace

void Workspace::mergeSessionFile()
{
    struct OnDisk {
        Session session;
        FileStamp stamp;
    };
    using Answer = std::shared_ptr<const OnDisk>;
    if (!isOpen() || m_sessionFile.empty())
        return;
    m_saveJob.start(
        tr("Reading %1").arg(text(m_sessionFile.filename().string())),
        [file = m_sessionFile](const Task& task) -> Result<Answer> {
            const FileStamp stamp = stampOf(file);
            auto session = readSession(file, task);
            if (!session)
                return session.error();
            return std::make_shared<const OnDisk>(OnDisk{std::move(session).value(), stamp});
        },
        [this, opening = m_opening](const Result<Answer>& result) {
            if (opening != m_opening)
                return;
            if (!result)
                return emit failed(text(result.error()));
            const Session& other = (*result)->session;
            if (other.model.sha256 != m_card->sha256 || other.formatVersion > sessionFormatVersion)
                return emit failed(
                    tr("%1 holds a session of another model or of a newer Headwise by now. Nothing was merged; press Save session as… and choose another name.")
                        .arg(text(m_sessionFile.string())));
            merge(other, (*result)->stamp);
            emit sessionMerged();
        });
}

void Workspace::merge(const Session& other, const FileStamp& stamp)
{
    const NotebookContents base = std::exchange(m_fileNotes, NotebookContents{other.notes, other.bookmarks});
    m_sessionStamp = stamp;
    m_notebook->merge(base, m_fileNotes);
    if (other.processing != processing() || other.embedding != embeddingName(m_embedding))
        return;
    ResultSet all = *m_results;
    const auto has = [this](std::string_view folder) {
        return std::ranges::any_of(m_results->arrays,
                                   [&](const ResultArray& array) { return folderOf(array.path) == folder; });
    };
    for (const ResultArray& array : other.results.arrays)
        if (!has(folderOf(array.path)))
            all.arrays.push_back(array);
    if (all.arrays.size() != m_results->arrays.size())
        setResults(std::move(all));
}

} // namespace headwise::ui
