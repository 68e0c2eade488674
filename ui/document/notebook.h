#pragma once

#include "core/model/head_id.h"
#include "ui/document/note_history.h"
#include "ui/document/revision.h"

#include <QList>
#include <QObject>
#include <QString>

#include <map>
#include <string>
#include <vector>

namespace headwise::ui {

class Selection;

/// Notes on heads and bookmarks, as a session file holds them. Heads are dotted: "1.5".
struct NotebookContents {
    std::map<std::string, std::string> notes;
    std::vector<std::string> bookmarks; ///< In the order they were set.
};

/// The user's notes, bookmarks and own classes of heads, with the changes that no session file has yet.
class Notebook : public QObject {
    Q_OBJECT

public:
    explicit Notebook(Selection* selection);

    QString note(HeadId head) const;
    void setNote(HeadId head, const QString& text);
    bool isBookmarked(HeadId head) const;
    void setBookmarked(HeadId head, bool on);
    QList<HeadId> bookmarks() const;
    /// Undo steps. Code that changes a note or a bookmark for the user does so through it.
    NoteHistory* history() { return &m_history; }

    /// Classes the user gave to heads; heads not named here are classed by their scores.
    const std::map<HeadId, QString>& ownHeadClasses() const { return m_ownHeadClasses; }
    void setOwnHeadClasses(std::map<HeadId, QString> classes);
    void forgetOwnHeadClasses() { m_ownHeadClasses.clear(); } ///< Without a signal: another model comes.

    const NotebookContents& contents() const { return m_contents; }
    /// Replaces everything without a signal, for another session. Nothing is unsaved then.
    void setContents(NotebookContents contents);
    void copyFrom(const Notebook& other); ///< The same notes, bookmarks and classes.
    /// Takes in what another window wrote to the session file. `base` is what both sides began with; it says which side changed
    /// a note. Where both did, the note has both texts.
    void merge(const NotebookContents& base, const NotebookContents& theirs);

    bool isUnsaved() const { return m_revision.isUnsaved(); }
    Revision& revision() { return m_revision; }

signals:
    void notesChanged(headwise::HeadId head);
    void ownHeadClassesChanged();

private:
    NotebookContents m_contents;
    std::map<HeadId, QString> m_ownHeadClasses;
    Revision m_revision; // of notes and bookmarks
    NoteHistory m_history;
};

} // namespace headwise::ui
