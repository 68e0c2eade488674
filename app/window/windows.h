#pragma once

#include "app/window/remote.h"

#include <QList>
#include <QObject>
#include <QPointer>

namespace headwise::app {

class MainWindow;

/// The windows of one running headwise. Chooses the window that answers a request.
///
/// A model that is open in a window is shown there; an empty window takes another; otherwise it gets a window of its own,
/// so that nobody's work is replaced.
class Windows : public QObject {
    Q_OBJECT

public:
    enum class Memory { Kept, Fresh }; ///< Fresh: no recovery copies are written or offered.

    explicit Windows(Memory memory, QObject* parent = nullptr);
    ~Windows() override; ///< Deletes all windows.

    /// Errors: InvalidArgument if the address names a page that there is not.
    Result<RemoteServer::Answer> handle(const RemoteRequest& request);

    MainWindow* first(); ///< Never null: made if there is none.
    /// Closes all windows, once everything in them is saved or given up. Cancel in one of them keeps all open.
    void quit();
    /// Writes recovery copies of what is not saved, then leaves the event loop with `code`.
    void saveAndExit(int code);

private:
    MainWindow* add();
    MainWindow* windowFor(const std::filesystem::path& path);
    using Asked = QList<QPointer<MainWindow>>;
    void askNext(const Asked& asked); ///< The first that was not asked; closes them all after the last.

    Memory m_memory;
    QList<MainWindow*> m_windows;
};

} // namespace headwise::app
