#pragma once

#include "core/model/head_id.h"

#include <QUndoStack>

namespace headwise::ui {

class Workspace;
template <typename Part>
Part* partOf(Workspace* workspace);

/// What can be taken back of notes and bookmarks, of the open model. It belongs to the workspace and is found through it; whoever
/// changes a note or a bookmark for the user does it here.
class NoteHistory : public QUndoStack {
    Q_OBJECT

public:
    static NoteHistory* of(Workspace* workspace); ///< Made when first asked for.

    void setBookmarked(HeadId head, bool on);
    void setNote(HeadId head, const QString& text); ///< What is written on one head in a row is one step.

private:
    friend NoteHistory* partOf<NoteHistory>(Workspace* workspace);
    explicit NoteHistory(Workspace* workspace);

    Workspace* m_workspace;
};

} // namespace headwise::ui
