#pragma once

#include "core/model/head_id.h"

#include <QUndoStack>

namespace headwise::ui {

class Workspace;
template <typename Part>
Part* partOf(Workspace* workspace);

/// Undo history of the open model's notes and bookmarks. It belongs to the workspace and is found through it. Code that
/// changes a note or a bookmark for the user does so here.
class NoteHistory : public QUndoStack {
    Q_OBJECT

public:
    static NoteHistory* of(Workspace* workspace); ///< Made when first asked for.

    void setBookmarked(HeadId head, bool on);
    void setNote(HeadId head, const QString& text); ///< Consecutive edits of one head's note are one step.

private:
    friend NoteHistory* partOf<NoteHistory>(Workspace* workspace);
    explicit NoteHistory(Workspace* workspace);

    Workspace* m_workspace;
};

} // namespace headwise::ui
