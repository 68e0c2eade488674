#include "ui/document/note_history.h"

#include "ui/base/text.h"
#include "ui/document/workspace_part.h"

#include <QUndoCommand>

namespace headwise::ui {

namespace {

class BookmarkCommand : public QUndoCommand {
public:
    BookmarkCommand(Workspace* workspace, HeadId head, bool on)
        : m_workspace(workspace)
        , m_head(head)
        , m_before(workspace->bookmarks())
        , m_on(on)
    {
        setText(NoteHistory::tr("bookmark of %1").arg(ui::text(head)));
    }

    void redo() override
    {
        m_workspace->setHead(m_head); // so that one sees what happens
        m_workspace->setBookmarked(m_head, m_on);
    }

    void undo() override
    {
        m_workspace->setHead(m_head);
        m_workspace->setBookmarked(m_head, !m_on);
        if (m_workspace->bookmarks() == m_before)
            return;
        for (const HeadId head : m_before) { // to its place among the others
            m_workspace->setBookmarked(head, false);
            m_workspace->setBookmarked(head, true);
        }
    }

private:
    Workspace* m_workspace;
    HeadId m_head;
    QList<HeadId> m_before;
    bool m_on;
};

class NoteCommand : public QUndoCommand {
public:
    NoteCommand(Workspace* workspace, HeadId head, const QString& after)
        : m_workspace(workspace)
        , m_head(head)
        , m_before(workspace->note(head))
        , m_after(after)
    {
        setText(NoteHistory::tr("note on %1").arg(ui::text(head)));
    }

    int id() const override { return 1; }

    bool mergeWith(const QUndoCommand* later) override
    {
        const auto* other = static_cast<const NoteCommand*>(later); // of the same id
        if (other->m_head != m_head)
            return false;
        m_after = other->m_after;
        setObsolete(m_after == m_before);
        return true;
    }

    void redo() override { show(m_after); }
    void undo() override { show(m_before); }

private:
    void show(const QString& note)
    {
        m_workspace->setHead(m_head);
        m_workspace->setNote(m_head, note);
    }

    Workspace* m_workspace;
    HeadId m_head;
    QString m_before, m_after;
};

} // namespace

NoteHistory* NoteHistory::of(Workspace* workspace)
{
    return partOf<NoteHistory>(workspace);
}

NoteHistory::NoteHistory(Workspace* workspace)
    : QUndoStack(workspace)
    , m_workspace(workspace)
{
    for (const auto signal : {&Workspace::opened, &Workspace::closed})
        connect(workspace, signal, this, &QUndoStack::clear);
}

void NoteHistory::setBookmarked(HeadId head, bool on)
{
    if (on != m_workspace->isBookmarked(head))
        push(new BookmarkCommand(m_workspace, head, on)); // The stack owns it.
}

void NoteHistory::setNote(HeadId head, const QString& text)
{
    if (text != m_workspace->note(head))
        push(new NoteCommand(m_workspace, head, text)); // The stack owns it.
}

} // namespace headwise::ui
