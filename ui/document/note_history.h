#pragma once

#include "core/model/head_id.h"

#include <QUndoStack>

namespace headwise::ui {

class Notebook;
class Selection;

/// Undo history of the notes and bookmarks of one notebook.
class NoteHistory : public QUndoStack {
    Q_OBJECT

public:
    NoteHistory(Notebook* notebook, Selection* selection);

    void setBookmarked(HeadId head, bool on);
    void setNote(HeadId head, const QString& text); ///< Consecutive edits of one head's note are one step.

private:
    Notebook* m_notebook;
    Selection* m_selection; // Undo and redo select the head, so that the change is on screen.
};

} // namespace headwise::ui
