#pragma once

#include "ui/document/workspace.h"
#include "ui/widgets/subject.h"

#include <QObject>

class QAction;
class QMenu;

namespace headwise::ui {

/// The entries that a right click offers for a head, a pair of heads or a token, wherever it is shown.
///
/// Nothing happens before an entry is chosen.
class SubjectMenu : public QObject {
    Q_OBJECT

public:
    explicit SubjectMenu(Workspace* workspace, QObject* parent = nullptr);

    void addTo(QMenu* menu, const Subject& subject);
    /// Makes the head most like `head` the reference and shows both.
    void compareWithNearest(HeadId head);

signals:
    void pageWanted(const QString& name);
    void promptWanted(
        const QString& token); ///< To be added to the prompt: its text, or its id without a tokenizer.
    void problemFound(const QString& message);

private:
    QAction* add(QMenu* menu, const QString& words, const std::function<void()>& run);
    void addCopy(QMenu* menu, const QString& words, const QString& copied);
    void addHead(QMenu* menu, HeadId head);
    void addPair(QMenu* menu, HeadId earlier, HeadId later);
    void addToken(QMenu* menu, int token);
    void showHead(HeadId head, const QString& page);
    void showPair(HeadId reference, HeadId head, const QString& page);
    bool exists(HeadId head) const;

    Workspace* m_workspace;
    Job m_nearest;
};

} // namespace headwise::ui
