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

/// What one headwise asks of the one that is running, by a line of JSON over a local socket that only this user can open.
struct RemoteRequest {
    QString display;    ///< Of who asks, as displayName() has it; empty: has none, any will do.
    QStringList toOpen; ///< Absolute paths.
    std::optional<Address> address;
};

/// The screen this program shows its windows on; empty without one.
QString displayName();

/// Where the socket is: the runtime folder of the session, else the state folder.
QString remoteFolder();

/// Hands the request to the headwise that is running, if there is one and it takes it.
/// \returns nothing: this program has to do it itself
/// Errors: InvalidArgument, what the running window said is wrong with it.
std::optional<Result<Done>> passToRunningWindow(const WindowRequest& request);

/// The ear of the running headwise: the first of a user listens, another takes over when it is gone.
///
/// What comes from the socket is believed only if the kernel says that this user sent it, and it is at most 64 KiB of
/// UTF-8, a JSON object of our version, absolute paths and a well-formed address.
class RemoteServer : public QObject {
    Q_OBJECT

public:
    /// What became of a request; an error is told to who asked.
    enum class Answer { Done, Declined };
    using Handler = std::function<Result<Answer>(const RemoteRequest&)>;

    explicit RemoteServer(Handler handler, QObject* parent = nullptr);
    ~RemoteServer() override;

    bool isListening() const { return m_server.isListening(); }

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

/// The request in one line of a message. Errors: InvalidArgument, naming what is not as it must be.
Result<RemoteRequest> parseRemoteRequest(const QByteArray& line);

} // namespace headwise::app
