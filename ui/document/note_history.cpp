#include "ui/document/note_history.h"

#include "ui/base/text.h"
#include "ui/document/notebook.h"
#include "ui/document/selection.h"

#include <QUndoCommand>

namespace headwise::ui {

namespace {

class BookmarkCommand : public QUndoCommand {
public:
    BookmarkCommand(Notebook* notebook, Selection* selection, HeadId head, bool on)
        : m_notebook(notebook)
        , m_selection(selection)
        , m_head(head)
        , m_before(notebook->bookmarks())
        , m_on(on)
    {
        setText(NoteHistory::tr("bookmark of %1").arg(ui::text(head)));
    }

    void redo() override
    {
        m_selection->setHead(m_head);
        m_notebook->setBookmarked(m_head, m_on);
    }

    void undo() override
    {
        m_selection->setHead(m_head);
        m_notebook->setBookmarked(m_head, !m_on);
        if (m_notebook->bookmarks() == m_before)
            return;
        for (const HeadId head : m_before) { // puts the bookmark back in its place
            m_notebook->setBookmarked(head, false);
            m_notebook->setBookmarked(head, true);
        }
    }

private:
    Notebook* m_notebook;
    Selection* m_selection;
    HeadId m_head;
    QList<HeadId> m_before;
    bool m_on;
};

class NoteCommand : public QUndoCommand {
public:
    NoteCommand(Notebook* notebook, Selection* selection, HeadId head, const QString& after)
        : m_notebook(notebook)
        , m_selection(selection)
        , m_head(head)
        , m_before(notebook->note(head))
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
        m_selection->setHead(m_head);
        m_notebook->setNote(m_head, note);
    }

    Notebook* m_notebook;
    Selection* m_selection;
    HeadId m_head;
    QString m_before, m_after;
};

} // namespace

NoteHistory::NoteHistory(Notebook* notebook, Selection* selection)
    : m_notebook(notebook)
    , m_selection(selection)
{
}

void NoteHistory::setBookmarked(HeadId head, bool on)
{
    if (on != m_notebook->isBookmarked(head))
        push(new BookmarkCommand(m_notebook, m_selection, head, on)); // The stack owns it.
}

void NoteHistory::setNote(HeadId head, const QString& text)
{
    if (text != m_notebook->note(head))
        push(new NoteCommand(m_notebook, m_selection, head, text)); // The stack owns it.
}

} // namespace headwise::ui
