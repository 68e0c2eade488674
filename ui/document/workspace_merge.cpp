#include "core/session/session_file.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <algorithm>
#include <set>

// Two windows, or two people, on one session: what each of them wrote is kept.

namespace headwise::ui {

namespace {

using Notes = std::map<std::string, std::string>;

std::string noteOf(const Notes& notes, const std::string& head)
{
    const auto found = notes.find(head);
    return found == notes.end() ? std::string() : found->second;
}

std::string mergedNote(const std::string& base, const std::string& ours, const std::string& theirs)
{
    if (ours == base)
        return theirs;
    if (theirs == base || ours.find(theirs) != std::string::npos)
        return ours;
    if (theirs.find(ours) != std::string::npos)
        return theirs;
    return ours + "\n" + theirs;
}

/// Ours in our order, then what they added; without what either side took away.
std::vector<std::string> mergedBookmarks(const std::vector<std::string>& base,
                                         const std::vector<std::string>& ours,
                                         const std::vector<std::string>& theirs)
{
    const auto has = [](const std::vector<std::string>& all, const std::string& one) {
        return std::find(all.begin(), all.end(), one) != all.end();
    };
    std::vector<std::string> merged;
    for (const std::string& head : ours)
        if (has(theirs, head) || !has(base, head))
            merged.push_back(head);
    for (const std::string& head : theirs)
        if (!has(ours, head) && !has(base, head))
            merged.push_back(head);
    return merged;
}

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
    std::set<std::string> heads;
    for (const Notes* notes : {static_cast<const Notes*>(&m_notes), &other.notes})
        for (const auto& [head, note] : *notes)
            heads.insert(head);
    const std::vector<std::string> before = m_bookmarks;
    m_bookmarks = mergedBookmarks(m_fileBookmarks, m_bookmarks, other.bookmarks);
    heads.insert(before.begin(), before.end());
    heads.insert(m_bookmarks.begin(), m_bookmarks.end());
    for (const std::string& head : heads) {
        const std::string note =
            mergedNote(noteOf(m_fileNotes, head), noteOf(m_notes, head), noteOf(other.notes, head));
        if (note.empty())
            m_notes.erase(head);
        else
            m_notes[head] = note;
    }
    m_fileNotes = other.notes;
    m_fileBookmarks = other.bookmarks;
    m_sessionStamp = stamp;
    m_noteRevision.change();
    for (const std::string& head : heads)
        if (const auto id = parseHeadId(head))
            emit notesChanged(*id);
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
