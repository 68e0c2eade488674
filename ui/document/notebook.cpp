#include "ui/document/notebook.h"

#include "ui/base/text.h"

#include <algorithm>
#include <set>
#include <utility>

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

/// Returns our bookmarks in our order, then those they added, without those that either side removed.
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

} // namespace

Notebook::Notebook(Selection* selection)
    : m_history(this, selection)
{
}

QString Notebook::note(HeadId head) const
{
    return text(noteOf(m_contents.notes, dottedHead(head)));
}

void Notebook::setNote(HeadId head, const QString& noteText)
{
    if (noteText == note(head))
        return;
    if (noteText.isEmpty())
        m_contents.notes.erase(dottedHead(head));
    else
        m_contents.notes[dottedHead(head)] = noteText.toStdString();
    m_revision.change();
    emit notesChanged(head);
}

bool Notebook::isBookmarked(HeadId head) const
{
    return std::ranges::find(m_contents.bookmarks, dottedHead(head)) != m_contents.bookmarks.end();
}

void Notebook::setBookmarked(HeadId head, bool on)
{
    if (on == isBookmarked(head))
        return;
    if (on)
        m_contents.bookmarks.push_back(dottedHead(head));
    else
        std::erase(m_contents.bookmarks, dottedHead(head));
    m_revision.change();
    emit notesChanged(head);
}

QList<HeadId> Notebook::bookmarks() const
{
    QList<HeadId> heads;
    for (const std::string& dotted : m_contents.bookmarks)
        if (const auto head = parseHeadId(dotted))
            heads << *head;
    return heads;
}

void Notebook::setOwnHeadClasses(std::map<HeadId, QString> classes)
{
    if (classes == m_ownHeadClasses)
        return;
    m_ownHeadClasses = std::move(classes);
    emit ownHeadClassesChanged();
}

void Notebook::setContents(NotebookContents contents)
{
    m_contents = std::move(contents);
    m_revision.forget();
}

void Notebook::copyFrom(const Notebook& other)
{
    m_contents = other.m_contents;
    m_ownHeadClasses = other.m_ownHeadClasses;
}

void Notebook::merge(const NotebookContents& base, const NotebookContents& theirs)
{
    std::set<std::string> heads;
    for (const Notes* notes : {&std::as_const(m_contents.notes), &theirs.notes})
        for (const auto& [head, note] : *notes)
            heads.insert(head);
    heads.insert(m_contents.bookmarks.begin(), m_contents.bookmarks.end());
    m_contents.bookmarks = mergedBookmarks(base.bookmarks, m_contents.bookmarks, theirs.bookmarks);
    heads.insert(m_contents.bookmarks.begin(), m_contents.bookmarks.end());
    for (const std::string& head : heads) {
        const std::string merged =
            mergedNote(noteOf(base.notes, head), noteOf(m_contents.notes, head), noteOf(theirs.notes, head));
        if (merged.empty())
            m_contents.notes.erase(head);
        else
            m_contents.notes[head] = merged;
    }
    m_revision.change();
    for (const std::string& head : heads)
        if (const auto id = parseHeadId(head))
            emit notesChanged(*id);
}

} // namespace headwise::ui
