#pragma once

#include "app/commands/commands.h"

#include <QLocalServer>
#include <QObject>
#include <QString>
#include <QTimer>

#include <functional>
#include <memory>

class QLockFile;

namespace headwise::app {

/// Request to the running headwise: one line of JSON over a local socket that only this user can open.
struct RemoteRequest {
    QString display;    ///< The sender's displayName(); empty: it has none, any will do.
    QStringList toOpen; ///< Absolute paths.
    std::optional<Address> address;
};

/// The screen this program shows its windows on; empty without one.
QString displayName();

/// Where the socket is: the runtime folder of the session, else the state folder.
QString remoteFolder();

/// Hands the request to the running headwise, if there is one and it accepts.
/// \returns nothing: this program has to do it itself
/// Errors: InvalidArgument, with the complaint of the running window.
std::optional<Result<Done>> passToRunningWindow(const WindowRequest& request);

/// Server of the running headwise. One process per user listens; another takes over when it ends.
///
/// The server accepts a message only if the kernel says that this user sent it. A message has at most 64 KiB of UTF-8: a JSON
/// object of our version with absolute paths and a well-formed address.
class RemoteServer : public QObject {
    Q_OBJECT

public:
    /// Outcome of a request. Errors go back to the sender.
    enum class Answer { Done, Declined };
    using Handler = std::function<Result<Answer>(const RemoteRequest&)>;

    explicit RemoteServer(Handler handler, QObject* parent = nullptr);
    ~RemoteServer() override;

private:
    void listen();
    void accept();
    void read(QLocalSocket* socket);

    Handler m_handler;
    QString m_path;
    std::unique_ptr<QLockFile> m_lock; // whoever holds it listens
    QLocalServer m_server;
    QTimer m_retry;
};

/// Parses the request in one line of a message. Errors: InvalidArgument, naming the invalid part.
Result<RemoteRequest> parseRemoteRequest(const QByteArray& line);

} // namespace headwise::app
